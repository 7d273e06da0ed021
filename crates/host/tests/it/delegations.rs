//! Delegations are submitted, followed, listed, stopped.

use std::collections::BTreeMap;

use probity_core::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{BLIND, CANARY, DEFAULT, Desk, OTHER, SUBMITTER, place, request};
use crate::face::{Face, done, holds};

const PATH: &str = "/api/v1/delegations";

#[tokio::test]
async fn a_delegation_is_submitted_driven_and_told_to_its_seal() {
    let desk = Desk::new().await;
    let run = desk.submit(request(Outcome::Exhausted)).await;
    let told = desk.to_seal(&run).await;
    let page = desk.get(&place(&run, "/events")).await.json;
    holds("DelegationEvents", &page);
    assert_eq!(page["isComplete"], true);
    let events = page["events"].as_array().unwrap();
    let data: Vec<Value> = told
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(&data, events);
    assert_eq!(events.last().unwrap()["type"], "run.sealed");
    // Each record continues the one before, so that a reader can check it.
    for pair in events.windows(2) {
        assert_eq!(pair[1]["prev"], pair[0]["hash"]);
    }
    let behind = desk.ask(crate::desk::ALL, Method::GET, &place(&run, "/events"));
    let behind = behind.header("last-event-id", "2").send().await.unwrap().text().await.unwrap();
    let ids: Vec<&str> = behind.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!((ids[0], ids.len()), ("3", events.len() - 3));
    // Behind the end nothing is told, and nobody is kept: neither at the seal nor far beyond it.
    for last in [events.len() - 1, events.len() + 100] {
        let beyond = desk.ask(crate::desk::ALL, Method::GET, &place(&run, "/events"));
        let beyond = beyond.header("last-event-id", last.to_string()).send().await.unwrap();
        assert!(!beyond.text().await.unwrap().contains("data:"), "{last}");
    }
    let rest = desk.get(&place(&run, "/events?from=3")).await.json;
    assert_eq!(rest["events"].as_array().unwrap(), &events[3..]);
}

#[tokio::test]
async fn a_request_is_submitted_once_under_its_key() {
    let desk = Desk::new().await;
    let ask = |body: Value| {
        desk.ask(crate::desk::ALL, Method::POST, PATH)
            .header("idempotency-key", "k1")
            .body(body.to_string())
    };
    let first = done(ask(request(Outcome::Verified))).await;
    assert_eq!(first.status, 201, "{}", first.json);
    let again = done(ask(request(Outcome::Verified))).await;
    assert_eq!((again.status, &again.json), (201, &first.json));
    assert_eq!(again.headers["openwop-idempotent-replay"], "true");
    let other = done(ask(request(Outcome::Exhausted))).await;
    other.is_failure(409, "idempotency_key_mismatch");
    // A host that remembers nothing finds the run by its name.
    let fresh = Desk::on(std::sync::Arc::clone(&desk.store)).await;
    let ask = |body: Value| {
        fresh
            .ask(crate::desk::ALL, Method::POST, PATH)
            .header("idempotency-key", "k1")
            .body(body.to_string())
    };
    let third = done(ask(request(Outcome::Verified))).await;
    assert_eq!((third.status, &third.json["runId"]), (201, &first.json["runId"]));
    assert_eq!(third.headers["openwop-idempotent-replay"], "true");
    done(ask(request(Outcome::Exhausted))).await.is_failure(409, "idempotency_key_mismatch");
}

#[tokio::test]
async fn what_cannot_be_submitted_is_said() {
    let desk = Desk::new().await;
    let theirs = desk.post_as(OTHER, PATH, &request(Outcome::Verified)).await.text("runId");
    for (body, status, word) in [
        (json!({}), 400, "validation_error"),
        (json!({"task": "x", "id": "mine"}), 400, "validation_error"),
        (json!({"task": "x", "job": "verify", "mock": "pass"}), 400, "validation_error"),
        (json!({"task": "x", "check": "unheard-of"}), 400, "validation_error"),
        (json!({"task": "x", "parent_id": theirs}), 404, "not_found"),
        (json!([]), 400, "validation_error"),
    ] {
        desk.post(PATH, &body).await.is_failure(status, word);
    }
    let body = request(Outcome::Verified);
    desk.post(&format!("{PATH}?pool=no%20pool"), &body).await.is_failure(400, "validation_error");
    desk.post(&format!("{PATH}?afterMs=-1"), &body).await.is_failure(400, "validation_error");
    desk.post_as(BLIND, PATH, &body).await.is_failure(403, "forbidden");
    let pooled = desk.post(&format!("{PATH}?pool=far"), &body).await;
    assert_eq!((pooled.status, pooled.json["pool"].as_str()), (201, Some("far")));
    let submitted = desk.post_as(SUBMITTER, PATH, &body).await;
    assert_eq!(submitted.status, 201);
    let unread = desk.get_as(SUBMITTER, &place(&submitted.text("runId"), "")).await;
    unread.is_failure(403, "forbidden");
}

