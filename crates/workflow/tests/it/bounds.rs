//! The bounds of a run.

use probity_workflow::{Effect, Event, Input};
use serde_json::json;

use crate::rig::{Rig, START_MS, definition, end, next, node, start, team};

#[test]
fn no_more_nodes_begin_than_may() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let nodes: Vec<_> = names.iter().map(|name| node(name, "core.noop", json!({}))).collect();
    let edges: Vec<_> = names.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let chain = definition("conformance-cap-breach", json!(nodes), &edges);
    let rig = Rig::with(&chain, |start| start.bounds.max_node_executions = 3);
    assert_eq!(rig.count("node-started"), 3);
    let words = rig.words();
    assert_eq!(
        words[words.len() - 2..],
        ["cap-breached d node-executions 4>3", "run-failed recursion_limit_exceeded",]
    );
    rig.assert_sound();
    let rig = Rig::with(&chain, |start| start.bounds.max_node_executions = 6);
    assert_eq!(rig.count("node-completed"), 6);
}

#[test]
fn a_run_takes_no_longer_than_it_may() {
    let wait = json!([node("a", "core.delay", json!({"delayMs": 30_000}))]);
    let slow = definition("conformance-run-duration-breach", wait, &[]);
    let mut rig = Rig::with(&slow, |start| start.bounds.max_run_duration_ms = 1_000);
    assert_eq!(rig.run.poll_timeout(), Some(START_MS + 1_001));
    rig.now_ms = START_MS + 1_000;
    assert_eq!(rig.try_give(Input::Timer).unwrap_err().code(), "nothing_due", "never at the bound");
    rig.wait();
    assert_eq!(rig.last_words(), ["cap-breached run-duration 1001>1000", "run-failed run_timeout"]);
    rig.assert_sound();
}

#[test]
fn what_is_under_way_is_stopped_and_late_answers_change_nothing() {
    let mut rig = Rig::with(&team(json!([next(&["a"]), end()])), |start| {
        start.bounds.max_run_duration_ms = 1_000;
    });
    let (child, _, _) = rig.child();
    let mut late = rig.run.clone();
    rig.wait();
    assert!(matches!(rig.effects().pop(), Some(Effect::Stop { run, .. }) if run == child));
    let outputs = json!({"out": "late"}).as_object().unwrap().clone();
    let end = probity_workflow::ChildEnd::Completed { outputs, is_goal_satisfied: true };
    let step = late.handle(START_MS + 5_000, Input::ChildEnded { child, end }).unwrap();
    assert!(step.is_last());
    let Event::CapBreached(breach) = &step.entries[0].event else { panic!("a breach") };
    assert_eq!((breach.limit, breach.observed), (1_000, 5_000));
    assert!(!late.snapshot().variables.contains_key("result"));
}

#[test]
fn a_wait_ends_with_the_run() {
    let gate = definition("w", json!([node("gate", "core.approvalGate", json!({}))]), &[]);
    let mut rig = Rig::new(&gate);
    rig.wait();
    assert_eq!(
        rig.last_words(),
        [
            "interrupt-resolved gate",
            "cap-breached run-duration 600001>600000",
            "run-failed run_timeout",
        ]
    );
    rig.assert_sound();
}

#[test]
fn turns_are_counted() {
    let plan = json!([next(&["a"]), next(&["b"]), next(&["c"]), end()]);
    let mut rig = Rig::with(&team(plan), |start| start.bounds.max_loop_iterations = 2);
    rig.complete_child(json!({}));
    rig.complete_child(json!({}));
    let words = rig.words();
    assert_eq!(
        words[words.len() - 2..],
        ["cap-breached boss loop-iterations 3>2", "run-failed loop_limit_exceeded",]
    );
    assert_eq!(rig.count("supervisor-decided"), 2);
    rig.assert_sound();
}

#[test]
fn time_does_not_go_back() {
    let wait = definition("w", json!([node("a", "core.delay", json!({"delayMs": 10}))]), &[]);
    let mut rig = Rig::new(&wait);
    rig.now_ms = 5;
    rig.give(Input::Pause { reason: None, drain_policy: None });
    assert_eq!(rig.steps[1].at_ms, START_MS);
    assert_eq!(rig.steps[1].entries[0].at_ms, START_MS);
    rig.assert_sound();
}

#[test]
fn bounds_and_terms_have_ranges() {
    let noop = definition("w", json!([node("a", "core.noop", json!({}))]), &[]);
    let mut zero = start(&noop, json!({}));
    zero.bounds.max_loop_iterations = 0;
    assert!(Rig::open(zero).err().unwrap().to_string().contains("max_loop_iterations"));
    for floor in [0.49, 1.01, f64::NAN] {
        let mut low = start(&noop, json!({}));
        low.terms.confidence_floor = floor;
        let refused = Rig::open(low).err().unwrap();
        assert_eq!(refused.code(), "validation_error");
        assert!(refused.to_string().contains("confidence_floor"));
    }
}
