//! What runs wait for, and who answers.

use reqwest::Method;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::face::{Face, OTHER, READER, config, done, holds, types};

#[tokio::test]
async fn an_approval_lets_a_run_go_on() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    let snapshot = face.snapshot(&run).await;
    assert_eq!(
        (&snapshot["status"], &snapshot["currentNodeId"]),
        (&json!("waiting-approval"), &json!("gate"))
    );
    let path = format!("/v1/runs/{run}/interrupts/gate");
    for wrong in
        [json!({}), json!({"resumeValue": "perhaps"}), json!({"resumeValue": "accept", "by": "me"})]
    {
        face.post(&path, &wrong).await.is_failure(400, "validation_error");
    }
    let nowhere = format!("/v1/runs/{run}/interrupts/nowhere");
    face.post(&nowhere, &json!({"resumeValue": "accept"})).await.is_failure(404, "not_found");
    let answer = face.post(&path, &json!({"resumeValue": {"action": "accept"}})).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    holds("Resumed", &answer.json);
    let events = face.to_end(&run).await;
    let received = events.iter().find(|event| event["type"] == "approval.received").unwrap();
    assert_eq!(received["payload"]["decidedBy"], "ada");
    let late = face.post(&path, &json!({"resumeValue": "accept"})).await;
    late.is_failure(409, "run_terminal");
    assert_eq!(late.json["details"]["runStatus"], "completed");
}

#[tokio::test]
async fn questions_are_answered_by_name_or_as_a_list() {
    let face = Face::new().await;
    for value in [json!({"q1": "blue"}), json!([{"id": "q1", "answer": "blue"}])] {
        let run = face.begin("conformance-clarification").await;
        face.to_wait(&run).await;
        assert_eq!(face.snapshot(&run).await["status"], "waiting-input");
        let path = format!("/v1/runs/{run}/interrupts/ask");
        let answer = face.post(&path, &json!({"resumeValue": value})).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        let events = face.to_end(&run).await;
        let resolved =
            events.iter().find(|event| event["type"] == "clarification.resolved").unwrap();
        assert_eq!(resolved["payload"]["answers"], json!({"q1": "blue"}));
    }
}

#[tokio::test]
async fn who_answers_a_run_that_was_stopped_meanwhile_is_told_so() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    face.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await;
    face.to_end(&run).await;
    let path = format!("/v1/runs/{run}/interrupts/gate");
    let late = face.post(&path, &json!({"resumeValue": "accept"})).await;
    late.is_failure(422, "run_terminal");
    assert_eq!(late.json["details"]["runStatus"], "cancelled");
}

#[tokio::test]
async fn of_an_answer_and_a_cancellation_at_once_one_is_the_end() {
    let face = Face::new().await;
    for _ in 0..10 {
        let run = face.begin("conformance-approval").await;
        face.to_wait(&run).await;
        let (gate, cancel) =
            (format!("/v1/runs/{run}/interrupts/gate"), format!("/v1/runs/{run}/cancel"));
        let (accept, stop) = (json!({"resumeValue": "accept"}), json!({}));
        let (answered, stopped) =
            tokio::join!(face.post(&gate, &accept), face.post(&cancel, &stop));
        assert_eq!(stopped.status, 200);
        assert!([200, 409, 422].contains(&answered.status), "{}", answered.json);
        let events = face.to_end(&run).await;
        let ends = types(&events)
            .into_iter()
            .filter(|kind| ["run.completed", "run.failed", "run.cancelled"].contains(kind));
        assert_eq!(ends.count(), 1);
    }
}

#[tokio::test]
async fn a_token_answers_one_wait_once_without_a_key() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    let list = face.get(&format!("/v1/runs/{run}/interrupts")).await;
    holds("OpenInterrupts", &list.json);
    let url = list.json["interrupts"][0]["url"].as_str().unwrap().to_owned();
    let shown = done(face.bare(Method::GET, &url)).await;
    assert_eq!(shown.status, 200, "{}", shown.json);
    holds("OpenInterrupt", &shown.json);
    assert!(shown.json.get("token").is_none());
    let forged = format!("{}0", &url[..url.len() - 1]);
    if forged != url {
        done(face.bare(Method::GET, &forged)).await.is_failure(404, "not_found");
    }
    let answer = |body: &str| done(face.bare(Method::POST, &url).body(body.to_owned()));
    answer("{\"resumeValue\": \"perhaps\"}").await.is_failure(400, "validation_error");
    assert_eq!(answer("{\"resumeValue\": \"accept\"}").await.status, 200);
    let events = face.to_end(&run).await;
    let received = events.iter().find(|event| event["type"] == "approval.received").unwrap();
    assert_eq!(received["payload"]["decidedBy"], "token:ada");
    answer("{\"resumeValue\": \"accept\"}").await.is_failure(410, "interrupt_expired");
    done(face.bare(Method::GET, &url)).await.is_failure(410, "interrupt_expired");
}

