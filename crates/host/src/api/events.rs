//! Events are read: all there are, those that come, as a stream.

use std::sync::Arc;

use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use probity_core::RunId;
use serde_json::{Value, json};

use super::always;
use crate::call::{Call, answer, millis};
use crate::error::{Failure, Reason};
use crate::question::Question;
use crate::route::{Access, Route, STREAM};
use crate::scope::Scope;
use crate::stream::{Modes, Told, response};
use crate::wire::v1::{render, status_word};

/// Events that one answer holds.
const MAX_EVENTS: usize = 10_000;
/// Events that are read at a time.
const PAGE: usize = 500;
/// How long events of a stream may be gathered, in milliseconds.
const MAX_BUFFER_MS: u64 = 5_000;

pub(super) const READ: Route = Route {
    name: "getRunEvents",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/events"],
    access: Access::Key(Scope::RunsRead),
    summary: "The events of a run: as a stream (SSE), or with `Accept: application/json` those there are.",
    takes: None,
    gives: &[(200, Some("EventPage")), (200, Some(STREAM))],
    query: &[
        Question::like(
            "streamMode",
            "^(values|(updates|messages|debug)(,(updates|messages|debug))*)$",
            "`updates` without it; `values` goes with no other",
        ),
        Question::whole(
            "bufferMs",
            0,
            MAX_BUFFER_MS,
            "gathers events into frames of the type `batch`",
        ),
    ],
    is_served: always,
    handler: |call| Box::pin(read(call)),
};

pub(super) const POLL: Route = Route {
    name: "pollRunEvents",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/events/poll"],
    access: Access::Key(Scope::RunsRead),
    summary: "The events of a run behind one of them. Without any it waits for the next one.",
    takes: None,
    gives: &[(200, Some("EventPage"))],
    query: &[
        Question::like(
            "lastSequence",
            "^(-1|0|[1-9][0-9]{0,18})$",
            "the last event that is known; all are told without it",
        ),
        Question::whole("timeout", 1, 60, "how long to wait, in seconds; not at all without it"),
    ],
    is_served: always,
    handler: |call| Box::pin(poll(call)),
};

async fn read(call: Call) -> Result<Response, Failure> {
    let modes = Modes::parse(call.query.get("streamMode"))?;
    let buffer_ms = call.query.whole("bufferMs", 0, MAX_BUFFER_MS)?.unwrap_or(0);
    let run = call.run()?;
    let accept = call.header(header::ACCEPT.as_str()).unwrap_or_default();
    if accept.contains("application/json") && !accept.contains("text/event-stream") {
        return page(&call, &run, 0).await;
    }
    let place = Arc::clone(&call.host.streams)
        .try_acquire_owned()
        .map_err(|_| Failure::new(Reason::RateLimited, "too many streams at a time"))?;
    let from = call.header("last-event-id").and_then(|text| text.trim().parse::<u64>().ok());
    let from = from.map_or(0, |last| last.saturating_add(1));
    let reader = call.host.feeds.read(&call.host.runs, &run, from).await?;
    let reader = reader.ok_or_else(|| Failure::missing("run", run.as_str()))?;
    Ok(response(Told { host: Arc::clone(&call.host), run, reader, modes, buffer_ms, place }))
}

async fn poll(call: Call) -> Result<Response, Failure> {
    let timeout_s = call.query.whole("timeout", 1, 60)?;
    let from = match call.query.get("lastSequence") {
        // What stands before the first one, as some write it.
        Some("-1") => 0,
        _ => {
            call.query.whole("lastSequence", 0, u64::MAX)?.map_or(0, |last| last.saturating_add(1))
        }
    };
    let run = call.run()?;
    if let Some(timeout_s) = timeout_s {
        wait(&call, &run, from, timeout_s).await?;
    }
    page(&call, &run, from).await
}

/// Waits for an event from that place on, or for the end of the run.
async fn wait(call: &Call, run: &RunId, from: u64, timeout_s: u64) -> Result<(), Failure> {
    let Some(mut follow) = call.host.runs.follow(run, from).await? else { return Ok(()) };
    let stop = call.host.stop.clone();
    tokio::select! {
        biased;
        next = follow.next() => next.map(drop)?,
        () = stop.cancelled() => {}
        () = tokio::time::sleep(millis(timeout_s.saturating_mul(1_000))) => {}
    }
    Ok(())
}

/// The events there are from a place on.
async fn page(call: &Call, run: &RunId, from: u64) -> Result<Response, Failure> {
    let mut events: Vec<Value> = Vec::new();
    let mut is_complete = false;
    let mut at = from;
    while !is_complete && events.len() < MAX_EVENTS {
        let page = call.host.runs.entries(run, at, PAGE).await?;
        let page = page.ok_or_else(|| Failure::missing("run", run.as_str()))?;
        is_complete = page.is_complete;
        let Some(last) = page.entries.last() else { break };
        at = last.sequence + 1;
        events.extend(page.entries.iter().map(|entry| render(run, entry)));
    }
    let snapshot = call.host.runs.snapshot(run).await?;
    let mut body = json!({"runId": run.as_str(), "events": events, "isComplete": is_complete});
    if let (Some(snapshot), Some(members)) = (snapshot, body.as_object_mut()) {
        members.insert("status".to_owned(), status_word(snapshot.status).into());
    }
    Ok(answer(StatusCode::OK, &body))
}
