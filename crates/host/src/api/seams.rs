//! Doors for the conformance suite. Each goes the way that every run goes; nothing is answered from a
//! table. Not served unless the host is told to.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_core::RunId;
use probity_workflow::{Entry, Event, Owner, Phase, Start, Status};
use serde_json::{Value, json};

use crate::cache_key::cache_key;
use crate::call::{Call, answer, millis};
use crate::config::HostConfig;
use crate::error::{Failure, Reason};
use crate::ids::uuid_v7;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::tenant;
use crate::wire::v1::{CreateRun, event_type, render};

/// How long a run of a seam may take, in milliseconds.
const SEAM_MS: u64 = 15_000;
/// Events of a run that a seam looks at.
const MAX_EVENTS: usize = 1_000;

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
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: |config| config.has_conformance_seams,
    handler: |call| Box::pin(name_call(call)),
};

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
    let workflow = format!("conformance-probity-verified-{verdict}");
    let wanted = CreateRun::parse(&json!({"workflowId": workflow}))?;
    let (status, entries, run) = ran(&call, wanted).await?;
    let is_taken_over = entries
        .iter()
        .any(|entry| matches!(&entry.event, Event::Handoff { phase: Phase::Harvested, .. }));
    let is_committed = is_taken_over && status == Status::Completed;
    let verified = entries.iter().filter(|entry| matches!(entry.event, Event::AgentVerified(_)));
    let events: Vec<Value> = verified.map(|entry| flat(&run, entry)).collect();
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

/// Runs a definition until it ends or waits for somebody.
async fn ran(call: &Call, wanted: CreateRun) -> Result<(Status, Vec<Arc<Entry>>, RunId), Failure> {
    let runs = &call.host.runs;
    let caller = call.caller()?;
    let run = tenant::run_id(&caller.tenant, uuid_v7(&*call.host.ids, call.host.now_ms()));
    let definition = runs
        .definition(&wanted.workflow)
        .ok_or_else(|| Failure::missing("workflow", &wanted.workflow))?;
    let start = Start {
        definition: (*definition).clone(),
        inputs: wanted.inputs,
        owner: Owner {
            tenant: caller.tenant.clone(),
            workspace: None,
            principal: Some(caller.principal.clone()),
        },
        origin: None,
        tags: Vec::new(),
        metadata: wanted.metadata,
        bounds: wanted.requested.within(call.host.config.ceilings),
        terms: call.host.config.terms,
    };
    runs.begin(&run, start).await?;
    let settled = tokio::time::timeout(millis(SEAM_MS), settled(call, &run)).await;
    settled.map_err(|_| Failure::new(Reason::Unavailable, "the run did not settle in time"))??;
    let snapshot = runs.snapshot(&run).await?;
    let snapshot = snapshot.ok_or_else(|| Failure::missing("run", run.as_str()))?;
    let page = runs.entries(&run, 0, MAX_EVENTS).await?;
    Ok((snapshot.status, page.map(|page| page.entries).unwrap_or_default(), run))
}

/// Waits until a run has ended or somebody is asked.
async fn settled(call: &Call, run: &RunId) -> Result<(), Failure> {
    let Some(mut follow) = call.host.runs.follow(run, 0).await? else { return Ok(()) };
    while let Some(entry) = follow.next().await? {
        if entry.event.is_terminal() || matches!(entry.event, Event::InterruptRequested(_)) {
            return Ok(());
        }
    }
    Ok(())
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
