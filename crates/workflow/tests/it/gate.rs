//! What a gating host owes, seen in the log of a run.

use std::collections::BTreeSet;

use probity_workflow::{
    Bound, ChildEnd, Criterion, Decision, Effect, Event, Input, Judgement, Run, Status,
};
use serde_json::{Value, json};

use crate::rig::{Rig, checked_team, code, end, next, run_id};

fn plan() -> Value {
    json!([next(&["writer"]), end()])
}

fn decided(rig: &Rig) -> Vec<Decision> {
    let entries = rig.entries();
    let decision = |event: &Event| match event {
        Event::SupervisorDecided { decision, .. } => Some(decision.clone()),
        _ => None,
    };
    entries.iter().filter_map(|entry| decision(&entry.event)).collect()
}

fn criteria(rig: &Rig) -> Vec<(String, bool)> {
    let Some(Decision::Terminate { success_criteria, .. }) = decided(rig).pop() else {
        panic!("the last decision ends the run")
    };
    let pair = |criterion: Criterion| (criterion.key, criterion.met);
    success_criteria.unwrap_or_default().into_iter().map(pair).collect()
}

#[test]
fn pass_is_told_and_taken_over_in_one_step() {
    let mut rig = Rig::new(&checked_team(plan(), "ask-user"));
    rig.complete_child(json!({"out": "good"}));
    assert_eq!(
        rig.last_words(),
        ["handoff desk succeeded", "node-dispatched desk", "handoff desk child-completed"]
    );
    assert_eq!(rig.variable("result"), Value::Null, "nothing is taken over unchecked");
    rig.judge_with(Judgement::Pass, &["schema-valid", "grounded"], Some(0.9));
    assert_eq!(
        rig.last_words(),
        [
            "agent-verified desk pass",
            "handoff desk harvested",
            "variable-changed desk result=\"good\"",
            "node-completed desk",
            "node-started boss",
            "supervisor-decided boss terminate 2",
            "node-completed boss",
            "run-completed",
        ]
    );
    let entries = rig.entries();
    let at =
        |wanted: fn(&Event) -> bool| entries.iter().find(|entry| wanted(&entry.event)).unwrap();
    let completed = entries.iter().position(|entry| {
        matches!(entry.event, Event::Handoff { phase: probity_workflow::Phase::ChildCompleted, .. })
    });
    let completed = u64::try_from(completed.unwrap()).unwrap();
    let verified = at(|event| matches!(event, Event::AgentVerified(_)));
    let harvested = at(|event| matches!(event, Event::Handoff { harvested: Some(_), .. }));
    assert_eq!((verified.cause, harvested.cause), (Some(completed), Some(completed)));
    let (Event::AgentVerified(verified), Event::Handoff { checksum, .. }) =
        (&verified.event, &harvested.event)
    else {
        panic!("a verdict and a harvest")
    };
    assert_eq!(verified.criteria, [code("grounded"), code("schema-valid")]);
    assert_eq!(Some(&verified.candidate), checksum.as_ref());
    rig.assert_sound();
}

#[test]
fn a_fail_changes_no_variable_and_harvests_nothing() {
    let mut team = checked_team(plan(), "ask-user");
    team["variables"] = json!([{"name": "result", "defaultValue": "old"}]);
    let mut rig = Rig::new(&team);
    rig.complete_child(json!({"out": "bad"}));
    let before = rig.snapshot().variables;
    rig.judge_with(Judgement::Fail, &["grounded"], None);
    assert_eq!(rig.snapshot().variables, before);
    assert_eq!(rig.count("handoff desk harvested"), 0);
    assert_eq!(
        rig.last_words(),
        [
            "agent-verified desk fail",
            "node-completed desk",
            "node-started boss",
            "supervisor-decided boss ask-user 2",
            "node-suspended boss clarification",
            "interrupt-requested boss",
            "clarification-requested boss",
        ]
    );
    assert_eq!(rig.snapshot().status, Status::WaitingInput);
    assert_eq!(rig.snapshot().withheld[0].criteria, [code("grounded")]);
    rig.assert_sound();
}

