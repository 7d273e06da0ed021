//! What is checked is in no verdict, no span, no list, and nothing that the host says of itself.

use serde_json::{Value, json};

use crate::served::Served;

/// One for each place in which content stands.
const CLAIM: &str = "canary-of-the-claim-1f0c";
const REASON: &str = "canary-of-the-reason-2e1d";
const EVIDENCE: &str = "canary-of-the-evidence-3d2e";
const CRITERION: &str = "canary-of-the-criterion-4c3f";
const NOTE: &str = "canary-of-the-note-5b4a";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_checked_is_told() {
    let served = Served::start(None).await;
    for verdict in ["pass", "fail"] {
        let (workflow, child) =
            (format!("conformance-canary-{verdict}"), "conformance-canary-child");
        served.post("/v1/workflows", &worker(child)).await;
        served.post("/v1/workflows", &supervised(&workflow, child, verdict)).await;
        let body = json!({"inputs": {"task": CLAIM}, "metadata": {"note": NOTE}});
        let run = served.ended(&workflow, body).await;
        let log = served.get(&format!("/v1/runs/{run}/events")).await;
        let events = log["events"].as_array().unwrap();
        let verdicts: Vec<&Value> =
            events.iter().filter(|event| event["type"] == "agent.verified").collect();
        assert_eq!(verdicts.len(), 1, "{log}");
        assert_eq!(verdicts[0]["payload"]["verdict"], *verdict);
        nothing_in("the verdict", &verdicts[0].to_string());
        // The content was there to be leaked: the child left it, and the run ended with the reason.
        let target = verdicts[0]["payload"]["target"].as_str().unwrap().to_owned();
        let left = served.get(&format!("/v1/runs/{target}")).await;
        assert_eq!(left["variables"]["payload"], CLAIM);
        assert_eq!(left["variables"]["proof"], EVIDENCE);
        for path in [
            format!("/v1/host/sample/test/otel/spans?runId={run}"),
            format!("/v1/host/sample/test/otel/spans?runId={target}"),
            "/v1/runs?limit=100".to_owned(),
            "/.well-known/openwop".to_owned(),
            "/v1/openapi.json".to_owned(),
            format!("/v1/runs/{run}/ancestry"),
            format!("/v1/runs/{target}/ancestry"),
        ] {
            let text = served.text(&path).await;
            assert!(text.len() > 20 && !text.contains("\"error\":\""), "{path}: {text}");
            nothing_in(&path, &text);
        }
    }
}

fn nothing_in(what: &str, text: &str) {
    for canary in [CLAIM, REASON, EVIDENCE, CRITERION, NOTE] {
        assert!(!text.contains(canary), "{canary} in {what}: {text}");
    }
}

/// A child that leaves what it is given, and something beside it.
fn worker(id: &str) -> Value {
    let nodes = json!([node("noop", "core.noop", json!({}))]);
    let variables = json!([
        {"name": "payload", "type": "string", "defaultValue": "none"},
        {"name": "proof", "type": "string", "defaultValue": EVIDENCE},
    ]);
    workflow(id, nodes, json!([]), variables, json!({}))
}

fn supervised(id: &str, child: &str, verdict: &str) -> Value {
    let plan = json!([
        {"kind": "next-worker", "nextWorkerIds": [child]},
        {"kind": "terminate", "reason": REASON, "successCriteria": [{"key": "done", "met": true}]},
    ]);
    let nodes = json!([
        node("supervisor", "core.orchestrator.supervisor", json!({"mockDispatchPlan": plan})),
        node(
            "dispatch",
            "core.dispatch",
            json!({
                "inputMapping": {"payload": "task"}, "outputMapping": {"result": "payload"},
            })
        ),
    ]);
    let edges = json!([
        {"id": "there", "sourceNodeId": "supervisor", "targetNodeId": "dispatch"},
        {"id": "back", "sourceNodeId": "dispatch", "targetNodeId": "supervisor"},
    ]);
    let verifier = json!({
        "agentId": "conformance.critic", "mockVerdicts": [verdict], "onFail": "give-up",
        "checks": [{"verifier": "text", "with": {"pattern": CRITERION}}],
    });
    let variables = json!([{"name": "task", "type": "string", "defaultValue": "none"}]);
    let metadata = json!({"probity": {"verifiers": {"dispatch": verifier}}});
    workflow(id, nodes, edges, variables, metadata)
}

fn node(id: &str, type_id: &str, config: Value) -> Value {
    let position = json!({"x": 0, "y": 0});
    json!({"id": id, "typeId": type_id, "name": id, "position": position, "config": config, "inputs": {}})
}

fn workflow(id: &str, nodes: Value, edges: Value, variables: Value, metadata: Value) -> Value {
    json!({
        "id": id, "name": id, "version": "1.0.0", "nodes": nodes, "edges": edges, "triggers": [],
        "variables": variables, "metadata": metadata, "settings": {},
    })
}
