//! One input, out of bytes: what a run waits for, or something out of turn.

use probity_core::{Code, RunId};
use probity_workflow::{
    ChildEnd, DelegationEnd, Effect, Failure, Input, Interrupt, InterruptKind, Judgement,
};
use serde_json::{Map, Value, json};

use super::Rig;
use crate::tape::Tape;

pub(super) fn next(rig: &Rig, tape: &mut Tape<'_>) -> Input {
    if tape.one_in(12) {
        return aside(rig, tape);
    }
    let wanted = rig.wanted();
    match tape.pick(&wanted).cloned() {
        Some(Effect::StartChild { child, .. }) => child_ended(child, tape),
        Some(Effect::Delegate { delegation, .. }) => delegated(delegation, tape),
        Some(Effect::Verify { verification, digest, .. }) => verified(verification, digest, tape),
        _ => resolved(rig, tape),
    }
}

/// A pause, a resume, a cancel, an end of what nobody waits for.
fn aside(rig: &Rig, tape: &mut Tape<'_>) -> Input {
    let stranger = RunId::from_uuid(u128::from(tape.byte()));
    match tape.below(10) {
        0 => Input::Pause { reason: None, drain_policy: None },
        1 => Input::Resume { reason: None },
        2 if tape.one_in(3) => Input::Cancel { reason: None, by: None, parent: None },
        3 => child_ended(stranger, tape),
        4 => delegated(stranger, tape),
        5 => verified(stranger, "0".repeat(64), tape),
        6 => Input::Diverged { at_sequence: u64::from(tape.byte()), refusal: None },
        7 => {
            // The verdict is on something else than what is held.
            let held = rig.wanted().into_iter().find_map(|effect| match effect {
                Effect::Verify { verification, .. } => Some(verification),
                _ => None,
            });
            verified(held.unwrap_or(stranger), "f".repeat(64), tape)
        }
        8 => Input::VerifierBroke { verification: stranger, code: Code::slug("broke") },
        _ => Input::Timer,
    }
}

fn child_ended(child: RunId, tape: &mut Tape<'_>) -> Input {
    let end = match tape.below(8) {
        0 => ChildEnd::Cancelled,
        1 => {
            let error =
                Failure { code: "broke".to_owned(), message: "it broke".to_owned(), details: None };
            ChildEnd::Failed { error, was_started: tape.one_in(2) }
        }
        2 => return Input::ChildStarted { child },
        number => {
            let mut outputs = Map::new();
            for name in ["out", "result", "report", "greeting"] {
                outputs.insert(name.to_owned(), json!(number));
            }
            ChildEnd::Completed { outputs, is_goal_satisfied: !tape.one_in(3) }
        }
    };
    Input::ChildEnded { child, end }
}

fn delegated(delegation: RunId, tape: &mut Tape<'_>) -> Input {
    let outcomes = ["verified", "rejected", "faulted", "unverified", "exhausted", "anything"];
    let end = DelegationEnd {
        outcome: (*tape.pick(&outcomes).unwrap_or(&"verified")).to_owned(),
        code: Code::slug("word"),
        verdict: tape.one_in(2).then(|| judgement(tape)),
        criteria: Vec::new(),
        attempts: tape.byte().into(),
        delivered: (!tape.one_in(5)).then(|| json!(3)),
        candidate: None,
        is_edited: tape.one_in(5),
    };
    Input::DelegationEnded { delegation, end }
}

fn judgement(tape: &mut Tape<'_>) -> Judgement {
    match tape.below(4) {
        0 => Judgement::Fail,
        1 => Judgement::Revise,
        _ => Judgement::Pass,
    }
}

fn verified(verification: RunId, candidate: String, tape: &mut Tape<'_>) -> Input {
    if tape.one_in(6) {
        return Input::VerifierBroke { verification, code: Code::slug("broke") };
    }
    let verdict = judgement(tape);
    let criteria = vec![Code::slug("grounded")];
    let confidence = tape.one_in(3).then(|| f64::from(tape.below(11)) / 10.0);
    Input::Verified { verification, candidate, verdict, criteria, confidence }
}

fn resolved(rig: &Rig, tape: &mut Tape<'_>) -> Input {
    let interrupts = rig.run.snapshot().interrupts;
    let Some((node, interrupt)) = tape.pick(&interrupts).cloned() else { return Input::Timer };
    if tape.one_in(8) {
        return Input::Timer;
    }
    let interrupt_id = tape.one_in(4).then(|| interrupt.id.clone());
    Input::Resolve {
        node,
        value: value(&interrupt, tape),
        by: "ada".to_owned(),
        interrupt: interrupt_id,
    }
}

fn value(interrupt: &Interrupt, tape: &mut Tape<'_>) -> Value {
    if interrupt.kind == InterruptKind::Approval {
        let words = ["accept", "accept", "reject", "edit-accept", "shrug"];
        return json!(tape.pick(&words));
    }
    let word = *tape.pick(&["again", "give-up", "skip", ""]).unwrap_or(&"skip");
    let questions = interrupt.data.get("questions").and_then(Value::as_array);
    let ids = questions.into_iter().flatten().filter_map(|it| it.get("id").and_then(Value::as_str));
    ids.map(|id| (id.to_owned(), json!(word))).collect()
}
