//! What is a definition, and what is said of what is not.

use probity_workflow::{Definition, DefinitionError, OnFail, Start};
use serde_json::{Value, json};

use crate::rig::{checked_team, definition, end, next, node, start, team};

fn problems(json: &Value) -> Vec<String> {
    match Definition::parse(json).expect_err("something is wrong") {
        DefinitionError::Invalid { problems } => {
            problems.into_iter().map(|problem| problem.path).collect()
        }
        other => panic!("{other}"),
    }
}

fn noop() -> Value {
    definition("w", json!([node("a", "core.noop", json!({}))]), &[])
}

/// A definition with one thing changed.
fn changed(mut json: Value, path: &str, value: Value) -> Value {
    let (parent, key) = path.rsplit_once('/').unwrap();
    let parent = json.pointer_mut(parent).unwrap();
    match key.parse::<usize>() {
        Ok(at) => parent[at] = value,
        Err(_) => parent[key] = value,
    }
    json
}

#[test]
fn a_definition_is_kept_as_it_came() {
    let text =
        br#"{"zeta": 1.0, "id": "w", "name": "W", "nodes": [{"typeId": "core.noop", "id": "a",
        "extra": {"b": 1e21, "a": null}}], "unknown": [true], "settings": {"timeout": 5}}"#;
    let definition = Definition::from_slice(text).unwrap();
    let original: Value = serde_json::from_slice(text).unwrap();
    assert_eq!(definition.as_json(), &original);
    assert_eq!(
        serde_json::to_string(&definition).unwrap(),
        serde_json::to_string(&original).unwrap()
    );
    let begun = start(&original, json!({}));
    let text = serde_json::to_string(&begun).unwrap();
    assert_eq!(serde_json::from_str::<Start>(&text).unwrap(), begun);
    assert_eq!((definition.id(), definition.nodes()[0].type_id.as_str()), ("w", "core.noop"));
}

#[test]
fn an_unknown_kind_of_node_names_itself() {
    let refused = Definition::parse(&changed(noop(), "/nodes/0/typeId", json!("core.magic")));
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "capability_required");
    let DefinitionError::CapabilityRequired { type_id, node } = refused else {
        panic!("{refused}")
    };
    assert_eq!((type_id.as_str(), node.as_str()), ("core.magic", "a"));
}

#[test]
fn every_problem_is_listed_with_its_place() {
    let broken = json!({
        "nodes": [
            {"id": "a", "typeId": "core.noop"},
            {"id": "a", "typeId": "core.clarificationGate", "config": {}},
            {"typeId": "core.subWorkflow", "config": {}},
        ],
        "edges": [{"sourceNodeId": "a", "targetNodeId": "nobody"}],
        "variables": [{"type": "string"}],
    });
    assert_eq!(
        problems(&broken),
        [
            "/id",
            "/nodes/1/config/questions",
            "/nodes/1/id",
            "/nodes/2/id",
            "/nodes/2/config/workflowId",
            "/variables/0/name",
            "/edges/0",
        ]
    );
}

#[test]
fn what_is_no_definition_is_refused() {
    for none in [json!(null), json!([]), json!({}), json!({"id": "w", "nodes": []})] {
        assert_eq!(Definition::parse(&none).unwrap_err().code(), "validation_error", "{none}");
    }
    let mut deep = json!(1);
    for _ in 0..64 {
        deep = json!([deep]);
    }
    assert!(Definition::parse(&changed(noop(), "/settings", deep)).is_err());
    assert!(matches!(Definition::from_slice(b"{"), Err(DefinitionError::NotJson { .. })));
    let nodes: Vec<Value> =
        (0..1_001).map(|n| node(&format!("n{n}"), "core.noop", json!({}))).collect();
    assert_eq!(problems(&definition("w", json!(nodes), &[]))[0], "/nodes");
    let edges = vec![("a", "a"); 10_001];
    assert_eq!(
        problems(&definition("w", json!([node("a", "core.noop", json!({}))]), &edges)),
        ["/edges"]
    );
}

#[test]
fn only_a_dispatch_leads_back() {
    let nodes = json!([node("a", "core.noop", json!({})), node("b", "core.noop", json!({}))]);
    assert_eq!(problems(&definition("w", nodes.clone(), &[("a", "b"), ("b", "a")])), ["/edges"]);
    assert_eq!(problems(&definition("w", nodes, &[("a", "a")])), ["/edges"]);
    assert!(Definition::parse(&team(json!([next(&["w"]), end()]))).is_ok());
}

