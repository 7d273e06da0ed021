//! Ways to have something taken over, or called a success, that is not.

use probity_workflow::{
    ChildEnd, Definition, DelegationEnd, Effect, Event, Input, Judgement, Run, Start, Status,
};
use serde_json::{Map, Value, json};

use crate::rig::{
    Rig, as_recorded, checked_team, code, definition, end, next, node, run_id, start, team,
    variable,
};

const DIGEST: &str = "cf671ee8b10d052ca89d09309f6d1f758acc09afc189d3db1f573dac86112cbb";

fn give_up(rig: &mut Rig, outputs: &Value) {
    let (child, _, _) = rig.child();
    let outputs = outputs.as_object().unwrap().clone();
    let end = ChildEnd::Completed { outputs, is_goal_satisfied: false };
    rig.give(Input::ChildEnded { child, end });
}

fn call(config: &Value) -> Value {
    let mut rules = json!({"workflowId": "child", "outputMapping": {"result": "out"}});
    rules.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    definition("parent", json!([node("call", "core.subWorkflow", rules)]), &[])
}

#[test]
fn the_goal_of_a_run_is_not_met_by_a_child_that_gave_up() {
    let mut rig = Rig::new(&team(json!([next(&["a"]), end()])));
    give_up(&mut rig, &json!({"out": "half"}));
    let snapshot = rig.snapshot();
    assert_eq!((snapshot.status, snapshot.is_goal_satisfied), (Status::Completed, Some(false)));
    let criteria = snapshot.success_criteria.unwrap();
    assert!(criteria.iter().all(|criterion| !criterion.met), "{criteria:?}");
    rig.assert_sound();
    let mut rig = Rig::new(&call(&json!({})));
    give_up(&mut rig, &json!({"out": "half"}));
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
    rig.assert_sound();
    // A critic of the run itself may say that it will do.
    let mut rig = Rig::new(&checked_team(json!([next(&["a"]), end()]), "again"));
    give_up(&mut rig, &json!({"out": "half"}));
    rig.judge(Judgement::Pass);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(true));
    rig.assert_sound();
}

#[test]
fn what_somebody_did_not_let_through_is_no_success() {
    let attested = json!({"requireApproval": true, "timeoutMs": 100});
    for is_late in [false, true] {
        let parent = call(&json!({"onChildFailure": "absorb", "outputAttestation": attested}));
        let mut rig = Rig::new(&parent);
        rig.complete_child(json!({"out": "new"}));
        match is_late {
            true => rig.wait(),
            false => rig.resolve("call", json!("reject")),
        }
        let snapshot = rig.snapshot();
        assert_eq!((snapshot.status, snapshot.is_goal_satisfied), (Status::Completed, Some(false)));
        assert_eq!(rig.variable("result"), Value::Null);
        rig.assert_sound();
    }
}

#[test]
fn a_criterion_that_is_stated_twice_is_met_neither_time() {
    let criteria = json!([{"key": "verified", "met": true}, {"key": "verified", "met": true}]);
    let last = json!({"kind": "terminate", "successCriteria": criteria});
    let mut rig = Rig::new(&checked_team(json!([next(&["a"]), last]), "ask-user"));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge(Judgement::Fail);
    rig.resolve("boss", json!({"next": "skip"}));
    let snapshot = rig.snapshot();
    assert!(snapshot.success_criteria.unwrap().iter().all(|criterion| !criterion.met));
    rig.assert_sound();
}

fn delegation(end: DelegationEnd) -> Rig {
    let config = json!({"request": {"task": "add"}, "outputVariable": "result"});
    let mut rig =
        Rig::new(&definition("w", json!([node("work", "probity.delegation", config)]), &[]));
    let Some(Effect::Delegate { delegation, .. }) = rig.effects().pop() else { panic!("no work") };
    rig.give(Input::DelegationEnded { delegation, end });
    rig.assert_sound();
    rig
}

