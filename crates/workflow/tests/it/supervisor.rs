//! Supervisors: fan-out, mappings, questions, one agent per run.

use probity_workflow::{Definition, Event, Input, Status};
use serde_json::{Value, json};

use crate::rig::{Rig, definition, end, next, node, start, team, variable};

#[test]
fn workers_are_asked_one_after_the_other_each_with_its_own_mapping() {
    let mut team = team(json!([next(&["first", "second"]), end()]));
    team["variables"] = json!([variable("shared", json!("s")), variable("other", json!("o"))]);
    team["nodes"][1]["config"] = json!({
        "inputMapping": {"input": "shared", "unset": "nobody"},
        "perWorkerInputMappings": {"second": {"input": "other", "seen": "result"}},
        "outputMapping": {"result": "out"},
        "perWorkerOutputMappings": {"second": {"final": "out"}},
    });
    let mut rig = Rig::new(&team);
    let (_, worker, inputs) = rig.child();
    assert_eq!((worker.as_str(), Value::Object(inputs)), ("first", json!({"input": "s"})));
    rig.run.pending();
    assert!(rig.run.poll_effect().is_some());
    let child = rig.entries().iter().find_map(|entry| match &entry.event {
        Event::Handoff { child, .. } => child.clone(),
        _ => None,
    });
    let outputs = json!({"out": "r1", "else": 1}).as_object().unwrap().clone();
    let completed = probity_workflow::ChildEnd::Completed { outputs, is_goal_satisfied: true };
    rig.give(Input::ChildEnded { child: child.unwrap(), end: completed });
    assert_eq!(rig.variable("result"), "r1");
    assert_eq!(rig.count("supervisor-decided"), 1, "one decision, two workers");
    let (_, worker, inputs) = rig.child();
    assert_eq!(worker, "second");
    assert_eq!(Value::Object(inputs), json!({"input": "o", "seen": "r1"}));
    assert_eq!(rig.snapshot().status, Status::Running);
}

#[test]
fn outputs_of_a_dispatch_name_its_children() {
    let mut rig = Rig::new(&team(json!([next(&["first", "second"]), end()])));
    let first = rig.complete_child(json!({"out": 1}));
    let second = rig.complete_child(json!({"nothing": 2}));
    let completed = rig.entries().iter().find_map(|entry| match &entry.event {
        Event::NodeCompleted { outputs } if entry.node.as_deref() == Some("desk") => {
            Some(Value::Object(outputs.clone()))
        }
        _ => None,
    });
    let one = |child: &probity_core::RunId, worker: &str| json!({"childRunId": child.as_str(), "childStatus": "completed", "workerId": worker});
    let mut expected = one(&second, "second");
    expected["children"] = json!([one(&first, "first"), one(&second, "second")]);
    assert_eq!(completed.unwrap(), expected);
    assert_eq!(rig.variable("result"), 1, "what a child does not leave changes nothing");
    assert_eq!(rig.count("handoff desk harvested"), 2, "a mapping was carried out, if to nothing");
    rig.assert_sound();
}

#[test]
fn a_dispatch_may_refuse_several_workers() {
    let mut team = team(json!([next(&["first", "second"])]));
    team["nodes"][1]["config"] = json!({"fanOutPolicy": "reject"});
    let rig = Rig::new(&team);
    assert_eq!(rig.snapshot().error.unwrap().code, "fan_out_rejected");
    assert_eq!(rig.count("handoff"), 0);
    rig.assert_sound();
}

#[test]
fn whoever_builds_on_a_failed_worker_is_not_asked() {
    let mut rig = Rig::new(&team(json!([next(&["first", "second"]), end()])));
    rig.fail_child(true);
    assert_eq!(rig.count("node-dispatched"), 1);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(false));
}

#[test]
fn a_planned_question_waits_and_the_plan_goes_on() {
    let plan = json!([{"kind": "ask-user", "prompt": "Which one?"}, end()]);
    let mut rig = Rig::new(&team(plan));
    assert_eq!(rig.snapshot().status, Status::WaitingInput);
    let questions = rig.snapshot().interrupts[0].1.data["questions"].clone();
    assert_eq!(questions, json!([{"id": "answer", "question": "Which one?"}]));
    rig.resolve("boss", json!({"answer": "the left one"}));
    assert_eq!(rig.snapshot().status, Status::Completed);
    assert_eq!(rig.snapshot().is_goal_satisfied, Some(true));
    rig.assert_sound();
}

