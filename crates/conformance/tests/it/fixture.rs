//! The fixtures and the schemas, by themselves.

use std::collections::BTreeSet;

use probity_conformance::{Schema, fixtures};
use serde_json::Value;

#[test]
fn every_fixture_is_a_definition_of_its_name() {
    let schema: Value = serde_json::from_str(Schema::Workflow.text()).unwrap();
    let dispatch: Value = serde_json::from_str(Schema::DispatchConfig.text()).unwrap();
    let decision: Value = serde_json::from_str(Schema::OrchestratorDecision.text()).unwrap();
    for (id, text) in fixtures() {
        let definition: Value = serde_json::from_str(text).unwrap();
        assert_eq!(definition["id"], *id);
        assert!(jsonschema::is_valid(&schema, &definition), "{id}");
        for node in definition["nodes"].as_array().unwrap() {
            let config = &node["config"];
            if node["typeId"] == "core.dispatch" {
                assert!(jsonschema::is_valid(&dispatch, config), "{id}");
            }
            for plan in ["mockDispatchPlan", "mockDecisions"] {
                for planned in config[plan].as_array().into_iter().flatten() {
                    assert!(jsonschema::is_valid(&decision, planned), "{id}: {planned}");
                }
            }
        }
    }
}

#[test]
fn every_worker_of_a_fixture_is_a_fixture() {
    let ids: BTreeSet<&str> = fixtures().iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.len(), fixtures().len());
    for (id, text) in fixtures() {
        let definition: Value = serde_json::from_str(text).unwrap();
        for node in definition["nodes"].as_array().unwrap() {
            let config = &node["config"];
            let plans = ["mockDispatchPlan", "mockDecisions"]
                .into_iter()
                .filter_map(|plan| config[plan].as_array());
            let workers = plans
                .flatten()
                .filter_map(|decision| decision["nextWorkerIds"].as_array())
                .flatten();
            for worker in workers.chain(config.get("workflowId")) {
                assert!(ids.contains(worker.as_str().unwrap()), "{id}: {worker}");
            }
        }
    }
}

#[test]
fn every_schema_compiles_and_refuses_something() {
    for schema in Schema::ALL {
        let document: Value = serde_json::from_str(schema.text()).unwrap();
        let validator = jsonschema::validator_for(&document).unwrap();
        assert!(!validator.is_valid(&serde_json::json!("no document")), "{}", schema.name());
    }
    let payloads: Value = serde_json::from_str(Schema::payloads()).unwrap();
    assert!(payloads["$defs"].as_object().unwrap().len() > 30);
}
