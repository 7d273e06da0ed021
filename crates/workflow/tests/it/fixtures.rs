//! The plain definitions that a host of this wire must run: see also `fixtures_agents`.

use probity_workflow::{Input, Status};
use serde_json::{Value, json};

use crate::rig::{Rig, START_MS, definition, node, start};

fn one(id: &str, type_id: &str, config: Value) -> Value {
    definition(id, json!([node("a", type_id, config)]), &[])
}

#[test]
fn noop_completes_at_once() {
    let rig = Rig::new(&one("conformance-noop", "core.noop", json!({})));
    let words = ["run-started", "node-started a", "node-completed a", "run-completed"];
    assert_eq!(rig.words(), words);
    assert_eq!(rig.snapshot().status, Status::Completed);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(true));
    rig.assert_sound();
}

#[test]
fn a_required_variable_must_be_given() {
    let mut noop = one("conformance-idempotent", "core.noop", json!({}));
    noop["variables"] = json!([{"name": "nonce", "type": "string", "required": true}]);
    let refused = Rig::open(start(&noop, json!({}))).err().expect("no nonce");
    assert_eq!(refused.code(), "validation_error");
    assert!(refused.to_string().contains("nonce"));
    let rig = Rig::open(start(&noop, json!({"nonce": "n1"}))).unwrap();
    assert_eq!(rig.snapshot().status, Status::Completed);
    assert_eq!(rig.variable("nonce"), "n1");
}

#[test]
fn a_required_variable_with_a_default_need_not_be_given() {
    for spelling in ["defaultValue", "default"] {
        let mut noop = one("w", "core.noop", json!({}));
        noop["variables"] = json!([{"name": "n", "required": true, spelling: 7}]);
        assert_eq!(Rig::new(&noop).variable("n"), 7);
    }
}

#[test]
fn fail_fails_with_its_word() {
    let rig = Rig::new(&one("conformance-failure", "core.fail", json!({})));
    let words =
        ["run-started", "node-started a", "node-failed a node_failed", "run-failed node_failed"];
    assert_eq!(rig.words(), words);
    assert_eq!(rig.snapshot().status, Status::Failed);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
    assert_eq!(rig.snapshot().error.unwrap().code, "node_failed");
    rig.assert_sound();
    let rig = Rig::new(&one("w", "core.fail", json!({"code": "mine", "message": "so"})));
    let error = rig.snapshot().error.unwrap();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("mine", "so"));
}

#[test]
fn identity_hands_on_what_it_got() {
    let mut echo = one("conformance-identity", "core.identity", json!({}));
    echo["nodes"][0]["inputs"] = json!({
        "payload": {"type": "variable", "variableName": "payload"},
        "copy": {"type": "variable", "variableName": "payload"},
        "word": {"type": "literal", "value": "w"},
        "unset": {"type": "variable", "variableName": "nobody"},
        "plain": 3,
    });
    let payload = json!({"deep": [1, {"x": null}], "text": "ü"});
    let rig = Rig::open(start(&echo, json!({"payload": payload}))).unwrap();
    assert_eq!(rig.variable("payload"), payload);
    assert_eq!(rig.variable("copy"), payload);
    assert_eq!((rig.variable("word"), rig.variable("plain")), (json!("w"), json!(3)));
    assert!(!rig.snapshot().variables.contains_key("unset"));
    assert_eq!(rig.count("variable-changed a payload"), 0, "it had that value");
    assert_eq!(rig.count("variable-changed a copy"), 1);
    rig.assert_sound();
}

#[test]
fn delay_waits_as_long_as_it_is_told() {
    let mut delay = one("conformance-delay", "core.delay", json!({}));
    delay["nodes"][0]["inputs"] =
        json!({"delayMs": {"type": "variable", "variableName": "delayMs"}});
    delay["variables"] = json!([{"name": "delayMs", "type": "number", "defaultValue": 30_000}]);
    let mut rig = Rig::new(&delay);
    assert_eq!(rig.snapshot().status, Status::Running);
    assert_eq!(rig.snapshot().current_node.as_deref(), Some("a"));
    assert_eq!(rig.run.poll_timeout(), Some(START_MS + 30_000));
    rig.now_ms += 29_999;
    assert_eq!(rig.try_give(Input::Timer).unwrap_err().code(), "nothing_due");
    rig.wait();
    assert_eq!(rig.snapshot().status, Status::Completed);
    rig.assert_sound();

    let rig = Rig::open(start(&delay, json!({"delayMs": 5}))).unwrap();
    assert_eq!(rig.run.poll_timeout(), Some(START_MS + 5));
    let rig = Rig::open(start(&delay, json!({"delayMs": 0}))).unwrap();
    assert_eq!(rig.snapshot().status, Status::Completed);
    let rig = Rig::open(start(&delay, json!({"delayMs": -1}))).unwrap();
    assert_eq!(rig.snapshot().error.unwrap().code, "validation_error");
    for (config, delay_ms) in
        [(json!({}), 1_000), (json!({"delayMs": 20}), 20), (json!({"durationMs": 30}), 30)]
    {
        let rig = Rig::new(&one("w", "core.delay", config));
        assert_eq!(rig.run.poll_timeout(), Some(START_MS + delay_ms));
    }
}