#[test]
fn a_plan_that_is_through_ends_the_run() {
    let mut rig = Rig::new(&team(json!([next(&["writer"])])));
    rig.complete_child(json!({"out": "x"}));
    assert_eq!(rig.count("supervisor-decided boss terminate 2"), 1);
    assert_eq!(rig.snapshot().status, Status::Completed);
}

#[test]
fn the_supervisors_of_a_run_are_one_agent() {
    let mut two = definition(
        "w",
        json!([
            node("one", "core.orchestrator.supervisor", json!({"plan": [end()]})),
            node("two", "core.orchestrator.supervisor", json!({"plan": [end()]})),
        ]),
        &[],
    );
    let refused = Definition::parse(&two).unwrap_err();
    assert!(refused.to_string().contains("one agent"), "{refused}");
    for at in [0, 1] {
        two["nodes"][at]["agent"] = json!({"agentId": "the.boss"});
    }
    assert!(Definition::parse(&two).is_ok());
}

#[test]
fn a_dispatch_may_allow_fewer_turns_than_the_run() {
    let mut team = team(json!([next(&["a"]), next(&["b"]), end()]));
    team["nodes"][1]["config"] = json!({"iterationCap": 2});
    let mut rig = Rig::new(&team);
    rig.complete_child(json!({}));
    rig.complete_child(json!({}));
    assert_eq!(rig.snapshot().error.unwrap().code, "loop_limit_exceeded");
    assert_eq!(rig.count("cap-breached boss loop-iterations 3>2"), 1);
}

#[test]
fn that_a_child_is_under_way_may_be_told_once() {
    let mut rig = Rig::new(&team(json!([next(&["a"]), end()])));
    let (child, _, _) = rig.child();
    rig.give(Input::ChildStarted { child: child.clone() });
    assert_eq!(rig.last_words(), ["handoff desk succeeded", "node-dispatched desk"]);
    let again = Input::ChildStarted { child: child.clone() };
    assert_eq!(rig.try_give(again).unwrap_err().code(), "stale_answer");
    let end = probity_workflow::ChildEnd::Cancelled;
    rig.give(Input::ChildEnded { child, end });
    assert_eq!(rig.last_words()[0], "handoff desk child-cancelled");
    assert_eq!(rig.count("handoff desk succeeded"), 1);
    rig.assert_sound();
}

#[test]
fn inputs_beside_the_variables_are_variables() {
    let mut team = team(json!([next(&["a"]), end()]));
    team["nodes"][1]["config"] = json!({"inputMapping": {"topic": "topic"}});
    let mut rig = Rig::open(start(&team, json!({"topic": "tides"}))).unwrap();
    assert_eq!(rig.child().2["topic"], "tides");
}

#[test]
fn one_worker_is_no_fan_out() {
    let mut team = team(json!([next(&["only"]), end()]));
    team["nodes"][1]["config"] = json!({"fanOutPolicy": "reject"});
    let mut rig = Rig::new(&team);
    let child = rig.complete_child(json!({"out": 1}));
    let left = rig.entries().iter().find_map(|entry| match &entry.event {
        Event::NodeCompleted { outputs } if entry.node.as_deref() == Some("desk") => {
            Some(Value::Object(outputs.clone()))
        }
        _ => None,
    });
    let expected = json!({
        "childRunId": child.as_str(), "childStatus": "completed", "workerId": "only",
    });
    assert_eq!(left, Some(expected), "a single child is not listed once more");
}

/// Wherever the dispatch stands in the list, it is that of its supervisor.
#[test]
fn a_supervisor_finds_its_dispatch_by_the_edge() {
    let dispatch = node("desk", "core.dispatch", json!({"outputMapping": {"result": "out"}}));
    let supervisor = json!({"plan": [next(&["writer"]), end()]});
    let supervisor = node("boss", "core.orchestrator.supervisor", supervisor);
    let noop = node("first", "core.noop", json!({}));
    for nodes in [
        json!([dispatch.clone(), noop.clone(), supervisor.clone()]),
        json!([noop, supervisor, dispatch]),
    ] {
        let edges = [("first", "boss"), ("boss", "desk"), ("desk", "boss")];
        let mut rig = Rig::new(&definition("team", nodes, &edges));
        rig.complete_child(json!({"out": "r"}));
        assert_eq!(
            (rig.variable("result"), rig.snapshot().status),
            (json!("r"), Status::Completed)
        );
        rig.assert_sound();
    }
}
