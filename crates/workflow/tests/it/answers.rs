//! Answers: what fits, who may give it, how many it takes, how long it is waited for.

use probity_workflow::{Event, Input, Status};
use serde_json::{Value, json};

use crate::rig::{Rig, definition, node};

fn gate(config: Value) -> Rig {
    Rig::new(&definition("w", json!([node("gate", "core.approvalGate", config)]), &[]))
}

fn questions(config: Value) -> Rig {
    Rig::new(&definition("w", json!([node("ask", "core.clarificationGate", config)]), &[]))
}

#[test]
fn only_the_actions_of_the_node_are_taken() {
    let mut rig = gate(json!({"actions": ["accept", "reject"]}));
    for unfit in [
        json!("edit-accept"),
        json!({"action": "refine"}),
        json!({"action": "approve"}),
        json!({"action": 1}),
        json!({}),
        json!(null),
        json!(true),
    ] {
        let refused = rig.try_resolve("gate", unfit.clone(), "ada").unwrap_err();
        assert_eq!(refused.code(), "validation_error", "{unfit}");
    }
    assert_eq!(
        rig.try_resolve("gate", json!("accept"), "").unwrap_err().code(),
        "validation_error"
    );
    assert_eq!(rig.try_resolve("door", json!("accept"), "ada").unwrap_err().code(), "not_found");
    rig.resolve("gate", json!("accept"));
    assert_eq!(rig.snapshot().status, Status::Completed);
}

#[test]
fn a_node_that_waits_for_nobody_takes_no_answer() {
    let nodes = json!([
        node("gate", "core.approvalGate", json!({})),
        node("next", "core.approvalGate", json!({})),
    ]);
    let mut rig = Rig::new(&definition("w", nodes, &[("gate", "next")]));
    assert_eq!(rig.try_resolve("next", json!("accept"), "ada").unwrap_err().code(), "not_waiting");
    rig.resolve("gate", json!("accept"));
    assert_eq!(rig.try_resolve("gate", json!("accept"), "ada").unwrap_err().code(), "not_waiting");
    assert_eq!(rig.snapshot().interrupts[0].1.id, "interrupt-1");
    rig.resolve("next", json!("accept"));
    rig.assert_sound();
}

#[test]
fn a_rejection_fails_the_node() {
    let mut rig = gate(json!({}));
    rig.resolve("gate", json!("reject"));
    assert_eq!(
        rig.last_words(),
        [
            "approval-received gate reject",
            "interrupt-resolved gate",
            "node-resumed gate",
            "node-failed gate approval_rejected",
            "run-failed approval_rejected",
        ]
    );
    rig.assert_sound();
}

#[test]
fn refined_and_edited_answers_are_left_by_the_node() {
    for (action, more) in [
        ("refine", json!({"action": "refine", "feedback": "shorter"})),
        ("edit-accept", json!({"action": "edit-accept", "editedArtifactData": {"x": 1}})),
    ] {
        let mut rig = gate(json!({"actions": ["accept", "refine", "edit-accept"]}));
        rig.resolve("gate", more.clone());
        assert_eq!(rig.last_words()[0], format!("approval-received gate {action}"));
        let Event::NodeCompleted { outputs } = &rig.entries()[7].event else {
            panic!("{:?}", rig.words())
        };
        assert_eq!(Value::Object(outputs.clone()), more);
    }
}

fn quorum(more: Value) -> Rig {
    let mut config = json!({"requiredApprovals": 3, "rejectionPolicy": "majority"});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    gate(config)
}

#[test]
fn a_quorum_takes_as_many_as_it_names() {
    let mut rig = quorum(json!({}));
    for name in ["ada", "bob"] {
        rig.try_resolve("gate", json!("accept"), name).unwrap();
        assert_eq!(rig.last_words(), ["approval-received gate accept"], "nothing else yet");
        assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    }
    let twice = rig.try_resolve("gate", json!("accept"), "ada").unwrap_err();
    assert_eq!(twice.code(), "validation_error");
    let token = rig.try_resolve("gate", json!("accept"), "token:ada").unwrap_err();
    assert_eq!(token.code(), "validation_error", "whom somebody's token votes for has voted");
    rig.try_resolve("gate", json!("reject"), "cyd").unwrap();
    assert_eq!(rig.snapshot().status, Status::WaitingApproval, "one of three is no majority");
    rig.try_resolve("gate", json!("accept"), "dee").unwrap();
    assert_eq!(rig.snapshot().status, Status::Completed);
    rig.assert_sound();
}

#[test]
fn a_majority_refuses() {
    let mut rig = quorum(json!({}));
    rig.try_resolve("gate", json!("reject"), "ada").unwrap();
    rig.try_resolve("gate", json!("reject"), "bob").unwrap();
    assert_eq!(rig.snapshot().error.unwrap().code, "approval_rejected");
    let mut rig = quorum(json!({"rejectionPolicy": "single-veto"}));
    rig.try_resolve("gate", json!("reject"), "ada").unwrap();
    assert_eq!(rig.snapshot().status, Status::Failed);
}

