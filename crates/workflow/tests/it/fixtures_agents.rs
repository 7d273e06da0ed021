//! The definitions with supervisors and agents that a host of this wire must run.

use probity_workflow::{Effect, Event, Kin, Status, child_id};
use serde_json::{Value, json};

use crate::rig::{Rig, definition, end, next, node, run_id, variable};

fn pair(id: &str, supervisor: Value, dispatch: Value) -> Value {
    let nodes = json!([
        node("supervisor", "core.orchestrator.supervisor", supervisor),
        node("dispatch", "core.dispatch", dispatch),
    ]);
    definition(id, nodes, &[("supervisor", "dispatch"), ("dispatch", "supervisor")])
}

fn decisions(rig: &Rig) -> Vec<String> {
    let words = rig.words();
    words
        .into_iter()
        .filter_map(|w| w.strip_prefix("supervisor-decided supervisor ").map(String::from))
        .collect()
}

#[test]
fn handoff_tells_four_steps_each_caused_by_the_one_before() {
    let plan = json!([next(&["conformance-multi-agent-handoff-child"]), end()]);
    let mut handoff = pair(
        "conformance-multi-agent-handoff",
        json!({"mockDispatchPlan": plan}),
        json!({"askUserRouting": "auto", "workerDispatchModel": "child-run",
               "fanOutPolicy": "sequential", "outputMapping": {"parentResult": "childOutcome"}}),
    );
    handoff["variables"] = json!([variable("parentResult", json!(""))]);
    let mut rig = Rig::new(&handoff);
    assert_eq!(
        rig.words(),
        [
            "run-started",
            "node-started supervisor",
            "supervisor-decided supervisor next-worker 1",
            "node-completed supervisor",
            "node-started dispatch",
            "handoff dispatch began",
        ]
    );
    let child = rig.complete_child(json!({"childOutcome": "handoff-complete"}));
    assert_eq!(child, child_id(&run_id(), "dispatch", Kin::Child, 0));
    assert_eq!(
        rig.last_words(),
        [
            "handoff dispatch succeeded",
            "node-dispatched dispatch",
            "handoff dispatch child-completed",
            "handoff dispatch harvested",
            "variable-changed dispatch parentResult=\"handoff-complete\"",
            "node-completed dispatch",
            "node-started supervisor",
            "supervisor-decided supervisor terminate 2",
            "node-completed supervisor",
            "run-completed",
        ]
    );
    let entries = rig.entries();
    let chain: Vec<_> =
        entries.iter().filter(|e| matches!(e.event, Event::Handoff { .. })).collect();
    assert_eq!(chain.len(), 4);
    let decided =
        entries.iter().find(|e| matches!(e.event, Event::SupervisorDecided { .. })).unwrap();
    assert_eq!(chain[0].cause, Some(decided.sequence));
    assert!(chain.windows(2).all(|pair| pair[1].cause == Some(pair[0].sequence)));
    let Event::Handoff { harvested, .. } = &chain[3].event else { panic!("harvested") };
    assert_eq!(harvested.as_deref(), Some(["parentResult".to_owned()].as_slice()));
    let Event::SupervisorDecided { agent, .. } = &decided.event else { panic!("decided") };
    assert_eq!(agent, "supervisor.supervisor");
    let snapshot = rig.snapshot();
    assert_eq!(snapshot.supervisor.as_deref(), Some("supervisor.supervisor"));
    assert_eq!(snapshot.is_goal_satisfied, Some(true));
    rig.assert_sound();
}