#[test]
fn no_run_with_a_standing_fail_completes_as_a_success() {
    for answer in ["skip", "give-up"] {
        let mut rig = Rig::new(&checked_team(plan(), "ask-user"));
        rig.complete_child(json!({"out": "bad"}));
        rig.judge_with(Judgement::Fail, &["grounded"], None);
        rig.resolve("boss", json!({"next": answer}));
        assert_eq!(rig.snapshot().status, Status::Completed);
        assert_eq!(criteria(&rig), [("grounded".to_owned(), false)]);
        assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
        rig.assert_sound();
    }
    let mut rig = Rig::new(&checked_team(plan(), "ask-user"));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge(Judgement::Fail);
    rig.resolve("boss", json!({"next": "do it properly"}));
    rig.complete_child(json!({"out": "good"}));
    rig.judge(Judgement::Pass);
    assert_eq!(criteria(&rig), []);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(true));
    assert_eq!(rig.variable("result"), "good");
}

#[test]
fn a_plan_cannot_call_met_what_is_withheld() {
    let claims = json!([{"key": "grounded", "met": true}, {"key": "short", "met": true}]);
    let plan = json!([next(&["writer"]), {"kind": "terminate", "successCriteria": claims}]);
    let mut rig = Rig::new(&checked_team(plan, "ask-user"));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge_with(Judgement::Fail, &["grounded"], None);
    rig.resolve("boss", json!({"next": "skip"}));
    assert_eq!(criteria(&rig), [("grounded".to_owned(), false), ("short".to_owned(), true)]);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));

    let mut team = checked_team(json!([next(&["writer"])]), "give-up");
    team["nodes"][0]["config"]["successCriteria"] = json!(["goal-answered"]);
    for (verdict, met) in [(Judgement::Pass, true), (Judgement::Fail, false)] {
        let mut rig = Rig::new(&team);
        rig.complete_child(json!({"out": "x"}));
        rig.judge(verdict);
        let mut expected = vec![("goal-answered".to_owned(), met)];
        expected.extend((!met).then(|| ("verified".to_owned(), false)));
        assert_eq!(criteria(&rig), expected);
    }
}

#[test]
fn revise_is_another_turn_until_a_bound() {
    let mut rig = Rig::with(&checked_team(plan(), "again"), |start| {
        start.terms.max_revisions = 100;
        start.bounds.max_loop_iterations = 3;
    });
    for _ in 0..3 {
        rig.complete_child(json!({"out": "almost"}));
        rig.judge(Judgement::Revise);
    }
    let turns: Vec<u64> = rig
        .entries()
        .iter()
        .filter_map(|entry| match entry.event {
            Event::SupervisorDecided { iteration, .. } => Some(iteration),
            _ => None,
        })
        .collect();
    assert_eq!(turns, [1, 2, 3]);
    assert_eq!(
        rig.last_words()[2..],
        ["cap-breached boss loop-iterations 4>3", "run-failed loop_limit_exceeded",]
    );
    let breached = rig.entries()[rig.entries().len() - 2].event.clone();
    let Event::CapBreached(breach) = breached else { panic!("a breach") };
    assert_eq!((breach.kind, breach.limit, breach.observed), (Bound::LoopIterations, 3, 4));
    rig.assert_sound();
}

#[test]
fn revise_beyond_its_own_bound_is_a_fail() {
    let mut rig = Rig::new(&checked_team(plan(), "give-up"));
    for turn in 1..=3 {
        rig.complete_child(json!({"out": "almost"}));
        rig.judge(Judgement::Revise);
        assert_eq!(rig.run.is_ended(), turn == 3, "two revisions");
    }
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
    assert_eq!(rig.count("agent-verified desk revise"), 3);
    rig.assert_sound();
}