#[test]
fn a_delegation_that_contradicts_itself_is_not_taken_over() {
    let end = |outcome: &str, verdict| DelegationEnd {
        outcome: outcome.to_owned(),
        code: code("a_word"),
        verdict,
        criteria: (0..200).map(|n| code(&format!("key-{n}"))).collect(),
        attempts: 1,
        delivered: Some(json!({"sum": 3})),
        candidate: Some(DIGEST.to_owned()),
        is_edited: false,
    };
    for verdict in [Judgement::Fail, Judgement::Revise] {
        let rig = delegation(end("unverified", Some(verdict)));
        assert_eq!(rig.snapshot().error.unwrap().code, "not_verified");
        assert_eq!(rig.variable("result"), Value::Null);
    }
    // Nobody passed what was not verified.
    for outcome in ["cancelled", "delegate_failed", "escalated", "Verified"] {
        let rig = delegation(end(outcome, Some(Judgement::Pass)));
        assert_eq!(rig.count("agent-verified"), 0, "{outcome}");
        assert_eq!(rig.snapshot().error.unwrap().code, "not_verified");
    }
    // Neither text nor a heap of keys comes into a verdict by what its candidate is called.
    let named = DelegationEnd { candidate: Some("the secret".to_owned()), ..end("verified", None) };
    let rig = delegation(named);
    let told = rig.entries().into_iter().find_map(|entry| match &entry.event {
        Event::AgentVerified(verified) => Some(verified.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!((told.candidate.as_str(), told.criteria.len()), (DIGEST, 100));
    assert_eq!(rig.snapshot().error.unwrap().code, "candidate_differs");
}

#[test]
fn no_spelling_of_its_name_lets_an_agent_check_its_own_work() {
    let own = ["worker", " Worker", "WORKER ", "supervisor.boss", "Supervisor.Boss", "the.clerk"];
    for critic in own {
        let mut team = checked_team(json!([next(&["worker"]), end()]), "give-up");
        team["metadata"]["probity"]["verifiers"]["desk"]["agentId"] = json!(critic);
        team["nodes"][1]["agent"] = json!({"agentId": "the.clerk"});
        let mut rig = Rig::new(&team);
        rig.complete_child(json!({"out": "mine"}));
        assert_eq!(rig.snapshot().withheld[0].code.as_str(), "self_verification", "{critic}");
        assert_eq!(rig.count("agent-verified"), 0);
        rig.assert_sound();
    }
}

#[test]
fn a_verifier_is_not_lost_by_a_slip() {
    let mut team = checked_team(json!([next(&["worker"]), end()]), "again");
    let verifiers = team["metadata"]["probity"]["verifiers"].take();
    for own in [json!({"verifier": verifiers}), json!([verifiers]), json!(7)] {
        team["metadata"]["probity"] = own;
        assert_eq!(Definition::parse(&team).unwrap_err().code(), "validation_error");
    }
    let mut text = team.to_string();
    text.truncate(text.len() - 1);
    text.push_str(",\"metadata\":{}}");
    assert_eq!(Definition::from_slice(text.as_bytes()).unwrap_err().code(), "validation_error");
    let asked = json!({"questions": [{"id": "q", "question": "?"}], "timeoutMs": "soon"});
    let ask = definition("ask", json!([node("ask", "core.clarificationGate", asked)]), &[]);
    assert_eq!(Definition::parse(&ask).unwrap_err().code(), "validation_error");
}

fn gate() -> Rig {
    let config = json!({"actions": ["accept", "reject"], "timeoutMs": 100});
    let nodes = json!([
        node("gate", "core.approvalGate", config.clone()),
        node("second", "core.approvalGate", config),
    ]);
    Rig::new(&definition("w", nodes, &[("gate", "second")]))
}

fn answer(node: &str, interrupt: Option<String>) -> Input {
    Input::Resolve {
        node: node.to_owned(),
        value: json!("accept"),
        by: "ada".to_owned(),
        interrupt,
    }
}

#[test]
fn an_answer_is_for_the_wait_that_it_names() {
    let mut rig = gate();
    let first = rig.snapshot().interrupts[0].1.id.clone();
    rig.give(answer("gate", Some(first.clone())));
    let stale = rig.try_give(answer("second", Some(first))).unwrap_err();
    assert_eq!(stale.code(), "stale_answer");
    let second = rig.snapshot().interrupts[0].1.id.clone();
    rig.give(answer("second", Some(second)));
    assert_eq!(rig.snapshot().status, Status::Completed);
    rig.assert_sound();
    let old = json!({"type": "resolve", "node": "gate", "value": "accept", "by": "ada"});
    let read: Input = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(read, answer("gate", None));
    assert_eq!(serde_json::to_value(&read).unwrap(), old);
}

#[test]
fn an_answer_behind_its_time_is_none_though_no_timer_came() {
    let mut rig = gate();
    rig.now_ms += 100;
    assert_eq!(rig.try_give(answer("gate", None)).unwrap_err().code(), "not_waiting");
    rig.give(Input::Timer);
    assert_eq!(rig.snapshot().error.unwrap().code, "approval_timeout");
}

#[test]
fn a_child_is_named_once_it_has_begun() {
    let mut rig = Rig::new(&team(json!([next(&["a"]), end()])));
    let (child, _, _) = rig.child();
    rig.give(Input::Cancel { reason: None, by: None, parent: None });
    assert_eq!(rig.count("node-dispatched") + rig.count("handoff desk succeeded"), 0);
    assert!(matches!(&rig.effects()[..], [Effect::Stop { run, .. }] if *run == child));
    rig.assert_sound();
}

#[test]
fn a_log_is_compared_by_how_it_is_spelled() {
    let nodes = json!([node("gate", "core.approvalGate", json!({"artifactData": {"sure": 1.0}}))]);
    let definition = Definition::parse(&definition("w", nodes, &[])).unwrap();
    let begins = start(&team(json!([end()])), json!({"n": 2.0}));
    let (_, step) = Run::open(1, run_id(), Start { definition, ..begins }).unwrap();
    let read = as_recorded(&step);
    let entries = step.entries.clone();
    // The events of a machine that held `2.0`, the input of one that read `2`.
    let mixed = probity_workflow::Step { entries, ..read };
    assert_ne!(mixed, step);
    Run::replay(run_id(), [&mixed]).unwrap();
    let mut forged = mixed;
    forged.entries.pop();
    assert_eq!(Run::replay(run_id(), [&forged]).unwrap_err().code(), "workflow_log_differs");
}

/// Nodes that each hold the big value once more under many names.
fn bomb(names: usize) -> Value {
    let nodes: Vec<Value> = (0..100)
        .map(|n| {
            let mut copy = node(&format!("n{n}"), "core.identity", json!({}));
            let inputs = (0..names)
                .map(|k| (format!("v{n}-{k}"), json!({"type": "variable", "variableName": "big"})));
            copy["inputs"] = Value::Object(inputs.collect());
            copy
        })
        .collect();
    definition("bomb", json!(nodes), &[])
}

#[test]
fn a_definition_cannot_multiply_what_it_is_given() {
    let big = json!({"big": "x".repeat(100_000)});
    let rig = Rig::open(start(&bomb(100), big.clone())).unwrap();
    assert_eq!(rig.snapshot().error.unwrap().code, "content_too_large");
    let bytes = serde_json::to_vec(&rig.steps).unwrap().len();
    assert!(bytes < 40_000_000, "{bytes}");
    let many: Map<String, Value> = (0..1_000).map(|n| (format!("c{n}"), json!("big"))).collect();
    let into = definition(
        "w",
        json!([node(
            "call",
            "core.subWorkflow",
            json!({"workflowId": "child", "inputMapping": many.clone()})
        )]),
        &[],
    );
    let mut rig = Rig::open(start(&into, big.clone())).unwrap();
    assert_eq!(rig.snapshot().error.unwrap().code, "content_too_large");
    assert_eq!(rig.effects(), []);
    let named: Vec<Value> = vec![json!({"$var": "big"}); 1_000];
    let config = json!({"request": {"tasks": named}});
    let asks = definition("w", json!([node("work", "probity.delegation", config)]), &[]);
    let mut rig = Rig::open(start(&asks, big)).unwrap();
    assert_eq!(rig.snapshot().error.unwrap().code, "content_too_large");
    assert_eq!(rig.effects(), []);
    let mut out = team(json!([next(&["a"]), end()]));
    let back: Map<String, Value> = (0..1_000).map(|n| (format!("p{n}"), json!("out"))).collect();
    out["nodes"][1]["config"] = json!({"outputMapping": back});
    out["variables"] = json!([variable("result", json!("old"))]);
    let mut rig = Rig::new(&out);
    rig.complete_child(json!({"out": "x".repeat(100_000)}));
    assert_eq!(rig.snapshot().error.unwrap().code, "content_too_large");
    assert_eq!(rig.count("handoff desk harvested"), 0);
    rig.assert_sound();
}
