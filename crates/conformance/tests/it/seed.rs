//! The examples of RFC 0090, with ids that its own schema allows: its `w1` and `c` are too short for it.

use probity_conformance::Schema;
use serde_json::{Value, json};

#[test]
fn the_positive_example_fits() {
    let decided = json!({"agentId": "worker-1", "decision": {"answer": "an answer"}});
    assert!(is_payload("agent.decided", &decided));
    let verified = json!({
        "agentId": "critic", "target": "e42", "verdict": "pass",
        "criteria": ["schema-valid", "grounded"], "confidence": 0.9,
    });
    assert!(is_payload("agent.verified", &verified));
    let decision = json!({
        "kind": "terminate", "successCriteria": [{"key": "goal-answered", "met": true}],
    });
    assert!(is_valid(Schema::OrchestratorDecision, &decision));
    let turn = json!({"agentId": "supervisor", "decision": decision, "iteration": 2});
    assert!(is_payload("runOrchestrator.decided", &turn));
    for (sequence, kind, payload) in
        [(42, "agent.decided", decided), (43, "agent.verified", verified)]
    {
        let event = json!({
            "eventId": format!("e{sequence}"), "runId": "run-1", "type": kind, "payload": payload,
            "timestamp": "2026-06-08T00:00:00.000Z", "sequence": sequence,
        });
        assert!(is_valid(Schema::Event, &event), "{event}");
    }
}

#[test]
fn a_verdict_of_another_word_does_not_fit() {
    assert!(is_payload("agent.verified", &verdict("fail")));
    for word in ["ok", "PASS", "", "inconclusive"] {
        assert!(!is_payload("agent.verified", &verdict(word)), "{word}");
    }
}

#[test]
fn a_verdict_that_carries_what_was_checked_does_not_fit() {
    for member in ["result", "content", "reason", "evidence"] {
        let mut payload = verdict("fail");
        payload[member] = json!("what was checked");
        assert!(!is_payload("agent.verified", &payload), "{member}");
    }
}

#[test]
fn the_ids_of_the_examples_as_they_stand_do_not_fit() {
    let short = json!({"agentId": "c", "target": "e42", "verdict": "fail"});
    assert!(!is_payload("agent.verified", &short));
    assert!(!is_payload("agent.decided", &json!({"agentId": "w1", "decision": {}})));
}

fn verdict(word: &str) -> Value {
    json!({"agentId": "critic", "target": "e42", "verdict": word})
}

fn is_payload(kind: &str, payload: &Value) -> bool {
    let all: Value = serde_json::from_str(Schema::payloads()).unwrap();
    let schema = json!({"$ref": format!("#/$defs/{kind}"), "$defs": all["$defs"]});
    jsonschema::validator_for(&schema).unwrap().is_valid(payload)
}

fn is_valid(schema: Schema, document: &Value) -> bool {
    let schema: Value = serde_json::from_str(schema.text()).unwrap();
    jsonschema::validator_for(&schema).unwrap().is_valid(document)
}
