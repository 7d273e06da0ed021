//! C: the order of the events.

use serde_json::{Value, json};

use super::{
    CLAIM, DERIVED, DERIVING, EVIDENCE, FINALIZED, GATHERED, Row, Run, STARTED, UNDERSTOOD,
    VERIFIED, VERIFYING,
};

pub(super) const ROWS: &[Row] = &[
    ("C01 neighbours swapped, idx left", "trace_idx", |run| {
        run.records(|_, events| events.swap(CLAIM, DERIVED));
    }),
    ("C02 claim before its evidence", "citation_fabricated", |run| {
        run.events(|events| shift(events, CLAIM..DERIVED, EVIDENCE));
    }),
    ("C03 verify before derive", "trace_step_before_dependency", |run| {
        run.events(|events| shift(events, VERIFYING..VERIFIED + 1, DERIVING));
    }),
    ("C04 steps reversed", "trace_step_before_dependency", |run| {
        run.events(|events| {
            let mut steps: Vec<Vec<Value>> = Vec::new();
            for event in events.drain(..) {
                if event["kind"] == "step_started" {
                    steps.push(Vec::new());
                }
                steps.last_mut().expect("a step").push(event);
            }
            *events = steps.into_iter().rev().flatten().collect();
        });
    }),
    ("C05 all events reversed", "trace_step_not_started", |run| {
        run.events(|events| events.reverse())
    }),
    ("C06 finish before start", "trace_step_not_started", |run| {
        run.events(|events| events.swap(STARTED, UNDERSTOOD));
    }),
    ("C07 start dropped", "trace_step_not_started", |run| drop_event(run, STARTED)),
    ("C08 finish dropped", "trace_step_unfinished", |run| drop_event(run, FINALIZED)),
    ("C09 start twice", "trace_step_twice", |run| repeat(run, STARTED)),
    ("C10 second finish with another answer", "trace_step_finished_twice", |run| {
        run.events(|events| {
            let mut again = events[FINALIZED].clone();
            again["output"]["final_answer"] = "Another.".into();
            events.push(again);
        });
    }),
    ("C11 finish of an unknown step", "trace_step_unknown", |run| {
        run.events(|events| {
            let mut stray = events[VERIFIED].clone();
            stray["step_id"] = "nowhere".into();
            events.push(stray);
        });
    }),
    ("C12 unknown step", "trace_step_unknown", |run| {
        run.events(|events| {
            for at in [VERIFYING, VERIFIED] {
                let mut stray = events[at].clone();
                stray["step_id"] = "nowhere".into();
                events.push(stray);
            }
        });
    }),
    ("C13 outputs exchanged", "trace_output_kind", |run| {
        run.events(|events| {
            let first = events[UNDERSTOOD]["output"].take();
            events[UNDERSTOOD]["output"] = events[FINALIZED]["output"].take();
            events[FINALIZED]["output"] = first;
        });
    }),
    ("C14 evidence behind the last step", "trace_event_outside_step", |run| {
        run.events(|events| shift(events, EVIDENCE..EVIDENCE + 1, FINALIZED));
    }),
    ("C15 gap", "trace_idx", |run| {
        run.records(|_, events| {
            for (at, event) in events.iter_mut().enumerate().skip(5) {
                event["idx"] = (at + 1).into();
            }
        });
    }),
    ("C16 idx from 1", "trace_idx", |run| {
        run.records(|_, events| {
            for (at, event) in events.iter_mut().enumerate() {
                event["idx"] = (at + 1).into();
            }
        });
    }),
    ("C17 idx twice", "trace_idx", |run| run.event(5, |event| event["idx"] = 4.into())),
    ("C18 no idx", "trace_key_missing", |run| {
        run.event(5, |event| drop(event.as_object_mut().expect("an object").remove("idx")));
    }),
    ("C19 idx \"4\"", "trace_type", |run| run.event(4, |event| event["idx"] = "4".into())),
    ("C20 idx 4.0", "trace_type", |run| run.event(4, |event| event["idx"] = json!(4.0))),
    ("C21 idx true", "trace_type", |run| run.event(1, |event| event["idx"] = true.into())),
    ("C22 unknown kind", "trace_word", |run| run.event(4, |event| event["kind"] = "other".into())),
    ("C23 no kind", "trace_key_missing", |run| {
        run.event(4, |event| drop(event.as_object_mut().expect("an object").remove("kind")));
    }),
    ("C24 claim of no step", "trace_step_mismatch", |run| {
        run.event(CLAIM, |event| event["step_id"] = "".into());
    }),
    ("C25 claim of the gather step", "trace_step_mismatch", |run| {
        run.records(|_, events| events[CLAIM]["step_id"] = events[GATHERED]["step_id"].clone());
    }),
    ("C26 evidence of an unknown step", "trace_step_mismatch", |run| {
        run.event(EVIDENCE, |event| event["step_id"] = "nowhere".into());
    }),
    ("C27 evidence of no step", "trace_step_mismatch", |run| {
        run.event(EVIDENCE, |event| event["step_id"] = "".into());
    }),
    ("C28 verify dropped", "trace_step_not_run", |run| drop_range(run, VERIFYING, VERIFIED)),
    ("C29 understand dropped", "trace_step_not_run", |run| drop_range(run, STARTED, UNDERSTOOD)),
    ("C30 gather dropped", "citation_fabricated", |run| drop_range(run, 2, GATHERED)),
    ("C31 claim twice", "trace_claim_twice", |run| repeat(run, CLAIM)),
    ("C32 verify again behind the last", "trace_step_twice", |run| {
        run.events(|events| {
            let again = [events[VERIFYING].clone(), events[VERIFIED].clone()];
            events.extend(again);
        });
    }),
    ("C33 steps interleaved", "trace_step_interleaved", |run| {
        run.events(|events| events.swap(1, 2))
    }),
    ("C34 claim outside any step", "trace_event_outside_step", |run| {
        run.events(|events| events.swap(CLAIM, DERIVED));
    }),
    ("C35 step null", "trace_type", |run| run.event(0, |event| event["step_id"] = Value::Null)),
];

/// Takes events out, and puts them in front of the event that stood at a place.
fn shift(events: &mut Vec<Value>, from: std::ops::Range<usize>, to: usize) {
    let to = if to > from.start { to + 1 - from.len() } else { to };
    let taken: Vec<Value> = events.drain(from).collect();
    events.splice(to..to, taken);
}

fn drop_event(run: &mut Run, at: usize) {
    run.events(|events| drop(events.remove(at)));
}

fn drop_range(run: &mut Run, first: usize, last: usize) {
    run.events(|events| drop(events.drain(first..=last)));
}

fn repeat(run: &mut Run, at: usize) {
    run.events(|events| events.insert(at, events[at].clone()));
}