#[test]
fn a_decision_below_the_floor_waits_for_an_approval() {
    let plan = json!([{"kind": "next-worker", "nextWorkerIds": ["w"], "confidence": 0.3}]);
    let unsure = pair(
        "conformance-multi-agent-confidence-escalation",
        json!({"mockDispatchPlan": plan}),
        json!({}),
    );
    let mut rig = Rig::new(&unsure);
    assert_eq!(
        rig.last_words()[2..],
        [
            "supervisor-decided supervisor next-worker 1",
            "confidence-escalated supervisor",
            "node-suspended supervisor approval",
            "interrupt-requested supervisor",
        ]
    );
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    assert_eq!(rig.count("handoff"), 0);
    assert_eq!(rig.effects(), []);
    let Event::ConfidenceEscalated { confidence, floor, .. } = &rig.entries()[3].event else {
        panic!("escalated")
    };
    assert_eq!((*confidence, *floor), (0.3, 0.5));

    let mut rejected = Rig::new(&unsure);
    rejected.resolve("supervisor", json!("reject"));
    assert_eq!(decisions(&rejected), ["next-worker 1", "terminate 2"]);
    assert_eq!(rejected.count("handoff"), 0);
    rejected.assert_sound();

    rig.resolve("supervisor", json!("accept"));
    assert_eq!(rig.count("handoff dispatch began"), 1);
    rig.complete_child(json!({}));
    assert_eq!(decisions(&rig), ["next-worker 1", "terminate 2"]);
    rig.assert_sound();
}

#[test]
fn a_terminate_below_the_floor_is_not_final_until_it_is_accepted() {
    let plan = json!([{"kind": "terminate", "confidence": 0.49}]);
    let unsure = pair("conformance-x", json!({"mockDecisions": plan}), json!({}));
    let mut rig = Rig::new(&unsure);
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    rig.resolve("supervisor", json!({"action": "accept"}));
    assert_eq!(rig.snapshot().status, Status::Completed);
    let sure = json!([{"kind": "terminate", "confidence": 0.5}]);
    let rig = Rig::new(&pair("conformance-x", json!({"mockDecisions": sure}), json!({})));
    assert_eq!(rig.snapshot().status, Status::Completed);
}

#[test]
fn stated_decisions_run_in_order_under_the_agent_of_the_node() {
    let plan = json!([next(&["conformance-noop"]), {"kind": "terminate"}]);
    let mut dispatch =
        pair("conformance-orchestrator-dispatch", json!({"mockDecisions": plan}), json!({}));
    dispatch["nodes"][0]["agent"] = json!({"agentId": "core.conformance.supervisor"});
    let mut rig = Rig::new(&dispatch);
    rig.complete_child(json!({}));
    assert_eq!(decisions(&rig), ["next-worker 1", "terminate 2"]);
    assert_eq!(rig.snapshot().supervisor.as_deref(), Some("core.conformance.supervisor"));
    assert_eq!(rig.count("handoff dispatch harvested"), 0, "nothing is mapped");
    rig.assert_sound();
}

#[test]
fn a_supervisor_alone_can_end_a_run() {
    let config = json!({"mockDecisions": [end()]});
    let nodes = json!([node("supervisor", "core.orchestrator.supervisor", config)]);
    let rig = Rig::new(&definition("conformance-orchestrator-terminate", nodes, &[]));
    assert_eq!(decisions(&rig), ["terminate 1"]);
    assert_eq!(rig.snapshot().status, Status::Completed);
}

#[test]
fn a_decision_that_is_held_is_made_once_it_is_accepted() {
    let supervisor =
        json!({"mockConfidence": 0.5, "mockPendingDecision": next(&["conformance-noop"])});
    let mut held = pair("conformance-orchestrator-low-confidence", supervisor, json!({}));
    held["nodes"][0]["agent"] = json!({"agentId": "core.conformance.low-conf-supervisor"});
    let mut rig = Rig::new(&held);
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    assert_eq!(decisions(&rig), [""; 0]);
    assert_eq!(rig.last_words()[2], "node-suspended supervisor low-confidence");
    let Event::NodeSuspended { held: Some(why), .. } = &rig.entries()[2].event else {
        panic!("held")
    };
    assert_eq!(why.agent, "core.conformance.low-conf-supervisor");
    assert_eq!((why.threshold, why.observed), (0.7, 0.5));
    rig.resolve("supervisor", json!({"action": "accept"}));
    assert_eq!(decisions(&rig), ["next-worker 1"]);
    rig.complete_child(json!({}));
    assert_eq!(decisions(&rig), ["next-worker 1", "terminate 2"]);
    rig.assert_sound();

    let mut rig = Rig::new(&held);
    rig.resolve("supervisor", json!({"action": "reject"}));
    assert_eq!(decisions(&rig), ["terminate 2"], "the decision was dropped");
    rig.assert_sound();
}

