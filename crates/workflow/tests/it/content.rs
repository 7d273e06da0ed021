//! How much content a run holds: what is counted, and where it ends.

use probity_workflow::{DelegationEnd, Effect, Input, Judgement, OpenError, Status};
use serde_json::{Map, Value, json};

use crate::rig::{Rig, code, definition, node, start, variable};

const MIB: usize = 1024 * 1024;

/// Delegations in a row, each of which leaves a variable of its own.
fn delegations(names: &[&str]) -> Value {
    let nodes: Vec<Value> = names
        .iter()
        .map(|name| {
            let config = json!({"request": {"task": "t"}, "outputVariable": name});
            node(name, "probity.delegation", config)
        })
        .collect();
    let edges: Vec<(&str, &str)> =
        names.iter().copied().zip(names.iter().copied().skip(1)).collect();
    definition("w", json!(nodes), &edges)
}

/// The delegation at work lets this through, and nothing is said of it.
fn deliver(rig: &mut Rig, delivered: Value) {
    let Some(Effect::Delegate { delegation, .. }) = rig.effects().pop() else { panic!("no work") };
    let end = DelegationEnd {
        outcome: "unverified".to_owned(),
        code: code("unverified"),
        verdict: None::<Judgement>,
        criteria: vec![],
        attempts: 1,
        delivered: Some(delivered),
        candidate: None,
        is_edited: false,
    };
    rig.give(Input::DelegationEnded { delegation, end });
}

fn ended(rig: &Rig) -> String {
    let snapshot = rig.snapshot();
    match snapshot.error {
        Some(error) => error.code,
        None => format!("{:?}", snapshot.status),
    }
}

#[test]
fn one_value_may_be_nearly_as_large_as_all_of_them() {
    for (bytes, expected) in [(7 * MIB, "Completed"), (8 * MIB, "content_too_large")] {
        let mut rig = Rig::new(&delegations(&["a"]));
        deliver(&mut rig, json!("x".repeat(bytes)));
        assert_eq!(ended(&rig), expected, "{bytes}");
    }
}

#[test]
fn what_is_held_already_counts() {
    let mut json = delegations(&["a", "b"]);
    json["variables"] = json!([variable("old", json!("x".repeat(3 * MIB)))]);
    let mut rig = Rig::new(&json);
    deliver(&mut rig, json!("x".repeat(3 * MIB)));
    assert_eq!(ended(&rig), "Running");
    deliver(&mut rig, json!("x".repeat(3 * MIB)));
    assert_eq!(ended(&rig), "content_too_large");
}

#[test]
fn what_takes_the_place_of_something_counts_once() {
    let mut json = delegations(&["a", "b", "c"]);
    for at in 0..3 {
        json["nodes"][at]["config"]["outputVariable"] = json!("same");
    }
    let mut rig = Rig::new(&json);
    for _ in 0..3 {
        deliver(&mut rig, json!("x".repeat(3 * MIB)));
    }
    assert_eq!(ended(&rig), "Completed");
}

#[test]
fn a_character_counts_as_its_longest_escape() {
    for (character, expected) in [
        ("\u{1}", "content_too_large"),
        ("\u{1f}", "content_too_large"),
        ("\"", "content_too_large"),
        ("\\", "content_too_large"),
        (" ", "Completed"),
        ("x", "Completed"),
    ] {
        let mut rig = Rig::new(&delegations(&["a"]));
        deliver(&mut rig, json!(character.repeat(2 * MIB)));
        assert_eq!(ended(&rig), expected, "{character:?}");
    }
}

#[test]
fn as_many_inputs_as_there_may_be() {
    let inputs = |count: usize| -> Value {
        let map: Map<String, Value> = (0..count).map(|n| (format!("i{n}"), json!(n))).collect();
        Value::Object(map)
    };
    let noop = definition("w", json!([node("a", "core.noop", json!({}))]), &[]);
    let rig = Rig::open(start(&noop, inputs(1_000))).unwrap();
    assert_eq!(rig.snapshot().status, Status::Completed);
    for count in [1_001, 2_000] {
        let Err(refused) = Rig::open(start(&noop, inputs(count))) else { panic!("{count} inputs") };
        assert_eq!(refused, OpenError::InputsTooMany { count, max: 1_000 });
    }
}

#[test]
fn only_what_is_required_must_be_given() {
    let mut json = definition("w", json!([node("a", "core.noop", json!({}))]), &[]);
    json["variables"] = json!([{"name": "v", "type": "string", "required": false}]);
    let rig = Rig::new(&json);
    assert_eq!((rig.snapshot().status, rig.variable("v")), (Status::Completed, Value::Null));
    json["variables"] = json!([{"name": "v", "type": "string", "required": true}]);
    assert!(matches!(Rig::open(start(&json, json!({}))), Err(OpenError::InputMissing { .. })));
}
