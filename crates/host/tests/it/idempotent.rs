//! The same request twice is one request.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use crate::face::{Answer, Face, KEY, OTHER, config, done};

async fn create(face: &Face, key: &str, body: &Value) -> Answer {
    let request = face.ask(Method::POST, "/v1/runs").header("idempotency-key", key);
    done(request.body(body.to_string())).await
}

#[tokio::test]
async fn the_same_key_and_body_begin_one_run_even_on_another_host() {
    let face = Face::new().await;
    let body = json!({"workflowId": "conformance-idempotent", "inputs": {"nonce": "n"}});
    let first = create(&face, "k", &body).await;
    assert_eq!(first.status, 201, "{}", first.json);
    assert!(!first.headers.contains_key("openwop-idempotent-replay"));
    let spelled = "{ \"inputs\": {\"nonce\": \"n\"}, \"workflowId\": \"conformance-idempotent\" }";
    let request = face.ask(Method::POST, "/v1/runs").header("idempotency-key", "k").body(spelled);
    let second = done(request).await;
    assert_eq!((second.status, &second.json), (201, &first.json));
    assert_eq!(second.headers["openwop-idempotent-replay"], "true");
    let restarted = Face::on(config(), Arc::clone(&face.store)).await;
    let third = create(&restarted, "k", &body).await;
    assert_eq!((third.status, &third.json), (201, &first.json));
    assert_eq!(third.headers["openwop-idempotent-replay"], "true");
}

#[tokio::test]
async fn another_body_under_a_key_is_refused_and_another_tenant_has_keys_of_its_own() {
    let face = Face::new().await;
    let first = create(&face, "k", &json!({"workflowId": "conformance-noop"})).await;
    let other = json!({"workflowId": "conformance-noop", "tags": ["x"]});
    let answer = create(&face, "k", &other).await;
    answer.is_failure(409, "idempotency_key_mismatch");
    assert!(answer.json.get("runId").is_none());
    let request = face.bare(Method::POST, "/v1/runs").bearer_auth(OTHER);
    let theirs = done(request.header("idempotency-key", "k").body(other.to_string())).await;
    assert_eq!(theirs.status, 201);
    assert_ne!(theirs.json["runId"], first.json["runId"]);
}