#[tokio::test]
async fn a_token_runs_out() {
    let mut config = config();
    config.token_ttl_ms = 0;
    let face = Face::with(config).await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    let list = face.get(&format!("/v1/runs/{run}/interrupts")).await;
    let url = list.json["interrupts"][0]["url"].as_str().unwrap().to_owned();
    // The clock of the host has moved on by the time that the run was asked about once more.
    face.get(&format!("/v1/runs/{run}/events/poll?lastSequence=99&timeout=1")).await;
    done(face.bare(Method::GET, &url)).await.is_failure(410, "interrupt_expired");
}

#[tokio::test]
async fn whoever_was_not_asked_may_not_answer() {
    let face = Face::new().await;
    let mut definition = face.get("/v1/workflows/conformance-approval").await.json;
    definition["id"] = json!("asked");
    for node in definition["nodes"].as_array_mut().unwrap() {
        if node["id"] == "gate" {
            node["config"]["approversList"] = json!(["grace"]);
        }
    }
    assert_eq!(face.post("/v1/workflows", &definition).await.status, 201);
    let run = face.begin("asked").await;
    face.to_wait(&run).await;
    let path = format!("/v1/runs/{run}/interrupts/gate");
    face.post(&path, &json!({"resumeValue": "accept"})).await.is_failure(403, "forbidden");
    let list = face.get(&format!("/v1/runs/{run}/interrupts")).await;
    let url = list.json["interrupts"][0]["url"].as_str().unwrap().to_owned();
    let token = done(face.bare(Method::POST, &url).body("{\"resumeValue\": \"accept\"}")).await;
    token.is_failure(403, "forbidden");
    assert_eq!(face.snapshot(&run).await["status"], "waiting-approval");
}

#[tokio::test]
async fn what_is_to_be_let_through_is_read_as_bytes_by_its_name_or_its_digest() {
    let face = Face::new().await;
    let mut definition = face.get("/v1/workflows/conformance-approval").await.json;
    definition["id"] = json!("shown");
    let data = json!({"page": "<script>alert(1)</script>", "n": 1.0});
    for node in definition["nodes"].as_array_mut().unwrap() {
        node["config"]["artifactData"] = data.clone();
    }
    assert_eq!(face.post("/v1/workflows", &definition).await.status, 201);
    let run = face.begin("shown").await;
    face.to_wait(&run).await;
    let list = face.get(&format!("/v1/runs/{run}/artifacts")).await;
    holds("ArtifactList", &list.json);
    let listed = list.json["artifacts"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["artifactType"]), (1, &json!("text")));
    let digest = listed[0]["sha256"].as_str().unwrap();
    for name in [listed[0]["artifactId"].as_str().unwrap(), digest] {
        let path = format!("/v1/runs/{run}/artifacts/{name}");
        let answer = face.ask(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let headers = answer.headers().clone();
        assert_eq!(headers["content-type"], "application/octet-stream");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert!(headers["content-disposition"].to_str().unwrap().starts_with("attachment;"));
        let bytes = answer.bytes().await.unwrap();
        assert_eq!(hex::encode(Sha256::digest(&bytes)), digest);
        assert_eq!(bytes.len(), listed[0]["bytes"]);
        done(face.bare(Method::GET, &path)).await.is_failure(401, "unauthenticated");
        let theirs = face.bare(Method::GET, &path).bearer_auth(OTHER);
        done(theirs).await.is_failure(404, "not_found");
        let reader = face.bare(Method::GET, &path).bearer_auth(READER);
        done(reader).await.is_failure(403, "forbidden");
    }
    for name in ["nothing".to_owned(), "0".repeat(64)] {
        let path = format!("/v1/runs/{run}/artifacts/{name}");
        face.get(&path).await.is_failure(404, "not_found");
    }
    let bare = face.begin("conformance-noop").await;
    let none = face.get(&format!("/v1/runs/{bare}/artifacts")).await;
    assert_eq!(none.json, json!({"artifacts": []}));
}