#[test]
fn every_target_is_a_child_of_the_log() {
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge(Judgement::Fail);
    rig.complete_child(json!({"out": "good"}));
    rig.judge(Judgement::Pass);
    let mut children = BTreeSet::new();
    let mut targets = Vec::new();
    for entry in rig.entries() {
        match &entry.event {
            Event::NodeDispatched { child, .. } => assert!(children.insert(child.clone())),
            Event::AgentVerified(verified) => targets.push(verified.target.clone()),
            _ => {}
        }
    }
    assert_eq!(targets.len(), 2);
    assert_eq!(targets.iter().collect::<BTreeSet<_>>(), children.iter().collect());
}

#[test]
fn nothing_that_was_checked_is_in_a_verdict() {
    let canary = "canary-7f3a";
    let mut rig = Rig::new(&checked_team(plan(), "give-up"));
    rig.complete_child(json!({"out": canary}));
    rig.judge_with(Judgement::Pass, &["grounded"], Some(0.8));
    let text = |entry: &&probity_workflow::Entry| serde_json::to_string(&entry.event).unwrap();
    let verdicts: Vec<String> = rig
        .entries()
        .iter()
        .filter(|entry| matches!(entry.event, Event::AgentVerified(_)))
        .map(text)
        .collect();
    assert_eq!(verdicts.len(), 1);
    assert!(!verdicts[0].contains(canary));
    assert_eq!(rig.variable("result"), canary);
}

#[test]
fn a_critic_that_breaks_or_hangs_lets_nothing_through() {
    let mut broken = Rig::new(&checked_team(plan(), "give-up"));
    broken.complete_child(json!({"out": "unchecked"}));
    broken.break_verifier();
    let mut hanging = Rig::new(&checked_team(plan(), "give-up"));
    hanging.complete_child(json!({"out": "unchecked"}));
    let (verification, candidate) = hanging.check();
    assert_eq!(hanging.run.poll_timeout(), Some(hanging.now_ms + 5_000));
    hanging.wait();
    let stopped = hanging.effects();
    assert!(matches!(&stopped[..], [Effect::Stop { run, .. }] if *run == verification));
    for (rig, why) in [(&broken, "critic_crashed"), (&hanging, "verifier_timeout")] {
        assert_eq!(rig.count("agent-verified"), 0, "no critic spoke");
        assert_eq!(rig.count("handoff desk harvested"), 0);
        assert_eq!(rig.variable("result"), Value::Null);
        assert_eq!(rig.snapshot().withheld[0].code, code(why));
        assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
        rig.assert_sound();
    }
    let verdict = Judgement::Pass;
    let late =
        Input::Verified { verification, candidate, verdict, criteria: vec![], confidence: None };
    assert_eq!(hanging.try_give(late).unwrap_err().code(), "run_terminal");
}

#[test]
fn a_later_verdict_on_something_superseded_is_refused() {
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    rig.complete_child(json!({"out": "bad"}));
    let (first, candidate) = rig.check();
    let verdict = |verdict| Input::Verified {
        verification: first.clone(),
        candidate: candidate.clone(),
        verdict,
        criteria: vec![],
        confidence: None,
    };
    rig.give(verdict(Judgement::Fail));
    let length = rig.run.len();
    assert_eq!(rig.try_give(verdict(Judgement::Pass)).unwrap_err().code(), "stale_answer");
    assert_eq!(rig.run.len(), length);
    assert_eq!(rig.variable("result"), Value::Null, "the fail stands until a new child passes");
    rig.complete_child(json!({"out": "good"}));
    assert_eq!(rig.try_give(verdict(Judgement::Pass)).unwrap_err().code(), "stale_answer");
    rig.judge(Judgement::Pass);
    assert_eq!(rig.variable("result"), "good");
}

