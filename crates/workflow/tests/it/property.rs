//! Whatever the definition and whoever answers: what holds of every log.

use probity_core::RunId;
use probity_workflow::{
    ChildEnd, DelegationEnd, Effect, Event, Input, InterruptKind, Judgement, Phase, Status,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rig::{Rig, code, definition, failure, node, start};

/// Steps after which a run that still goes on is one that never ends.
const MAX_STEPS: usize = 2_000;
/// Steps in which somebody may speak out of turn.
const FIRST_ROUND: usize = 40;

fn decision() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (proptest::collection::vec("[ab]", 1..3), proptest::option::of(0.0..=1.0_f64)).prop_map(
            |(workers, sure)| match sure {
                Some(sure) => json!({"kind": "next-worker", "nextWorkerIds": workers, "confidence": sure}),
                None => json!({"kind": "next-worker", "nextWorkerIds": workers}),
            }
        ),
        1 => Just(json!({"kind": "ask-user", "prompt": "What now?"})),
        1 => any::<bool>().prop_map(|met| json!({
            "kind": "terminate", "successCriteria": [{"key": "verified", "met": met}],
        })),
    ]
}

fn verifier(is_on: bool, on_fail: &str) -> Option<Value> {
    is_on.then(
        || json!({"agentId": "the.critic", "checks": [{}], "onFail": on_fail, "timeoutMs": 50}),
    )
}

fn middle() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(node("mid", "core.noop", json!({}))),
        Just(node("mid", "core.delay", json!({"delayMs": 10}))),
        Just(node("mid", "core.approvalGate", json!({"timeoutMs": 1_000}))),
        Just(node(
            "mid",
            "core.clarificationGate",
            json!({"questions": [{"id": "q", "question": "?"}]})
        )),
        Just(node(
            "mid",
            "probity.delegation",
            json!({"request": {"task": "t"}, "outputVariable": "d"})
        )),
        any::<(bool, bool)>().prop_map(|(absorb, approve)| node(
            "mid",
            "core.subWorkflow",
            json!({
                "workflowId": "sub", "outputMapping": {"s": "out"},
                "onChildFailure": if absorb { "absorb" } else { "fail-parent" },
                "outputAttestation": {"checksum": true, "requireApproval": approve},
            })
        )),
    ]
}

/// A node before a supervisor with its dispatch, with critics or without.
fn any_definition() -> impl Strategy<Value = Value> {
    let plan = proptest::collection::vec(decision(), 0..5);
    let on_fail = prop_oneof![Just("ask-user"), Just("again"), Just("give-up")];
    (middle(), plan, any::<(bool, bool)>(), on_fail).prop_map(
        |(mid, plan, (desk, sub), on_fail)| {
            let is_sub = mid["typeId"] == "core.subWorkflow";
            let nodes = json!([
                node(
                    "boss",
                    "core.orchestrator.supervisor",
                    json!({"plan": plan, "successCriteria": ["goal"]})
                ),
                node("desk", "core.dispatch", json!({"outputMapping": {"r": "out"}})),
                mid,
            ]);
            let edges = [("mid", "boss"), ("boss", "desk"), ("desk", "boss")];
            let mut whole = definition("w", nodes, &edges);
            let desk = verifier(desk, on_fail).map(|spec| ("desk".to_owned(), spec));
            let sub = verifier(sub && is_sub, on_fail).map(|spec| ("mid".to_owned(), spec));
            let verifiers: serde_json::Map<String, Value> = desk.into_iter().chain(sub).collect();
            whole["metadata"] = json!({"probity": {"verifiers": verifiers}});
            whole
        },
    )
}

/// What is outstanding is answered somehow; what is asked is answered or not.
fn answer(rig: &Rig, draw: u16) -> Input {
    let mut run = rig.run.clone();
    run.pending();
    let wanted =
        std::iter::from_fn(|| run.poll_effect()).find(|e| !matches!(e, Effect::Stop { .. }));
    let verdict = [Judgement::Pass, Judgement::Fail, Judgement::Revise][usize::from(draw % 3)];
    match wanted {
        Some(Effect::StartChild { child, .. }) => {
            let end = match draw % 8 {
                0 => ChildEnd::Cancelled,
                1 => ChildEnd::Failed { error: failure("broke"), was_started: draw % 16 == 1 },
                n => ChildEnd::Completed {
                    outputs: json!({"out": n}).as_object().unwrap().clone(),
                    is_goal_satisfied: true,
                },
            };
            Input::ChildEnded { child, end }
        }
        Some(Effect::Delegate { delegation, .. }) => delegated(delegation, draw),
        Some(Effect::Verify { verification, digest, .. }) => match draw % 8 {
            0 => Input::VerifierBroke { verification, code: code("broke") },
            1 => Input::Timer,
            n => Input::Verified {
                verification,
                candidate: digest,
                verdict,
                criteria: vec![code("grounded")],
                confidence: (n == 2).then_some(0.2),
            },
        },
        _ => resolved(rig, draw),
    }
}

