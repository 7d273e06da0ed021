//! The log of a delegation, the content that it names, and both as one file.

use std::sync::Arc;

use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::artifacts::file;
use super::delegating;
use crate::call::{Call, answer};
use crate::error::{Failure, Reason};
use crate::question::Question;
use crate::route::{Access, Route, STREAM};
use crate::scope::Scope;
use crate::stream::{LogTold, log_response};
use crate::wire::verdict;

/// Records that one answer holds.
const MAX_RECORDS: usize = 10_000;
/// Records that are read at a time.
const PAGE: usize = 500;

pub(super) const READ: Route = Route {
    name: "getDelegationEvents",
    method: Method::GET,
    paths: &["/api/v1/delegations/{runId}/events"],
    access: Access::Key(Scope::RunsRead),
    summary: "The log of a delegation: as a stream (SSE), or with `Accept: application/json` as it is.",
    takes: None,
    gives: &[(200, Some("DelegationEvents")), (200, Some(STREAM))],
    query: &[Question::whole(
        "from",
        0,
        u64::MAX,
        "the first record that is told, of an answer of JSON",
    )],
    is_served: delegating,
    handler: |call| Box::pin(read(call)),
};

pub(super) const EVIDENCE: Route = Route {
    name: "getEvidence",
    method: Method::GET,
    paths: &["/api/v1/delegations/{runId}/evidence/{digest}"],
    access: Access::Key(Scope::ContentRead),
    summary: "Content that the log of the delegation names, as it was recorded.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(evidence(call)),
};

pub(super) const BUNDLE: Route = Route {
    name: "getBundle",
    method: Method::GET,
    paths: &["/api/v1/delegations/{runId}/bundle"],
    access: Access::Key(Scope::ContentRead),
    summary: "The proof of a sealed delegation as one file, which `probity audit` checks anywhere.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(bundle(call)),
};

async fn read(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let from = call.query.whole("from", 0, u64::MAX)?;
    let delegated = Arc::clone(call.delegated()?);
    let missing = || Failure::missing("delegation", run.as_str());
    delegated.records(&run, 0, 1).await?.ok_or_else(missing)?;
    let accept = call.header(header::ACCEPT.as_str()).unwrap_or_default();
    if accept.contains("application/json") && !accept.contains("text/event-stream") {
        return page(&call, from.unwrap_or(0)).await;
    }
    let place = Arc::clone(&call.host.streams)
        .try_acquire_owned()
        .map_err(|_| Failure::new(Reason::RateLimited, "too many streams at a time"))?;
    let last = call.header("last-event-id").and_then(|text| text.trim().parse::<u64>().ok());
    let at = last.map_or(from.unwrap_or(0), |last| last.saturating_add(1));
    Ok(log_response(LogTold { host: Arc::clone(&call.host), delegated, run, at, place }))
}

async fn page(call: &Call, from: u64) -> Result<Response, Failure> {
    let run = call.run()?;
    let mut events: Vec<Value> = Vec::new();
    let (mut at, mut is_complete) = (from, false);
    while !is_complete && events.len() < MAX_RECORDS {
        let records = call.delegated()?.records(&run, at, PAGE).await?.unwrap_or_default();
        let Some(last) = records.last() else { break };
        (at, is_complete) = (last.seq + 1, last.seal.is_some());
        events.extend(records.iter().map(verdict::told_record));
    }
    let body = json!({"runId": run.as_str(), "events": events, "isComplete": is_complete});
    Ok(answer(StatusCode::OK, &body))
}

async fn evidence(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let text = call.param("digest");
    let digest = verdict::digest_named("digest", text)?;
    let bytes = call.delegated()?.evidence(&run, digest).await?;
    let bytes = bytes.ok_or_else(|| Failure::missing("evidence", text))?;
    Ok(file(bytes, text))
}

async fn bundle(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let delegated = call.delegated()?;
    let standing = delegated.standing(&run).await?;
    let standing = standing.ok_or_else(|| Failure::missing("delegation", run.as_str()))?;
    if !standing.is_sealed {
        let message = "the run has not ended: there is nothing to prove yet";
        return Err(Failure::new(Reason::RunNotEnded, message));
    }
    Ok(file(delegated.bundle(&run).await?, &format!("{run}.probity")))
}
