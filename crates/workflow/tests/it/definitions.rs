//! What is a definition, and what is said of what is not.

use probity_workflow::{Definition, DefinitionError, Effect, OnFail, Start};
use serde_json::{Value, json};

use crate::rig::{Rig, checked_team, definition, end, next, node, start, team};

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

#[test]
fn names_have_their_length() {
    for (id, is_legal) in [("", false), (&"x".repeat(128), true), (&"x".repeat(129), false)] {
        let found = Definition::parse(&changed(noop(), "/nodes/0/id", json!(id)));
        assert_eq!(found.is_ok(), is_legal, "{} characters", id.len());
    }
}

#[test]
fn mappings_have_names_and_a_bound() {
    let mapped = |count: usize| -> Value {
        let map: serde_json::Map<String, Value> =
            (0..count).map(|n| (format!("to{n}"), json!("from"))).collect();
        json!({"inputMapping": map})
    };
    let team = team(json!([next(&["w"]), end()]));
    let found =
        |config: Value| Definition::parse(&changed(team.clone(), "/nodes/1/config", config));
    assert!(found(mapped(1_000)).is_ok());
    for broken in [
        mapped(1_001),
        json!({"inputMapping": {"": "from"}}),
        json!({"inputMapping": {"to": ""}}),
        json!({"outputMapping": {"to": "", "other": "from"}}),
    ] {
        assert!(found(broken.clone()).is_err(), "{broken}");
    }
}

#[test]
fn lists_of_a_gate_have_their_bounds() {
    let names = |count: usize| -> Vec<String> { (0..count).map(|n| format!("a{n}")).collect() };
    let gate = |config| {
        let json = definition("w", json!([node("gate", "core.approvalGate", config)]), &[]);
        Definition::parse(&json).is_ok()
    };
    for (count, is_legal) in [(100, true), (101, false), (150, false)] {
        assert_eq!(gate(json!({"approversList": names(count)})), is_legal, "{count} approvers");
    }
    for (required, is_legal) in [(2, true), (3, false)] {
        let config = json!({"requiredApprovals": required, "approversList": ["ada", "bob"]});
        assert_eq!(gate(config), is_legal, "{required} of two");
    }
}

#[test]
fn a_question_has_a_name_of_its_own_and_a_text() {
    let asked = |questions: Value| {
        let config = json!({"questions": questions});
        problems(&definition("w", json!([node("q", "core.clarificationGate", config)]), &[]))
    };
    for second in [
        json!({"id": "two"}),
        json!({"id": "two", "question": ""}),
        json!({"question": "Why?"}),
        json!({"id": "", "question": "Why?"}),
        json!({"id": "one", "question": "Why?"}),
    ] {
        let found = asked(json!([{"id": "one", "question": "What?"}, second]));
        assert_eq!(found, ["/nodes/0/config/questions/1"], "{second}");
    }
}

#[test]
fn what_a_delegation_leaves_has_a_name() {
    let config = json!({"request": {"task": "t"}, "outputVariable": ""});
    let json = definition("w", json!([node("d", "probity.delegation", config)]), &[]);
    assert_eq!(problems(&json), ["/nodes/0/config/outputVariable"]);
    let named = changed(json, "/nodes/0/config/outputVariable", json!("v"));
    assert!(Definition::parse(&named).is_ok());
    for (agent, is_legal) in [("ab", false), ("abc", true), (&*"x".repeat(257), false)] {
        let found =
            Definition::parse(&changed(named.clone(), "/nodes/0/config/agentId", json!(agent)));
        assert_eq!(found.is_ok(), is_legal, "{agent}");
    }
}

/// A model that says what it was told to is for definitions that say so.
#[test]
fn a_mocked_model_is_for_conformance() {
    let config = json!({"prompt": "p", "outputVariable": "answer"});
    let json = definition("w", json!([node("m", "core.ai.structuredOutput", config.clone())]), &[]);
    assert_eq!(Definition::parse(&json).unwrap_err().code(), "capability_required");
    let mut rig = Rig::new(&changed(json, "/id", json!("conformance-model")));
    let Some(Effect::Delegate { request, .. }) = rig.effects().pop() else { panic!("no work") };
    assert_eq!(request["call"], config);
    let calls = |count: usize| {
        let calls = vec![json!({"toolId": "echo"}); count];
        let agent = node("a", "core.conformance.mock-agent", json!({"mockToolCalls": calls}));
        Definition::parse(&definition("conformance-agent", json!([agent]), &[])).is_ok()
    };
    assert_eq!([calls(100), calls(101), calls(150)], [true, false, false]);
}

#[test]
fn no_more_than_twenty_problems_are_listed_and_a_graph_comes_after_its_nodes() {
    let nodes: Vec<Value> = (0..30).map(|_| json!({"typeId": "core.noop"})).collect();
    assert_eq!(problems(&definition("w", json!(nodes), &[])).len(), 20);
    let nodes =
        json!([node("a", "core.noop", json!({})), node("b", "core.clarificationGate", json!({}))]);
    let looped = definition("w", nodes, &[("a", "b"), ("b", "a")]);
    assert_eq!(problems(&looped), ["/nodes/1/config/questions"]);
}

#[test]
fn a_verifier_has_its_bounds_and_a_minute() {
    let place = "/metadata/probity/verifiers/desk";
    let team = checked_team(json!([next(&["w"]), end()]), "again");
    let checks = |count: usize| {
        let checks = vec![json!({"file": "x"}); count];
        Definition::parse(&changed(team.clone(), &format!("{place}/checks"), json!(checks))).is_ok()
    };
    assert_eq!([checks(100), checks(101), checks(150)], [true, false, false]);
    let mut usual = team.clone();
    usual.pointer_mut(place).unwrap().as_object_mut().unwrap().remove("timeoutMs");
    assert_eq!(Definition::parse(&usual).unwrap().verifier("desk").unwrap().timeout_ms, 60_000);
    let criteria = |count: usize| {
        let criteria: Vec<Value> =
            (0..count).map(|n| json!({"key": format!("k{n}"), "met": true})).collect();
        let end = json!({"kind": "terminate", "successCriteria": criteria});
        Definition::parse(&changed(team.clone(), "/nodes/0/config/plan/1", end)).is_ok()
    };
    assert_eq!([criteria(100), criteria(101), criteria(150)], [true, false, false]);
}
