//! How sure somebody must be: what is just sure enough goes on, and whoever lets a decision go on or not
//! sees what it is about.

use probity_workflow::{Event, Judgement, Status};
use serde_json::{Value, json};

use crate::rig::{Rig, checked_team, definition, end, next, node, team};

fn unsure(confidence: f64) -> Value {
    json!({"kind": "next-worker", "nextWorkerIds": ["writer"], "confidence": confidence})
}

fn pending(confidence: f64) -> Value {
    let mut team = team(json!([end()]));
    team["id"] = json!("conformance-pending");
    team["nodes"][0]["config"] = json!({
        "mockConfidence": confidence, "mockPendingDecision": next(&["writer"]),
    });
    team
}

#[test]
fn a_decision_at_the_floor_is_sure_enough() {
    let rig = Rig::new(&team(json!([unsure(0.5), end()])));
    assert_eq!((rig.snapshot().status, rig.count("confidence-escalated")), (Status::Running, 0));
    let rig = Rig::new(&team(json!([unsure(0.49), end()])));
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
}

#[test]
fn a_verdict_at_the_floor_is_sure_enough() {
    for (confidence, result) in [(0.5, json!("x")), (0.49, json!(null))] {
        let mut rig = Rig::new(&checked_team(json!([next(&["writer"]), end()]), "ask-user"));
        rig.complete_child(json!({"out": "x"}));
        rig.judge_with(Judgement::Pass, &[], Some(confidence));
        assert_eq!(rig.variable("result"), result, "{confidence}");
    }
}

#[test]
fn who_is_asked_about_a_decision_sees_its_worker_and_what_may_be_answered() {
    let rig = Rig::new(&team(json!([unsure(0.2), end()])));
    let worker = rig.entries().into_iter().find_map(|entry| match &entry.event {
        Event::ConfidenceEscalated { worker, .. } => Some(worker.clone()),
        _ => None,
    });
    assert_eq!(worker, Some(Some("writer".to_owned())));
    let (_, interrupt) = rig.snapshot().interrupts.remove(0);
    let schema = interrupt.resume_schema.unwrap();
    assert_eq!(schema["properties"]["action"]["enum"], json!(["accept", "reject"]));
    // A question takes any answer.
    let rig = Rig::new(&team(json!([{"kind": "ask-user", "prompt": "Which?"}, end()])));
    assert_eq!(rig.snapshot().interrupts[0].1.resume_schema, None);
}

#[test]
fn a_decision_that_nobody_lets_go_on_gives_the_turn_to_the_next_one() {
    let mut rig = Rig::new(&team(json!([unsure(0.2), end()])));
    rig.resolve("boss", json!("reject"));
    assert_eq!(rig.count("node-dispatched"), 0);
    assert_eq!(rig.count("supervisor-decided boss terminate 2"), 1);
    let left = rig.entries().into_iter().find_map(|entry| match &entry.event {
        Event::NodeCompleted { outputs } => Some(Value::Object(outputs.clone())),
        _ => None,
    });
    assert_eq!(left, Some(json!({"decision": "rejected"})));
    assert_eq!(rig.snapshot().status, Status::Completed);
    rig.assert_sound();
}

#[test]
fn a_supervisor_leaves_what_it_decided() {
    let rig = Rig::new(&team(json!([next(&["writer"]), end()])));
    let left = rig.entries().into_iter().find_map(|entry| match &entry.event {
        Event::NodeCompleted { outputs } => Some(Value::Object(outputs.clone())),
        _ => None,
    });
    assert_eq!(left, Some(json!({"decision": "next-worker", "nextWorkerIds": ["writer"]})));
}

#[test]
fn a_mocked_decision_at_the_threshold_is_sure_enough() {
    for (confidence, status) in [(0.7, Status::Completed), (0.69, Status::WaitingApproval)] {
        let config = json!({"mockDecision": {"decision": {"x": 1}, "confidence": confidence}});
        let nodes = json!([node("agent", "core.conformance.mock-agent", config)]);
        let rig = Rig::new(&definition("conformance-agent", nodes, &[]));
        assert_eq!(rig.snapshot().status, status, "{confidence}");
    }
    for (confidence, status) in [(0.7, Status::Running), (0.69, Status::WaitingApproval)] {
        let rig = Rig::new(&pending(confidence));
        assert_eq!(rig.snapshot().status, status, "{confidence}");
    }
}