#[test]
fn a_verdict_on_something_else_is_refused() {
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    rig.complete_child(json!({"out": "good"}));
    let (verification, candidate) = rig.check();
    assert_eq!(candidate.len(), 64);
    for other in ["", "0".repeat(64).as_str(), candidate.to_uppercase().as_str()] {
        let given = Input::Verified {
            verification: verification.clone(),
            candidate: other.to_owned(),
            verdict: Judgement::Pass,
            criteria: vec![],
            confidence: None,
        };
        assert_eq!(rig.try_give(given).unwrap_err().code(), "candidate_differs");
        assert_eq!(rig.variable("result"), Value::Null);
    }
}

#[test]
fn recorded_verdicts_are_played_again_and_nobody_is_asked() {
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge(Judgement::Fail);
    rig.complete_child(json!({"out": "good"}));
    let mut replayed = Run::replay(run_id(), &rig.steps).unwrap();
    assert_eq!(replayed.poll_effect(), None);
    replayed.pending();
    let asked = replayed.poll_effect();
    assert!(matches!(asked, Some(Effect::Verify { .. })), "only what has no answer: {asked:?}");
    assert_eq!(replayed.poll_effect(), None);
    assert_eq!(rig.effects().pop(), asked, "by the same name");
}

#[test]
fn a_pass_that_its_critic_is_not_sure_of_waits_for_somebody() {
    let doubted = || {
        let mut rig = Rig::new(&checked_team(plan(), "give-up"));
        rig.complete_child(json!({"out": "perhaps"}));
        rig.judge_with(Judgement::Pass, &["grounded"], Some(0.49));
        assert_eq!(
            rig.last_words(),
            [
                "agent-verified desk pass",
                "confidence-escalated desk",
                "node-suspended desk approval",
                "interrupt-requested desk",
            ]
        );
        assert_eq!(rig.variable("result"), Value::Null);
        rig
    };
    let mut accepted = doubted();
    accepted.resolve("desk", json!("accept"));
    assert_eq!(accepted.variable("result"), "perhaps");
    assert_eq!(accepted.snapshot().is_goal_satisfied, Some(true));
    accepted.assert_sound();
    let mut rejected = doubted();
    rejected.resolve("desk", json!("reject"));
    assert_eq!(rejected.variable("result"), Value::Null);
    assert_eq!(criteria(&rejected), [("grounded".to_owned(), false)]);
    rejected.assert_sound();
}

#[test]
fn nobody_checks_their_own_work_unless_they_may() {
    for own in ["writer", "supervisor.boss"] {
        let mut team = checked_team(plan(), "give-up");
        team["metadata"]["probity"]["verifiers"]["desk"]["agentId"] = json!(own);
        let mut rig = Rig::new(&team);
        rig.complete_child(json!({"out": "mine"}));
        assert_eq!(rig.effects(), [], "such a verdict is not asked for");
        assert_eq!(rig.snapshot().withheld[0].code, code("self_verification"));
        assert_eq!(rig.variable("result"), Value::Null);
        team["metadata"]["probity"]["verifiers"]["desk"]["allowSelfVerification"] = json!(true);
        let mut rig = Rig::new(&team);
        rig.complete_child(json!({"out": "mine"}));
        rig.judge(Judgement::Pass);
        assert_eq!(rig.variable("result"), "mine");
    }
}

#[test]
fn what_has_no_canonical_form_is_not_taken_over_where_it_would_be_checked() {
    let mut rig = Rig::new(&checked_team(plan(), "give-up"));
    rig.complete_child(json!({"out": u64::MAX}));
    assert_eq!(rig.effects(), []);
    assert_eq!(rig.snapshot().withheld[0].code, code("candidate_not_canonical"));
}