#[tokio::test]
async fn another_tenants_delegation_is_not_there() {
    let desk = Desk::new().await;
    let run = desk.ended(Outcome::Exhausted).await;
    let waiver = json!({"by": "eve", "reason": "mine now"});
    for key in [OTHER, DEFAULT] {
        for rest in ["", "/events", "/verdict", "/may-merge", "/bundle"] {
            desk.get_as(key, &place(&run, rest)).await.is_failure(404, "not_found");
        }
        for (rest, body) in [
            ("/waive", waiver.clone()),
            ("/cancel", json!({})),
            ("/steer", json!({"text": "stop"})),
        ] {
            desk.post_as(key, &place(&run, rest), &body).await.is_failure(404, "not_found");
        }
        let listed = desk.get_as(key, PATH).await.json;
        assert_eq!(listed["delegations"], json!([]));
        assert_eq!(desk.get_as(key, "/api/v1/outcomes").await.json["groups"], json!([]));
    }
    for rest in ["", "/events", "/verdict", "/may-merge"] {
        desk.get(&place("nobody", rest)).await.is_failure(404, "not_found");
    }
}

#[tokio::test]
async fn runs_are_listed_and_counted_by_delegate() {
    let desk = Desk::new().await;
    let mut runs = Vec::new();
    for outcome in [Outcome::Verified, Outcome::Exhausted, Outcome::Exhausted, Outcome::Faulted] {
        runs.push(desk.ended(outcome).await);
    }
    runs.reverse();
    let mut listed = Vec::new();
    let mut next = String::new();
    for _ in 0..10 {
        let page = desk.get(&format!("{PATH}?limit=3{next}")).await.json;
        holds("DelegationList", &page);
        let names = page["delegations"].as_array().unwrap();
        listed.extend(names.iter().map(|run| run["runId"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        next = format!("&cursor={cursor}");
    }
    assert_eq!(listed, runs);
    let count = async |query: &str| {
        let page = desk.get(&format!("{PATH}?{query}")).await.json;
        page["delegations"].as_array().unwrap().len()
    };
    assert_eq!(count("outcome=exhausted").await, 2);
    assert_eq!(count("delegate=honest").await, 1);
    assert_eq!(count("outcome=open").await, 0);
    assert_eq!(count("since=99999999999999").await, 0);
    assert_eq!(count("since=1").await, 4);
    desk.get(&format!("{PATH}?outcome=great")).await.is_failure(400, "validation_error");
    let counts = desk.get("/api/v1/outcomes?by=delegate").await.json;
    holds("OutcomeCounts", &counts);
    let groups: BTreeMap<&str, &Value> = counts["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["delegate"].as_str().unwrap(), &group["outcomes"]))
        .collect();
    let expected = [
        ("honest", json!({"verified": 1})),
        ("liar", json!({"exhausted": 2})),
        ("unknown", json!({"faulted": 1})),
    ];
    assert_eq!(groups, expected.iter().map(|(name, counts)| (*name, counts)).collect());
    desk.get("/api/v1/outcomes?by=day").await.is_failure(400, "validation_error");
}

#[tokio::test]
async fn a_run_is_steered_and_stopped_while_it_goes_on() {
    let desk = Desk::new().await;
    let run = desk.submit(request(Outcome::Cancelled)).await;
    desk.to_event(&run, "delegate.dispatched").await;
    let steered = desk.post(&place(&run, "/steer"), &json!({"text": CANARY})).await;
    assert_eq!(steered.status, 202, "{}", steered.json);
    desk.to_event(&run, "run.steered").await;
    let stopped = desk.post(&place(&run, "/cancel"), &json!({})).await;
    assert_eq!((stopped.status, &stopped.json["isNew"]), (202, &json!(true)));
    assert!(desk.to_seal(&run).await.contains("run.sealed"));
    let again = desk.post(&place(&run, "/cancel"), &json!({})).await;
    assert_eq!((again.status, &again.json["isNew"]), (202, &json!(false)));
    let late = desk.post(&place(&run, "/steer"), &json!({"text": "go on"})).await;
    late.is_failure(409, "run_terminal");
}

#[tokio::test]
async fn a_host_without_delegations_serves_and_documents_none() {
    let face = Face::new().await;
    face.get(PATH).await.is_failure(404, "not_found");
    let text = face.get("/v1/openapi.json").await.json["paths"].to_string();
    assert!(!text.contains("/api/v1/"));
    let desk = Desk::new().await;
    let document = desk.get("/v1/openapi.json").await.json;
    for path in [
        PATH.to_owned(),
        format!("{PATH}/{{runId}}/may-merge"),
        format!("{PATH}/{{runId}}/waive"),
        "/api/v1/outcomes".to_owned(),
    ] {
        assert!(document["paths"].get(&path).is_some(), "{path}");
    }
    for refer in document.to_string().split("\"$ref\":\"#").skip(1) {
        let pointer = refer.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}
