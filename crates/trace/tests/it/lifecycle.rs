//! Steps and the order of events.

use std::collections::BTreeSet;

use probity_trace::sample::{Retrieval, SampleRun};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan_tamper::{
    CLAIM, DERIVE_END, DERIVE_START, EVIDENCE, FINAL_END, FINAL_START, GATHER_END, GATHER_START,
    RESULT, Run, VERIFY_END, VERIFY_START, assert_found,
};

#[test]
fn every_rule_on_the_order_of_events_is_kept() {
    let idx = |at: usize, idx: u64| move |run: &mut Run| run.events[at]["idx"] = json!(idx);
    assert_found("a number that is not the place", idx(3, 9), &["trace_idx"]);
    assert_found("a number that stands twice", idx(3, 2), &["trace_idx"]);
    assert_found(
        "numbers from 1",
        |run| {
            run.events.iter_mut().enumerate().for_each(|(at, event)| event["idx"] = json!(at + 1));
        },
        &["trace_idx"],
    );
    assert_found(
        "two lines exchanged",
        |run| run.events.swap(EVIDENCE[0], EVIDENCE[1]),
        &["trace_evidence_order", "trace_gather_evidence_ids", "trace_idx"],
    );
    assert_found(
        "a step that runs twice",
        |run| {
            let again: Vec<Value> = run.events[VERIFY_START..=VERIFY_END].to_vec();
            run.events.splice(FINAL_START..FINAL_START, again);
            run.renumber();
        },
        &["trace_step_twice"],
    );
    assert_found(
        "a start that stands twice",
        |run| {
            run.events.insert(DERIVE_START, run.events[DERIVE_START].clone());
            run.renumber();
        },
        &["trace_step_twice"],
    );
    assert_found(
        "verify before derive",
        |run| run.shift(VERIFY_START..VERIFY_END + 1, DERIVE_START),
        &["trace_step_before_dependency"],
    );
    assert_found(
        "a step that opens within another",
        |run| {
            run.events.swap(DERIVE_END, VERIFY_START);
            run.plan["nodes"][3]["dependencies"] = json!([]);
            run.rename_plan();
            run.renumber();
        },
        &["trace_step_interleaved"],
    );
    assert_found(
        "a finish without a start",
        |run| {
            run.events.remove(VERIFY_START);
            run.renumber();
        },
        &["trace_step_not_run", "trace_step_not_started"],
    );
    assert_found(
        "a finish that stands twice",
        |run| {
            run.events.insert(VERIFY_END, run.events[VERIFY_END].clone());
            run.renumber();
        },
        &["trace_step_finished_twice"],
    );
}

#[test]
fn every_rule_on_what_stands_where_is_kept() {
    assert_found(
        "a step that never finishes",
        |run| {
            run.events.truncate(FINAL_END);
        },
        &["trace_required_step_missing", "trace_step_unfinished"],
    );
    assert_found(
        "a claim behind its step",
        |run| run.shift(CLAIM..CLAIM + 1, DERIVE_END),
        &["trace_derive_claim_ids", "trace_event_outside_step"],
    );
    assert_found(
        "evidence of another step",
        |run| {
            run.events[EVIDENCE[1]]["step_id"] = run.events[DERIVE_START]["step_id"].clone();
        },
        &["trace_gather_evidence_ids", "trace_step_mismatch"],
    );
    assert_found(
        "a claim of a gather step",
        |run| {
            run.shift(CLAIM..CLAIM + 1, GATHER_END);
            run.events[GATHER_END]["step_id"] = run.events[GATHER_START]["step_id"].clone();
        },
        &["trace_claim_outside_derive", "trace_derive_claim_ids"],
    );
    assert_found(
        "a second answer",
        |run| {
            run.events.push(run.events[FINAL_END].clone());
            run.renumber();
        },
        &["trace_finalize_not_last", "trace_finalize_twice", "trace_step_finished_twice"],
    );
    assert_found(
        "the answer first",
        |run| run.shift(13..15, 0),
        &["trace_finalize_not_last", "trace_step_before_dependency"],
    );
    assert_found(
        "a result in a later step",
        |run| {
            run.shift(RESULT..RESULT + 1, VERIFY_END - 1);
            run.events[VERIFY_END - 1]["step_id"] = run.events[VERIFY_END]["step_id"].clone();
        },
        &["trace_evidence_excess", "trace_evidence_left_out", "trace_result_step"],
    );
}

#[test]
fn a_finding_names_line_number_and_both_values() {
    let mut run = Run::new();
    run.events[5]["idx"] = json!(77);
    let report = crate::plan_tamper::audit(&run.files());
    let found = report.failures.iter().find(|found| found.code == "trace_idx").expect("found");
    assert_eq!(found.place.file, "trace.jsonl");
    assert_eq!(found.place.line, Some(7));
    assert_eq!(found.place.pointer, "/event/idx");
    assert_eq!((found.expected.as_deref(), found.actual.as_deref()), (Some("5"), Some("77")));
    assert_eq!(found.invariant_id, Some("INV-SCH-001"));
    let trace = &run.files().files["trace.jsonl"];
    let span = found.place.span.expect("bytes");
    let at = |offset: u64| usize::try_from(offset).expect("an offset");
    assert_eq!(&trace[at(span.start)..at(span.end)], b"77");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No other order of the events is accepted: not with new numbers, and not with a new seal.
    #[test]
    fn every_other_order_is_found(order in Just((0..24_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let sample = SampleRun { pairs: 2, retrieval: Retrieval::Memory, ..SampleRun::default() };
        let mut run = Run::of(&sample);
        prop_assert_eq!(run.found(), BTreeSet::new());
        prop_assert_eq!(run.events.len(), order.len());
        let is_same = order.is_sorted();
        run.events = order.iter().map(|at| run.events[*at].clone()).collect();
        run.renumber();
        prop_assert_eq!(run.found().is_empty(), is_same);
    }

    /// No event can be left out, whichever it is.
    #[test]
    fn every_lost_event_is_found(lost in 0..24_usize) {
        let mut run = Run::of(&SampleRun { pairs: 2, ..SampleRun::default() });
        run.events.remove(lost);
        run.renumber();
        prop_assert!(!run.found().is_empty());
    }
}
