//! Nodes that run another definition.

use probity_workflow::{ChildEnd, Effect, Event, Input, Judgement, Status};
use serde_json::{Value, json};

use crate::rig::{Rig, definition, node, variable};

fn parent(config: Value, verifier: Option<Value>) -> Value {
    let mut rules = json!({
        "workflowId": "child", "inputMapping": {"in": "seed"}, "outputMapping": {"result": "out"},
    });
    rules.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    let nodes =
        json!([node("call", "core.subWorkflow", rules), node("after", "core.noop", json!({}))]);
    let mut parent = definition("parent", nodes, &[("call", "after")]);
    parent["variables"] = json!([variable("seed", json!("s")), variable("result", json!("old"))]);
    if let Some(verifier) = verifier {
        parent["metadata"] = json!({"probity": {"verifiers": {"call": verifier}}});
    }
    parent
}

fn critic(on_fail: &str) -> Option<Value> {
    Some(json!({"agentId": "the.critic", "checks": [{}], "onFail": on_fail}))
}

fn outputs(rig: &Rig) -> Value {
    let entries = rig.entries();
    let found = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::NodeCompleted { outputs } if entry.node.as_deref() == Some("call") => Some(outputs),
        _ => None,
    });
    Value::Object(found.expect("the call completed").clone())
}

/// Of `{"out":"new"}`, by another tool.
const DIGEST: &str = "ca559185f83ead08792dd4565f53a3942e3a7f906ab00084d7fc8cf375db6439";

#[test]
fn what_a_child_leaves_is_taken_over() {
    let mut rig = Rig::new(&parent(json!({}), None));
    let effects = rig.effects();
    let Some(Effect::StartChild { child, workflow, inputs, node, is_dispatch }) = effects.first()
    else {
        panic!("a child")
    };
    assert_eq!((workflow.as_str(), node.as_str(), *is_dispatch), ("child", "call", false));
    assert_eq!(Value::Object(inputs.clone()), json!({"in": "s"}));
    assert_eq!(rig.snapshot().status, Status::Running);
    let outputs_left = json!({"out": "new", "else": 1}).as_object().unwrap().clone();
    let end = ChildEnd::Completed { outputs: outputs_left, is_goal_satisfied: true };
    rig.give(Input::ChildEnded { child: child.clone(), end });
    assert_eq!(rig.variable("result"), "new");
    assert_eq!(rig.snapshot().status, Status::Completed);
    let expected =
        json!({"childRunId": child.as_str(), "childStatus": "completed", "workerId": "child"});
    assert_eq!(outputs(&rig), expected);
    rig.assert_sound();
}

#[test]
fn a_failed_child_fails_its_parent_or_is_absorbed() {
    let mut rig = Rig::new(&parent(json!({}), None));
    rig.fail_child(true);
    assert_eq!(rig.snapshot().error.unwrap().code, "worker_broke");
    assert_eq!(rig.count("node-started after"), 0);
    rig.assert_sound();
    let mut rig = Rig::new(&parent(json!({"onChildFailure": "absorb"}), None));
    rig.fail_child(false);
    assert_eq!(rig.snapshot().status, Status::Completed);
    assert_eq!(outputs(&rig)["childStatus"], "failed");
    assert_eq!(rig.variable("result"), "old");
    assert_eq!(rig.count("handoff call harvested"), 0);
    rig.assert_sound();
}

#[test]
fn the_digest_of_what_was_taken_over_is_told() {
    let mut rig = Rig::new(&parent(json!({"outputAttestation": {"checksum": true}}), None));
    rig.complete_child(json!({"out": "new"}));
    let entries = rig.entries();
    let checksum = entries.iter().find_map(|entry| match &entry.event {
        Event::Handoff { checksum, harvested: Some(_), .. } => checksum.clone(),
        _ => None,
    });
    assert_eq!(checksum.as_deref(), Some(DIGEST));
    assert_eq!(outputs(&rig)["attestation"], json!({"checksum": DIGEST, "algorithm": "sha256"}));
}

fn approved() -> Value {
    json!({"outputAttestation": {"checksum": true, "requireApproval": true}})
}

#[test]
fn nothing_is_merged_before_somebody_lets_it() {
    let mut rig = Rig::new(&parent(approved(), None));
    rig.complete_child(json!({"out": "new"}));
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    assert_eq!(rig.snapshot().interrupts[0].1.data["artifactData"], json!({"out": "new"}));
    assert_eq!(rig.variable("result"), "old");
    rig.resolve("call", json!({"action": "accept"}));
    assert_eq!(rig.variable("result"), "new");
    rig.assert_sound();

    for (policy, status) in [("fail-parent", Status::Failed), ("absorb", Status::Completed)] {
        let mut config = approved();
        config["onChildFailure"] = json!(policy);
        let mut rig = Rig::new(&parent(config, None));
        rig.complete_child(json!({"out": "new"}));
        rig.resolve("call", json!({"action": "reject"}));
        assert_eq!((rig.snapshot().status, rig.variable("result")), (status, json!("old")));
        assert_eq!(rig.count("handoff call harvested"), 0);
        rig.assert_sound();
    }
}