#[test]
fn a_delay_can_be_cancelled() {
    let mut rig =
        Rig::new(&one("conformance-cancellable", "core.delay", json!({"delayMs": 30_000})));
    let (reason, by) = (Some("enough".to_owned()), Some("ada".to_owned()));
    rig.give(Input::Cancel { reason, by, parent: None });
    assert_eq!(rig.last_words(), ["run-cancelled"]);
    assert_eq!(rig.snapshot().status, Status::Cancelled);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
    assert_eq!(rig.run.poll_timeout(), None);
    assert_eq!(rig.try_give(Input::Timer).unwrap_err().code(), "run_terminal");
    rig.assert_sound();
}

#[test]
fn nodes_run_in_the_order_of_their_edges() {
    let nodes = json!([
        node("c", "core.noop", json!({})),
        node("b", "core.noop", json!({})),
        node("a", "core.noop", json!({})),
        node("d", "core.noop", json!({})),
    ]);
    let rig = Rig::new(&definition("conformance-multi-node", nodes, &[("a", "b"), ("b", "c")]));
    let completed: Vec<String> =
        rig.words().into_iter().filter(|word| word.starts_with("node-completed")).collect();
    let order = ["a", "b", "c", "d"].map(|node| format!("node-completed {node}"));
    assert_eq!(completed, order);
    rig.assert_sound();
}

#[test]
fn a_node_waits_for_everything_before_it() {
    let nodes = json!([
        node("join", "core.noop", json!({})),
        node("left", "core.delay", json!({"delayMs": 10})),
        node("right", "core.delay", json!({"delayMs": 10})),
    ]);
    let mut rig = Rig::new(&definition("w", nodes, &[("left", "join"), ("right", "join")]));
    rig.wait();
    assert_eq!(rig.count("node-started join"), 0);
    rig.wait();
    assert_eq!(
        rig.last_words(),
        ["node-completed right", "node-started join", "node-completed join", "run-completed"]
    );
    rig.assert_sound();
}

#[test]
fn an_approval_waits_and_goes_on() {
    let config = json!({"title": "Ship it?", "actions": ["accept", "reject"]});
    let gate =
        definition("conformance-approval", json!([node("gate", "core.approvalGate", config)]), &[]);
    let mut rig = Rig::new(&gate);
    assert_eq!(
        rig.last_words(),
        [
            "run-started",
            "node-started gate",
            "node-suspended gate approval",
            "interrupt-requested gate"
        ]
    );
    let snapshot = rig.snapshot();
    assert_eq!(snapshot.status, Status::WaitingApproval);
    assert_eq!(snapshot.current_node.as_deref(), Some("gate"));
    let (node, interrupt) = &snapshot.interrupts[0];
    assert_eq!(node, "gate");
    assert_eq!(interrupt.key, format!("{}:gate:0", rig.run.run()));
    assert_eq!(interrupt.data["actions"], json!(["accept", "reject"]));
    rig.resolve("gate", json!({"action": "accept"}));
    assert_eq!(
        rig.last_words(),
        [
            "approval-received gate accept",
            "interrupt-resolved gate",
            "node-resumed gate",
            "node-completed gate",
            "run-completed"
        ]
    );
    rig.assert_sound();
}

#[test]
fn a_clarification_waits_and_goes_on() {
    let config = json!({"questions": [{"id": "q1", "question": "Which colour?"}]});
    let ask = definition(
        "conformance-clarification",
        json!([node("ask", "core.clarificationGate", config)]),
        &[],
    );
    for answer in [
        json!({"q1": "blue"}),
        json!([{"id": "q1", "answer": "blue"}]),
        json!({"answers": {"q1": "blue"}}),
    ] {
        let mut rig = Rig::new(&ask);
        assert_eq!(rig.snapshot().status, Status::WaitingInput);
        assert_eq!(rig.last_words().last().unwrap(), "clarification-requested ask");
        rig.resolve("ask", answer);
        assert_eq!(
            rig.last_words(),
            [
                "clarification-resolved ask",
                "interrupt-resolved ask",
                "node-resumed ask",
                "node-completed ask",
                "run-completed"
            ]
        );
        rig.assert_sound();
    }
}