#[tokio::test]
async fn one_tenants_requests_let_go_of_no_other_tenants_answers() {
    let face = Face::new().await;
    let mut definition = face.get("/v1/workflows/conformance-noop").await.json;
    definition["id"] = json!("mine");
    let register = |bearer: &str, key: String| {
        let request = face.bare(Method::POST, "/v1/workflows").bearer_auth(bearer);
        done(request.header("idempotency-key", key).body(definition.to_string()))
    };
    let first = register(KEY, "k".to_owned()).await;
    assert_eq!(first.status, 201, "{}", first.json);
    let cancel = |n: usize| {
        let path = "/v1/runs:bulk-cancel";
        let request = face.bare(Method::POST, path).bearer_auth(OTHER);
        let request = request.header("idempotency-key", format!("k{n}"));
        done(request.body(r#"{"runIds": ["nobody"]}"#))
    };
    for n in 0..4_200 {
        assert_eq!(cancel(n).await.status, 200);
    }
    assert!(!cancel(0).await.headers.contains_key("openwop-idempotent-replay"), "its own, it does");
    let again = register(KEY, "k".to_owned()).await;
    assert_eq!(again.headers["openwop-idempotent-replay"], "true");
}

#[tokio::test]
async fn ten_identical_creates_at_once_begin_one_run() {
    let face = Arc::new(Face::new().await);
    let mut asked = tokio::task::JoinSet::new();
    for n in 0..20 {
        let face = Arc::clone(&face);
        asked.spawn(async move {
            let key = format!("k{}", n % 2);
            (n % 2, create(&face, &key, &json!({"workflowId": "conformance-noop"})).await)
        });
    }
    let mut runs: [Vec<String>; 2] = Default::default();
    while let Some(answer) = asked.join_next().await {
        let (key, answer) = answer.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.json);
        runs[key].push(answer.text("runId"));
    }
    for runs in &mut runs {
        runs.dedup();
        assert_eq!(runs.len(), 1, "{runs:?}");
    }
    assert_ne!(runs[0], runs[1]);
}

#[tokio::test]
async fn an_invalid_request_leaves_its_key_free() {
    let face = Face::new().await;
    create(&face, "k", &json!({})).await.is_failure(400, "validation_error");
    create(&face, "k", &json!({"workflowId": "nobody"})).await.is_failure(404, "not_found");
    let answer = create(&face, "k", &json!({"workflowId": "conformance-noop"})).await;
    assert_eq!(answer.status, 201);
    let long = "k".repeat(256);
    create(&face, &long, &json!({"workflowId": "conformance-noop"}))
        .await
        .is_failure(400, "validation_error");
}

#[tokio::test]
async fn other_posts_are_answered_once_as_well() {
    let face = Face::new().await;
    let run = face.begin("conformance-noop").await;
    face.to_end(&run).await;
    let fork = |body: Value| {
        let request = face.ask(Method::POST, &format!("/v1/runs/{run}:fork"));
        done(request.header("idempotency-key", "f").body(body.to_string()))
    };
    let first = fork(json!({"mode": "replay"})).await;
    assert_eq!(first.status, 201, "{}", first.json);
    let second = fork(json!({"mode": "replay"})).await;
    assert_eq!((second.status, &second.json), (201, &first.json));
    assert_eq!(second.headers["openwop-idempotent-replay"], "true");
    fork(json!({"mode": "branch"})).await.is_failure(409, "idempotency_key_mismatch");
}

/// Asks for a run of a scope that shall be the only one.
async fn scoped(face: &Face, key: &str, scope: &str) -> Answer {
    let body = json!({"workflowId": "conformance-approval", "scopeId": scope}).to_string();
    let ask = face.bare(Method::POST, "/v1/runs").bearer_auth(key).body(body);
    done(ask.header("x-dedup", "enforce")).await
}

#[tokio::test]
async fn a_scope_has_one_run_at_a_time_where_the_caller_asks_for_that() {
    let face = Face::new().await;
    let other = Face::on(config(), Arc::clone(&face.store)).await;
    let (one, two, three) = tokio::join!(
        scoped(&face, KEY, "desk"),
        scoped(&other, KEY, "desk"),
        scoped(&face, KEY, "desk")
    );
    let answers = [one, two, three];
    let begun: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(begun.len(), 1);
    let run = begun[0].text("runId");
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        refused.is_failure(409, "run_already_active");
        assert_eq!(refused.json["details"]["activeRunId"], run.as_str());
        assert_eq!(refused.json["details"]["activeHost"], "probity.local");
        assert_eq!(refused.headers["retry-after"], "5");
    }
    // Another scope, another tenant, and whoever does not ask.
    assert_eq!(scoped(&face, KEY, "table").await.status, 201);
    assert_eq!(scoped(&face, OTHER, "desk").await.status, 201);
    let free = json!({"workflowId": "conformance-noop", "scopeId": "desk"});
    assert_eq!(face.post("/v1/runs", &free).await.status, 201);
    face.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await;
    face.to_end(&run).await;
    assert_eq!(scoped(&other, KEY, "desk").await.status, 201);
    scoped(&face, KEY, "desk").await.is_failure(409, "run_already_active");
    let ask = |word: &str, body: Value| {
        let ask = face.ask(Method::POST, "/v1/runs").header("x-dedup", word);
        done(ask.body(body.to_string()))
    };
    // A run that cannot begin has no scope.
    let broken = json!({"workflowId": "conformance-noop", "scopeId": "bed",
        "inputs": (0..2_000).map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>()});
    ask("enforce", broken).await.is_failure(400, "validation_error");
    assert_eq!(scoped(&face, KEY, "bed").await.status, 201);
    let unscoped = json!({"workflowId": "conformance-noop"});
    ask("enforce", unscoped.clone()).await.is_failure(400, "validation_error");
    ask("perhaps", unscoped).await.is_failure(400, "validation_error");
}

#[tokio::test]
async fn the_same_request_again_is_no_second_run_of_its_scope() {
    let face = Face::new().await;
    let body = json!({"workflowId": "conformance-approval", "scopeId": "desk"}).to_string();
    let ask = || {
        let ask = face.ask(Method::POST, "/v1/runs").body(body.clone());
        done(ask.header("x-dedup", "enforce").header("idempotency-key", "once"))
    };
    let first = ask().await;
    assert_eq!(first.status, 201, "{}", first.json);
    let again = ask().await;
    assert_eq!((again.status, &again.json["runId"]), (201, &first.json["runId"]));
}
