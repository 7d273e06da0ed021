//! Doors for the conformance suite. Each goes the way that every run goes; nothing is answered from a
//! table. Not served unless the host is told to.

mod agent_loop;
mod attest;
mod build;
mod drive;
mod mock_ai;
mod spans;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_core::RunId;
use probity_workflow::{Bounds, Entry, Event, Phase, Status};
use serde_json::{Value, json};

use crate::cache_key::cache_key;
use crate::call::{Call, answer};
use crate::config::HostConfig;
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::{event_type, render};

use drive::Driven;

pub(super) use agent_loop::LOOP;
pub(super) use attest::ATTEST;
pub(super) use mock_ai::MOCK_AI;
pub(super) use spans::SPANS;

pub(super) const VERIFY_RUN: Route = Route {
    name: "seamVerifyRun",
    method: Method::POST,
    paths: &["/v1/host/sample/agents/verify-run"],
    access: Access::Key(Scope::RunsCreate),
    summary: "Runs a worker whose result a critic passes, fails or sends back.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: has_verifier_seam,
    handler: |call| Box::pin(verify_run(call)),
};

pub(super) const CACHE_KEY: Route = Route {
    name: "seamCacheKey",
    method: Method::POST,
    paths: &["/v1/host/sample/test/llm-cache-key"],
    access: Access::Key(Scope::RunsCreate),
    summary: "The name of a call to a model.",
    takes: Some("ModelCall"),
    gives: &[(200, None)],
    query: &[],
    is_served: has_seams,
    handler: |call| Box::pin(name_call(call)),
};

/// Turns of a worker whose result is sent back over and over.
const MAX_TURNS: u64 = 3;

const fn has_seams(config: &HostConfig) -> bool {
    config.has_conformance_seams
}

const fn has_verifier_seam(config: &HostConfig) -> bool {
    config.has_conformance_seams && config.has_verifiers
}

async fn verify_run(call: Call) -> Result<Response, Failure> {
    let body = call.maybe_json()?.unwrap_or_default();
    let verdict = match body.get("simulateVerdict").and_then(Value::as_str) {
        Some("fail") => "fail",
        Some("revise") => "revise",
        _ => "pass",
    };
    // The worker is handed the task and leaves it: what is checked is the caller's own.
    let workflow = match verdict {
        "revise" => "conformance-verifier-revise-forever",
        "fail" => "conformance-verifier-fail",
        _ => "conformance-verifier-pass",
    };
    let task = body.get("task").filter(|task| task.is_string());
    let inputs = task.map(|task| ("task".to_owned(), task.clone())).into_iter().collect();
    let bounds = Bounds { max_loop_iterations: MAX_TURNS, ..call.host.config.ceilings };
    let definition = call
        .host
        .runs
        .definition(workflow)
        .ok_or_else(|| Failure::missing("workflow", workflow))?;
    let driven = Driven::begin(&call, (*definition).clone(), inputs, bounds).await?;
    let (status, entries) = driven.settled(&call, 0).await?;
    let is_taken_over = entries
        .iter()
        .any(|entry| matches!(&entry.event, Event::Handoff { phase: Phase::Harvested, .. }));
    let is_committed = is_taken_over && status == Status::Completed;
    let verified = entries.iter().filter(|entry| matches!(entry.event, Event::AgentVerified(_)));
    let events: Vec<Value> = verified.map(|entry| flat(&driven.run, entry)).collect();
    let told = events.first().and_then(|event| event.get("verdict")).cloned();
    let body = json!({
        "status": if is_committed { "completed" } else { "escalated" },
        "committed": is_committed,
        "outcome": if is_committed { "committed" } else { "withheld" },
        "verdict": told,
        "events": events,
    });
    Ok(answer(StatusCode::OK, &body))
}

async fn name_call(call: Call) -> Result<Response, Failure> {
    let Some(name) = cache_key(&call.json()?) else {
        let body = json!({
            "error": "invalid_argument",
            "message": "a call has `provider`, `model` and `messages`",
        });
        return Ok(answer(StatusCode::BAD_REQUEST, &body));
    };
    Ok(answer(StatusCode::OK, &json!({"cacheKey": name})))
}

/// An event without its envelope, as the seam gives it.
fn flat(run: &RunId, entry: &Entry) -> Value {
    let mut event = json!({"type": event_type(&entry.event)});
    let payload = render(run, entry).get("payload").and_then(Value::as_object).cloned();
    if let Some(members) = event.as_object_mut() {
        members.extend(payload.unwrap_or_default());
    }
    event
}
