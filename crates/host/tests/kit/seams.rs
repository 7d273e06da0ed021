//! The doors of the suites: shut unless somebody opens them, and no short cut where they are open.

use reqwest::Method;
use serde_json::json;

use crate::served::Served;

/// Every door there is.
const DOORS: [(Method, &str); 6] = [
    (Method::POST, "/v1/host/sample/agents/verify-run"),
    (Method::POST, "/v1/host/sample/agentloop/run"),
    (Method::POST, "/v1/host/sample/subrun/attest"),
    (Method::POST, "/v1/host/sample/test/llm-cache-key"),
    (Method::POST, "/v1/host/sample/test/mock-ai/program"),
    (Method::GET, "/v1/host/sample/test/otel/spans?runId=x"),
];

#[tokio::test(flavor = "multi_thread")]
async fn without_the_operators_word_no_door_is_there() {
    let (shut, open) = (Served::without_seams().await, Served::start(None).await);
    for (method, path) in DOORS {
        let (status, answer) = shut.told(method.clone(), path, "{}").await;
        assert_eq!((status, &answer["error"]), (404, &json!("not_found")), "{path}");
        let (status, answer) = open.told(method, path, "{}").await;
        let is_door = answer["message"].as_str().is_none_or(|why| !why.contains("no path"));
        assert!(status != 404 || is_door && path.contains("runId"), "{path}: {status} {answer}");
    }
    let said = shut.get("/.well-known/openwop").await;
    for family in ["fixtures", "conformance", "observability"] {
        assert!(said.get(family).is_none(), "{said}");
    }
    let documented = shut.text("/v1/openapi.json").await;
    assert!(!documented.contains("/host/sample/"), "a door in the description of routes");
    let (status, _) = shut.told(Method::GET, "/v1/workflows/conformance-noop", "").await;
    assert_eq!(status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_was_told_nothing_lets_nothing_through() {
    let served = Served::start(None).await;
    let run = served.ended("conformance-phase4-replay-divergence", json!({})).await;
    let snapshot = served.get(&format!("/v1/runs/{run}")).await;
    assert_eq!(snapshot["status"], "failed");
    assert!(snapshot["variables"].get("said").is_none_or(serde_json::Value::is_null), "{snapshot}");
    // What is not named as a fixture has no such model at all.
    let shut = Served::without_seams().await;
    let mut definition = served.get("/v1/workflows/conformance-phase4-replay-divergence").await;
    definition["id"] = json!("somebodys-own");
    let (status, answer) = shut.told(Method::POST, "/v1/workflows", &definition.to_string()).await;
    assert_eq!((status, &answer["error"]), (422, &json!("capability_required")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_answers_from_a_run_that_can_be_read() {
    let served = Served::start(None).await;
    let body = json!({"simulateVerdict": "fail", "task": "a task of this test"});
    let told = served.post("/v1/host/sample/agents/verify-run", &body).await;
    let target = told["events"][0]["target"].as_str().unwrap();
    let checked = served.get(&format!("/v1/runs/{target}")).await;
    assert_eq!(checked["variables"]["payload"], "a task of this test", "{checked}");
    let parent = checked["parentRunId"].as_str().unwrap();
    let log = served.get(&format!("/v1/runs/{parent}/events")).await;
    let verdict = |event: &&serde_json::Value| event["type"] == "agent.verified";
    let verdict = log["events"].as_array().unwrap().iter().find(verdict).unwrap();
    assert_eq!(verdict["payload"]["target"], target);
    assert_eq!(verdict["payload"]["verdict"], told["verdict"]);
}

/// No clock tells whether a comparison ends early; the source does: every known key is looked at, by an
/// operation that does not branch on what it compares.
#[test]
fn keys_are_compared_without_an_early_end() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/keys.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let begin = source.find("ct_eq(&digest)").expect("a comparison in constant time");
    let around = &source[source[..begin].rfind("fn ").unwrap()..begin];
    assert!(around.contains("conditional_assign") && around.contains("for "), "{around}");
    for early in ["return", "break", ".find(", ".any(", ".position("] {
        assert!(!around.contains(early), "{early} in {around}");
    }
}
