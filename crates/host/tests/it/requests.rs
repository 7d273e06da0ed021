//! Bodies: what is taken, and what is said of what is not.

use probity_host::wire::v1::{BulkCancel, CreateRun, ForkRun, PauseRun, Resume, StopRun};
use probity_host::{Reason, schema};
use probity_workflow::Bounds;
use serde_json::{Value, json};

const CEILINGS: Bounds =
    Bounds { max_node_executions: 100, max_run_duration_ms: 5_000, max_loop_iterations: 10 };

fn paths(result: Result<CreateRun, probity_host::Failure>) -> String {
    let failure = result.unwrap_err();
    failure.details.get("path").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn bounds_are_what_is_asked_for_but_no_more_than_the_ceilings() {
    let bounds = |configurable: Value| {
        let body = json!({"workflowId": "w", "configurable": configurable});
        CreateRun::parse(&body).map(|run| run.requested.within(CEILINGS))
    };
    assert_eq!(bounds(json!({})).unwrap(), CEILINGS);
    assert_eq!(bounds(json!({"unknown": 1})).unwrap(), CEILINGS);
    let asked = json!({"recursionLimit": 3, "runTimeoutMs": 1000, "maxLoopIterations": 50});
    let wanted = bounds(asked).unwrap();
    assert_eq!(wanted.max_node_executions, 3);
    assert_eq!(wanted.max_run_duration_ms, 1_000);
    assert_eq!(wanted.max_loop_iterations, 10);
    for wrong in [json!(0), json!(-1), json!(1.5), json!("3"), json!(1e300)] {
        for name in ["recursionLimit", "runTimeoutMs", "maxLoopIterations"] {
            let failure = bounds(json!({name: wrong})).unwrap_err();
            assert_eq!(failure.reason, Reason::Validation, "{name} {wrong}");
            assert_eq!(failure.details["path"], format!("/configurable/{name}"));
        }
    }
}

#[test]
fn what_is_wrong_in_a_create_body_is_named_by_its_place() {
    let long = "x".repeat(257);
    for (body, path) in [
        (json!([]), "the body"),
        (json!({}), "/workflowId"),
        (json!({"workflowId": ""}), "/workflowId"),
        (json!({"workflowId": "w", "inputs": []}), "/inputs"),
        (json!({"workflowId": "w", "tags": "a"}), "/tags"),
        (json!({"workflowId": "w", "tags": [long]}), "/tags"),
        (json!({"workflowId": "w", "tags": vec!["a"; 101]}), "/tags"),
        (json!({"workflowId": "w", "metadata": 3}), "/metadata"),
        (json!({"workflowId": "w", "metadata": {"probity.requestDigest": "x"}}), "/metadata"),
    ] {
        assert_eq!(paths(CreateRun::parse(&body)), path, "{body}");
    }
    let callback = CreateRun::parse(&json!({"workflowId": "w", "callbackUrl": "https://a.b"}));
    assert_eq!(callback.unwrap_err().reason, Reason::CapabilityRequired);
}

#[test]
fn a_fork_is_a_replay_or_a_branch() {
    let fork = |body: Value| ForkRun::parse(&body);
    assert!(fork(json!({"mode": "replay"})).unwrap().is_replay);
    let branch =
        fork(json!({"mode": "branch", "fromSeq": 3, "runOptionsOverlay": {"inputs": {"a": 1}}}))
            .unwrap();
    assert_eq!((branch.is_replay, branch.from_sequence), (false, Some(3)));
    assert_eq!(branch.inputs["a"], 1);
    assert!(fork(json!({"mode": "replay", "runOptionsOverlay": {}})).is_ok());
    for wrong in [
        json!({}),
        json!({"mode": "copy"}),
        json!({"mode": "replay", "fromSeq": -1}),
        json!({"mode": "replay", "runOptionsOverlay": {"inputs": {"a": 1}}}),
        json!({"mode": "branch", "runOptionsOverlay": {"budget": 1}}),
        json!({"mode": "branch", "unknown": 1}),
    ] {
        assert_eq!(fork(wrong.clone()).unwrap_err().reason, Reason::Validation, "{wrong}");
    }
}

#[test]
fn an_answer_is_an_object_with_its_value_alone() {
    assert_eq!(Resume::parse(&json!({"resumeValue": "accept"})).unwrap().value, "accept");
    for wrong in [json!({}), json!({"resumeValue": null}), json!({"resumeValue": 1, "a": 1})] {
        assert!(Resume::parse(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn no_body_is_as_good_as_an_empty_one_where_nothing_is_needed() {
    assert_eq!(StopRun::parse(None).unwrap(), StopRun::parse(Some(&json!({}))).unwrap());
    assert_eq!(PauseRun::parse(None).unwrap(), PauseRun::parse(Some(&json!({}))).unwrap());
    assert!(StopRun::parse(Some(&json!("no"))).is_err());
    for wrong in [json!({}), json!({"runIds": []}), json!({"runIds": vec!["a"; 101]})] {
        assert!(BulkCancel::parse(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_shape_is_a_schema() {
    let shapes = schema("Error");
    for name in shapes["$defs"].as_object().unwrap().keys() {
        assert!(jsonschema::validator_for(&schema(name)).is_ok(), "{name}");
    }
}