#[test]
fn a_dispatch_stands_behind_one_supervisor_and_nothing_behind_it() {
    let lone = definition("w", json!([node("d", "core.dispatch", json!({}))]), &[]);
    assert_eq!(problems(&lone), ["/nodes/0"]);
    let lone = node("boss", "core.orchestrator.supervisor", json!({"plan": [next(&["w"])]}));
    assert_eq!(problems(&definition("w", json!([lone]), &[])), ["/nodes/0"]);
    let mut tail = team(json!([end()]));
    tail["nodes"].as_array_mut().unwrap().push(node("after", "core.noop", json!({})));
    for from in ["boss", "desk"] {
        let mut tail = tail.clone();
        let edge = json!({"sourceNodeId": from, "targetNodeId": "after"});
        tail["edges"].as_array_mut().unwrap().push(edge);
        assert_eq!(problems(&tail), ["/edges"], "it would never run");
    }
}

#[test]
fn closed_objects_are_closed() {
    let plan = "/nodes/0/config/plan/0";
    let team = team(json!([next(&["w"]), end()]));
    for (path, value) in [
        (plan, json!({"kind": "clarify", "prompt": "?"})),
        (plan, json!({"kind": "next-worker", "nextWorkerIds": []})),
        (plan, json!({"kind": "next-worker", "nextWorkerIds": [""]})),
        (plan, json!({"kind": "next-worker", "nextWorkerIds": ["w"], "confidence": 1.1})),
        (plan, json!({"kind": "next-worker", "nextWorkerIds": ["w"], "extra": 1})),
        (plan, json!({"kind": "ask-user", "prompt": ""})),
        (plan, json!({"kind": "terminate", "reason": ""})),
        (plan, json!({"kind": "terminate", "successCriteria": [{"key": "k"}]})),
        (plan, json!({"kind": "terminate", "successCriteria": [{"key": "", "met": true}]})),
        ("/nodes/1/config", json!({"unknown": 1})),
        ("/nodes/1/config", json!({"fanOutPolicy": "parallel"})),
        ("/nodes/1/config", json!({"askUserRouting": "conversation"})),
        ("/nodes/1/config", json!({"iterationCap": 0})),
        ("/nodes/1/config", json!({"inputMapping": {"a": 1}})),
        ("/nodes/0/agent", json!({"agentId": "ab"})),
    ] {
        let found = problems(&changed(team.clone(), path, value.clone()));
        assert_eq!(found.len(), 1, "{value}");
        assert!(found[0].starts_with(path.get(..15).unwrap_or(path)), "{found:?} {path}");
    }
}

#[test]
fn a_verifier_has_an_agent_checks_and_a_node_with_children() {
    let team = checked_team(json!([next(&["w"]), end()]), "again");
    let parsed = Definition::parse(&team).unwrap();
    let spec = parsed.verifier("desk").unwrap();
    assert_eq!((spec.on_fail, spec.timeout_ms), (OnFail::Again, 5_000));
    assert!(parsed.verifier("boss").is_none());
    let place = "/metadata/probity/verifiers/desk";
    for (key, value) in [
        ("agentId", json!("ab")),
        ("checks", json!([])),
        ("onFail", json!("shrug")),
        ("timeoutMs", json!(0)),
        ("timeoutMs", json!(3_600_001)),
        ("mockVerdicts", json!(["pass"])),
        ("unknown", json!(1)),
    ] {
        let broken = changed(team.clone(), &format!("{place}/{key}"), value);
        assert_eq!(problems(&broken), [place], "{key}");
    }
    let elsewhere = json!({"boss": team.pointer(place)});
    let broken = changed(team.clone(), "/metadata/probity/verifiers", elsewhere);
    assert_eq!(problems(&broken), ["/metadata/probity/verifiers/boss"]);
    let mut stated = changed(team, &format!("{place}/mockVerdicts"), json!(["pass", "hang"]));
    stated["id"] = json!("conformance-verifier");
    assert!(Definition::parse(&stated).is_ok());
}

#[test]
fn gates_can_be_opened() {
    let gate = |config| definition("w", json!([node("gate", "core.approvalGate", config)]), &[]);
    for config in [
        json!({"actions": ["approve"]}),
        json!({"requiredApprovals": 0}),
        json!({"requiredApprovals": 3, "approversList": ["ada", "bob"]}),
        json!({"rejectionPolicy": "shrug"}),
    ] {
        assert_eq!(problems(&gate(config.clone())).len(), 1, "{config}");
    }
}