#[test]
fn a_wait_that_ends_without_a_yes_merges_nothing() {
    let mut cancelled = Rig::new(&parent(approved(), None));
    cancelled.complete_child(json!({"out": "new"}));
    cancelled.give(Input::Cancel { reason: None, by: None, parent: None });
    assert_eq!(cancelled.last_words(), ["interrupt-resolved call", "run-cancelled"]);
    assert_eq!(cancelled.variable("result"), "old");

    let mut config = approved();
    config["outputAttestation"]["timeoutMs"] = json!(50);
    let mut expired = Rig::new(&parent(config, None));
    expired.complete_child(json!({"out": "new"}));
    expired.wait();
    assert_eq!(expired.last_words()[0], "approval-received call timeout");
    assert_eq!(expired.snapshot().error.unwrap().code, "approval_timeout");
    assert_eq!(expired.variable("result"), "old");
    expired.assert_sound();
}

#[test]
fn what_somebody_wrote_instead_is_merged_instead() {
    let mut rig = Rig::new(&parent(approved(), None));
    rig.complete_child(json!({"out": "new"}));
    let unfit = rig.try_resolve("call", json!({"action": "edit-accept"}), "ada").unwrap_err();
    assert_eq!(unfit.code(), "validation_error");
    let edited = json!({"action": "edit-accept", "editedArtifactData": {"out": "mine"}});
    rig.resolve("call", edited);
    assert_eq!(rig.variable("result"), "mine");
    rig.assert_sound();
}

#[test]
fn a_pass_does_not_cover_what_somebody_wrote_instead() {
    let mut rig = Rig::new(&parent(approved(), critic("give-up")));
    rig.complete_child(json!({"out": "new"}));
    let (_, first) = {
        rig.run.pending();
        let Some(Effect::Verify { verification, digest, .. }) = rig.run.poll_effect() else {
            panic!("a check")
        };
        (verification, digest)
    };
    rig.judge(Judgement::Pass);
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    rig.resolve("call", json!({"action": "edit-accept", "editedArtifactData": {"out": "mine"}}));
    assert_eq!(rig.variable("result"), "old", "it is checked first");
    let (verification, second) = rig.check();
    assert_ne!(first, second);
    let verdict = |candidate: &str, verdict| Input::Verified {
        verification: verification.clone(),
        candidate: candidate.to_owned(),
        verdict,
        criteria: vec![],
        confidence: None,
    };
    let differs = rig.try_give(verdict(&first, Judgement::Pass)).unwrap_err();
    assert_eq!(differs.code(), "candidate_differs");
    let mut failed = rig.run.clone();
    rig.give(verdict(&second, Judgement::Pass));
    assert_eq!(rig.variable("result"), "mine");
    rig.assert_sound();
    failed.handle(rig.now_ms, verdict(&second, Judgement::Fail)).unwrap();
    assert_eq!(failed.snapshot().variables["result"], "old");
}

#[test]
fn a_withheld_result_is_tried_again_asked_about_or_fails() {
    let mut again = Rig::new(&parent(json!({}), critic("again")));
    again.complete_child(json!({"out": "bad"}));
    again.judge(Judgement::Fail);
    assert_eq!(
        again.last_words()[..3],
        ["agent-verified call fail", "node-failed call not_verified", "node-started call",]
    );
    again.complete_child(json!({"out": "good"}));
    again.judge(Judgement::Pass);
    assert_eq!(again.variable("result"), "good");
    assert_eq!(again.snapshot().is_goal_satisfied, Some(true));
    again.assert_sound();

    let mut gave_up = Rig::new(&parent(json!({}), critic("give-up")));
    gave_up.complete_child(json!({"out": "bad"}));
    gave_up.judge(Judgement::Fail);
    assert_eq!(gave_up.snapshot().error.unwrap().code, "not_verified");

    for (answer, code, status) in [
        ("once more", None, Status::Running),
        ("skip", Some("not_verified"), Status::Failed),
        ("give-up", Some("not_verified"), Status::Failed),
    ] {
        let mut asked = Rig::new(&parent(json!({}), critic("ask-user")));
        asked.complete_child(json!({"out": "bad"}));
        asked.judge(Judgement::Fail);
        assert_eq!(asked.snapshot().status, Status::WaitingInput);
        asked.resolve("call", json!({"next": answer}));
        let snapshot = asked.snapshot();
        assert_eq!(snapshot.error.map(|error| error.code).as_deref(), code);
        assert_eq!(snapshot.status, status);
        asked.assert_sound();
    }
}

#[test]
fn absorbing_a_failed_child_is_no_success() {
    for was_started in [true, false] {
        let mut rig = Rig::new(&parent(json!({"onChildFailure": "absorb"}), None));
        rig.fail_child(was_started);
        let snapshot = rig.snapshot();
        assert_eq!(snapshot.status, Status::Completed);
        assert_eq!(snapshot.is_goal_satisfied, Some(false));
        assert_eq!(snapshot.withheld[0].code.as_str(), "child_failed");
    }
}

#[test]
fn absorbing_a_withheld_result_is_no_success() {
    let config = json!({"onChildFailure": "absorb"});
    let mut rig = Rig::new(&parent(config, critic("give-up")));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge(Judgement::Fail);
    assert_eq!(rig.snapshot().status, Status::Completed);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
    assert_eq!(rig.variable("result"), "old");
    rig.assert_sound();
}

#[test]
fn trying_again_has_a_bound() {
    let mut rig = Rig::with(&parent(json!({}), critic("again")), |start| {
        start.bounds.max_loop_iterations = 2;
    });
    for _ in 0..2 {
        rig.complete_child(json!({"out": "bad"}));
        rig.judge(Judgement::Fail);
    }
    assert_eq!(rig.snapshot().error.unwrap().code, "loop_limit_exceeded");
    assert_eq!(rig.count("cap-breached call loop-iterations 3>2"), 1);
    rig.assert_sound();
}