fn delegated(delegation: RunId, draw: u16) -> Input {
    let outcome = ["verified", "rejected", "faulted", "unverified"][usize::from(draw % 4)];
    let end = DelegationEnd {
        outcome: outcome.to_owned(),
        code: code("word"),
        verdict: (draw % 4 < 2)
            .then_some([Judgement::Pass, Judgement::Fail][usize::from(draw % 2)]),
        criteria: vec![],
        attempts: 1,
        delivered: (!draw.is_multiple_of(5)).then_some(json!(3)),
        candidate: None,
        is_edited: false,
    };
    Input::DelegationEnded { delegation, end }
}

fn resolved(rig: &Rig, draw: u16) -> Input {
    let snapshot = rig.snapshot();
    let Some((node, interrupt)) = snapshot.interrupts.first().cloned() else { return Input::Timer };
    let value = if interrupt.kind == InterruptKind::Approval {
        json!(["accept", "reject", "accept"][usize::from(draw % 3)])
    } else {
        let word = ["again", "give-up", "skip"][usize::from(draw % 3)];
        let questions = interrupt.data["questions"].as_array().unwrap();
        questions.iter().map(|q| (q["id"].as_str().unwrap().to_owned(), json!(word))).collect()
    };
    Input::Resolve { node, value, by: "ada".to_owned(), interrupt: None }
}

/// A pause, a resume, a cancel, a late child: now and then, in between.
fn aside(draw: u16) -> Option<Input> {
    match draw % 97 {
        0 => Some(Input::Pause { reason: None, drain_policy: None }),
        1 => Some(Input::ChildEnded { child: "nobody".parse().unwrap(), end: ChildEnd::Cancelled }),
        2 => Some(Input::Timer),
        3 if draw > 60_000 => Some(Input::Cancel { reason: None, by: None, parent: None }),
        _ => None,
    }
}

/// Plays the run to its end. Whoever pauses it or speaks out of turn does so only the first time round.
fn play(rig: &mut Rig, draws: &[u16]) {
    let draws = (0..MAX_STEPS).zip(draws.iter().copied().cycle());
    for (step, draw) in draws {
        if rig.run.is_ended() {
            return;
        }
        if let Some(input) = aside(draw).filter(|_| step < FIRST_ROUND) {
            let _ = rig.try_give(input);
            continue;
        }
        let input = answer(rig, draw);
        if rig.snapshot().status == Status::Paused
            && (matches!(input, Input::Timer) || draw % 2 == 0)
        {
            rig.give(Input::Resume { reason: None });
            continue;
        }
        if matches!(input, Input::Timer) {
            rig.now_ms = rig.run.poll_timeout().expect("something is due, or a run would hang");
        }
        rig.give(input);
    }
    panic!("the run never ends: {:?}", rig.snapshot());
}

/// A verdict that is no pass, or no verdict where one was asked for, is never followed by a harvest of
/// that child.
fn assert_gated(rig: &Rig) {
    let entries = rig.entries();
    let mut passed: Option<&RunId> = None;
    for entry in &entries {
        match &entry.event {
            Event::AgentVerified(verified) => {
                passed = (verified.verdict == Judgement::Pass).then_some(&verified.target);
            }
            Event::Handoff { phase: Phase::Harvested, child: Some(child), .. } => {
                let node = entry.node.as_deref().unwrap();
                let begun = rig.steps[0].input.clone();
                let Input::Start(begun) = begun else { panic!("a start") };
                if begun.definition.verifier(node).is_some() {
                    assert_eq!(passed, Some(child));
                }
            }
            _ => {}
        }
    }
    let turns: Vec<u64> = entries
        .iter()
        .filter_map(|entry| match entry.event {
            Event::SupervisorDecided { iteration, .. } => Some(iteration),
            _ => None,
        })
        .collect();
    assert!(turns.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(turns.first().is_none_or(|first| *first == 1));
    let snapshot = rig.snapshot();
    if !snapshot.withheld.is_empty() {
        assert_eq!(snapshot.is_goal_satisfied, Some(false));
        let criteria = snapshot.success_criteria.unwrap_or_default();
        let withheld = snapshot.withheld.iter().flat_map(|withheld| &withheld.criteria);
        for key in withheld {
            assert!(
                !criteria.iter().any(|criterion| criterion.key == key.as_str() && criterion.met)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_its_log_is_sound(
        definition in any_definition(),
        draws in proptest::collection::vec(any::<u16>(), 1..40),
        is_gating in any::<bool>(),
        max_turns in 1_u64..12,
    ) {
        let mut begun = start(&definition, json!({}));
        begun.terms.is_gating = is_gating;
        begun.bounds.max_loop_iterations = max_turns;
        let mut rig = Rig::open(begun).unwrap();
        play(&mut rig, &draws);
        rig.assert_sound();
        if is_gating {
            assert_gated(&rig);
        }
    }
}