#[test]
fn a_failed_child_is_no_success_and_not_checked() {
    for was_started in [true, false] {
        let mut rig = Rig::new(&checked_team(plan(), "again"));
        rig.fail_child(was_started);
        let phases: &[&str] = if was_started {
            &["handoff desk succeeded", "node-dispatched desk", "handoff desk child-failed"]
        } else {
            &["handoff desk failed"]
        };
        assert_eq!(rig.last_words()[..phases.len()], *phases);
        assert_eq!(rig.effects(), []);
        assert_eq!(rig.count("agent-verified"), 0);
        assert_eq!(rig.snapshot().status, Status::Completed);
        assert_eq!(criteria(&rig), [("child-completed".to_owned(), false)]);
        rig.assert_sound();
    }
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    let (child, _, _) = rig.child();
    rig.give(Input::ChildEnded { child, end: ChildEnd::Cancelled });
    assert_eq!(rig.last_words()[2], "handoff desk child-cancelled");
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
}

#[test]
fn a_verdict_has_bounds() {
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    rig.complete_child(json!({"out": "good"}));
    let (verification, candidate) = rig.check();
    let verdict = |criteria: usize, confidence| Input::Verified {
        verification: verification.clone(),
        candidate: candidate.clone(),
        verdict: Judgement::Pass,
        criteria: (0..criteria).map(|n| code(&format!("c{n}"))).collect(),
        confidence,
    };
    for unfit in [
        verdict(101, None),
        verdict(1, Some(1.1)),
        verdict(1, Some(-0.1)),
        verdict(1, Some(f64::NAN)),
    ] {
        assert_eq!(rig.try_give(unfit).unwrap_err().code(), "validation_error");
    }
    rig.give(verdict(100, Some(1.0)));
    assert_eq!(rig.variable("result"), "good");
}

#[test]
fn only_what_is_waited_for_is_taken() {
    let mut rig = Rig::new(&checked_team(plan(), "again"));
    let Input::Start(again) = rig.steps[0].input.clone() else { panic!("a start") };
    assert_eq!(rig.try_give(Input::Start(again)).unwrap_err().code(), "run_already_active");
    let nobody: probity_core::RunId = "nobody".parse().unwrap();
    for stale in [
        Input::ChildStarted { child: nobody.clone() },
        Input::ChildEnded { child: nobody.clone(), end: ChildEnd::Cancelled },
        Input::VerifierBroke { verification: nobody.clone(), code: code("broke") },
        Input::Verified {
            verification: nobody,
            candidate: String::new(),
            verdict: Judgement::Pass,
            criteria: vec![],
            confidence: None,
        },
    ] {
        assert_eq!(rig.try_give(stale).unwrap_err().code(), "stale_answer");
    }
    rig.complete_child(json!({"out": "good"}));
    let child = rig.entries().iter().find_map(|entry| match &entry.event {
        Event::NodeDispatched { child, .. } => Some(child.clone()),
        _ => None,
    });
    let twice = Input::ChildEnded { child: child.unwrap(), end: ChildEnd::Cancelled };
    assert_eq!(rig.try_give(twice).unwrap_err().code(), "stale_answer");
    rig.judge(Judgement::Pass);
    rig.assert_sound();
}

#[test]
fn only_the_verification_that_was_asked_for_can_break() {
    let mut rig = Rig::new(&checked_team(json!([next(&["writer"]), end()]), "ask-user"));
    rig.complete_child(json!({"out": "x"}));
    let verification = rig.run.run().clone();
    let other = Input::VerifierBroke { verification, code: code("critic_crashed") };
    assert_eq!(rig.try_give(other).unwrap_err().code(), "stale_answer");
    rig.judge(Judgement::Pass);
    assert_eq!(rig.variable("result"), json!("x"));
}

#[test]
fn a_supervisor_is_told_what_was_withheld_and_why() {
    let mut rig = Rig::new(&checked_team(json!([next(&["writer"]), end()]), "again"));
    rig.complete_child(json!({"out": "x"}));
    rig.judge_with(Judgement::Fail, &["grounded"], None);
    let told = rig.entries().into_iter().find_map(|entry| match &entry.event {
        Event::NodeCompleted { outputs } => outputs.get("withheld").cloned(),
        _ => None,
    });
    assert_eq!(told, Some(json!({"code": "not_verified", "criteria": ["grounded"]})));
}