#[test]
fn an_empty_conformance_supervisor_dispatches_once_and_ends() {
    let mut rig = Rig::new(&pair("conformance-dispatch-loop", json!({}), json!({})));
    let (_, worker, _) = rig.child();
    assert_eq!(worker, "conformance-noop");
    rig.run.pending();
    let Some(Effect::StartChild { child, .. }) = rig.run.poll_effect() else { panic!("a child") };
    let end = probity_workflow::ChildEnd::Completed {
        outputs: serde_json::Map::new(),
        is_goal_satisfied: true,
    };
    rig.give(probity_workflow::Input::ChildEnded { child, end });
    assert_eq!(decisions(&rig), ["next-worker 1", "terminate 2"]);
    assert_eq!(rig.snapshot().status, Status::Completed);
}

fn mock(id: &str, config: Value) -> Value {
    let mut agent =
        definition(id, json!([node("agent", "core.conformance.mock-agent", config)]), &[]);
    agent["nodes"][0]["agent"] = json!({"agentId": "core.conformance.agent"});
    agent
}

#[test]
fn numbers_of_a_question_read_back_as_they_were_written() {
    let supervisor = json!({"mockConfidence": 0.0, "mockPendingDecision": next(&["w"])});
    let held = pair("conformance-x", supervisor, json!({}));
    let rig = Rig::with(&held, |start| start.terms.escalation_threshold = 1.0);
    assert_eq!(rig.snapshot().interrupts[0].1.data["threshold"], json!(1));
    rig.assert_sound();
    let plan = json!([{"kind": "terminate", "confidence": 0.0}]);
    let rig = Rig::new(&pair("conformance-x", json!({"mockDecisions": plan}), json!({})));
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    rig.assert_sound();
}

#[test]
fn a_stated_agent_tells_what_it_does() {
    let rig = Rig::new(&mock(
        "conformance-agent-reasoning",
        json!({
            "mockReasoning": {"summary": "thought about it", "tokenCount": 24},
            "mockToolCalls": [{"toolId": "echo", "arguments": {"x": 1}, "result": {"x": 1}}],
            "mockHandoff": {"toAgentId": "core.conformance.other"},
            "mockDecision": {"decision": {"next": "done"}, "confidence": 1},
        }),
    ));
    assert_eq!(
        rig.words(),
        [
            "run-started",
            "node-started agent",
            "agent-reasoned agent",
            "agent-tool-called agent",
            "agent-tool-returned agent",
            "agent-handoff agent",
            "agent-decided agent",
            "node-completed agent",
            "run-completed",
        ]
    );
    rig.assert_sound();
}

#[test]
fn a_stated_agent_that_is_not_sure_waits() {
    let decision = json!({"mockDecision": {"decision": {"kind": "stub"}, "confidence": 0.5}});
    let low = mock("conformance-agent-low-confidence", decision);
    let mut rig = Rig::new(&low);
    assert_eq!(
        rig.last_words()[2..],
        ["agent-decided agent", "node-suspended agent low-confidence", "interrupt-requested agent",]
    );
    assert_eq!(rig.snapshot().status, Status::WaitingApproval);
    rig.resolve("agent", json!("accept"));
    assert_eq!(rig.snapshot().status, Status::Completed);
    let mut rig = Rig::new(&low);
    rig.resolve("agent", json!("reject"));
    assert_eq!(rig.snapshot().error.unwrap().code, "approval_rejected");
    rig.assert_sound();
}

#[test]
fn stated_words_are_for_conformance_definitions_only() {
    let named = |id: &str| {
        let plan = json!([next(&["w"])]);
        probity_workflow::Definition::parse(&pair(id, json!({"mockDispatchPlan": plan}), json!({})))
    };
    assert!(named("conformance-x").is_ok());
    assert!(named("production").unwrap_err().to_string().contains("plan"));
    let agent = mock("production", json!({}));
    let refused = probity_workflow::Definition::parse(&agent).unwrap_err();
    assert_eq!(refused.code(), "capability_required");
}