#[test]
fn only_approvers_approve_and_a_gate_that_cannot_open_is_shut() {
    let list = json!({"approversList": ["ada", "bob", "cyd"]});
    let mut rig = quorum(list);
    assert_eq!(rig.try_resolve("gate", json!("accept"), "eve").unwrap_err().code(), "forbidden");
    rig.try_resolve("gate", json!("accept"), "ada").unwrap();
    rig.try_resolve("gate", json!("reject"), "bob").unwrap();
    assert_eq!(rig.snapshot().status, Status::Failed, "three can no longer approve");
    rig.assert_sound();
}

#[test]
fn nobody_is_waited_for_longer_than_the_node_says() {
    let mut rig = gate(json!({"timeoutMs": 100}));
    assert_eq!(rig.run.poll_timeout(), Some(rig.now_ms + 100));
    rig.wait();
    assert_eq!(
        rig.last_words(),
        [
            "approval-received gate timeout",
            "interrupt-resolved gate",
            "node-failed gate approval_timeout",
            "run-failed approval_timeout",
        ]
    );
    rig.assert_sound();
    let asked = json!({"questions": [{"id": "q", "question": "?"}], "timeoutMs": 100});
    let mut rig = questions(asked);
    rig.wait();
    assert_eq!(rig.last_words()[1], "node-failed ask clarification_timeout");
}

#[test]
fn every_question_is_answered_and_no_other() {
    let asked = json!({"questions": [
        {"id": "q1", "question": "What?"}, {"id": "answers", "question": "Why?"},
    ]});
    let mut rig = questions(asked);
    for unfit in [
        json!({"q1": "a"}),
        json!({"q1": "a", "answers": "b", "q3": "c"}),
        json!({"q1": "a", "answers": null}),
        json!([{"id": "q1"}]),
        json!("a"),
    ] {
        let refused = rig.try_resolve("ask", unfit.clone(), "ada").unwrap_err();
        assert_eq!(refused.code(), "validation_error", "{unfit}");
    }
    rig.resolve("ask", json!({"q1": "a", "answers": "b"}));
    assert_eq!(rig.snapshot().status, Status::Completed);
}

#[test]
fn whoever_cancels_leaves_no_answer() {
    let mut rig = gate(json!({}));
    rig.give(Input::Cancel { reason: None, by: Some("ada".to_owned()), parent: None });
    assert_eq!(rig.last_words(), ["interrupt-resolved gate", "run-cancelled"]);
    let entries = rig.entries();
    let Event::InterruptResolved { value, .. } = &entries[entries.len() - 2].event else {
        panic!("resolved")
    };
    assert_eq!(*value, None);
    assert_eq!(rig.try_resolve("gate", json!("accept"), "ada").unwrap_err().code(), "run_terminal");
    rig.assert_sound();
}

#[test]
fn where_several_approve_nobody_edits() {
    let actions = json!({"actions": ["accept", "reject", "refine", "edit-accept"]});
    let mut rig = quorum(actions);
    for word in ["refine", "edit-accept"] {
        let refused = rig.try_resolve("gate", json!(word), "ada").unwrap_err();
        assert_eq!(refused.code(), "validation_error", "{word}");
    }
    rig.try_resolve("gate", json!("accept"), "ada").unwrap();
}

/// Half of those that are needed is no majority, and as many as are needed can still approve.
#[test]
fn a_gate_that_can_still_open_stays_open() {
    for more in [
        json!({"requiredApprovals": 2}),
        json!({"requiredApprovals": 2, "approversList": ["ada", "bob", "cyd"]}),
    ] {
        let mut rig = quorum(more.clone());
        rig.try_resolve("gate", json!("reject"), "ada").unwrap();
        assert_eq!(rig.snapshot().status, Status::WaitingApproval, "{more}");
        rig.try_resolve("gate", json!("accept"), "bob").unwrap();
        rig.try_resolve("gate", json!("accept"), "cyd").unwrap();
        assert_eq!(rig.snapshot().status, Status::Completed, "{more}");
    }
}

#[test]
fn no_time_is_no_bound() {
    let asked = json!({"questions": [{"id": "q", "question": "?"}], "timeoutMs": 0});
    for rig in [gate(json!({"timeoutMs": 0})), questions(asked)] {
        let due_ms = rig.run.poll_timeout().unwrap();
        assert!(due_ms >= rig.now_ms + 600_000, "{due_ms}: not before the run's own end");
    }
}

#[test]
fn a_step_is_the_last_one_when_the_run_has_ended() {
    let mut rig = gate(json!({}));
    rig.resolve("gate", json!("accept"));
    let last: Vec<bool> = rig.steps.iter().map(probity_workflow::Step::is_last).collect();
    assert_eq!(last, [false, true]);
}
