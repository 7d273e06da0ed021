//! Runs that come from runs: forks, parents, what two of them differ in.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_conductor::Fork;
use probity_core::RunId;
use probity_workflow::{Entry, Origin, Snapshot};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::always;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::ids::uuid_v7;
use crate::question::Question;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::tenant;
use crate::wire::v1::{ForkRun, render, status_word};

/// Events of each run that are compared.
const MAX_EVENTS: usize = 5_000;
/// Differences that are told.
const MAX_DIFFS: usize = 200;
/// Events that are read at a time.
const PAGE: usize = 500;

pub(super) const FORK: Route = Route {
    name: "forkRun",
    method: Method::POST,
    paths: &["/v1/runs/{runId}:fork", "/v1/runs/{runId}/fork"],
    access: Access::Key(Scope::RunsCreate),
    summary: "Begins a run with what happened in another one, to its end or up to a place.",
    takes: Some("ForkRun"),
    gives: &[(201, Some("RunForked"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(fork(call)),
};

pub(super) const ANCESTRY: Route = Route {
    name: "getRunAncestry",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/ancestry"],
    access: Access::Key(Scope::RunsRead),
    summary: "Which run began this one.",
    takes: None,
    gives: &[(200, Some("Ancestry"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(ancestry(call)),
};

pub(super) const DIFF: Route = Route {
    name: "diffRuns",
    method: Method::GET,
    paths: &["/v1/runs/{runId}:diff", "/v1/runs/{runId}/diff"],
    access: Access::Key(Scope::RunsRead),
    summary: "What two runs differ in.",
    takes: None,
    gives: &[(200, Some("Diff"))],
    query: &[Question::text("against", "the other run").required()],
    is_served: always,
    handler: |call| Box::pin(diff(call)),
};

async fn fork(call: Call) -> Result<Response, Failure> {
    let wanted = ForkRun::parse(&call.json()?)?;
    let source = call.run()?;
    let tenant = &call.caller()?.tenant;
    let run = tenant::run_id(tenant, uuid_v7(&*call.host.ids, call.host.now_ms()));
    let fork = Fork {
        from_sequence: wanted.from_sequence,
        is_replay: wanted.is_replay,
        inputs: wanted.inputs,
        terms: Some(call.host.config.terms),
    };
    let begun = call.host.runs.fork(&source, &run, fork).await?;
    let mut body = json!({
        "runId": run.as_str(),
        "sourceRunId": source.as_str(),
        "mode": if wanted.is_replay { "replay" } else { "branch" },
        "status": status_word(begun.snapshot.status),
        "eventsUrl": format!("/v1/runs/{run}/events"),
    });
    if let (Some(from), Some(members)) = (wanted.from_sequence, body.as_object_mut()) {
        members.insert("fromSeq".to_owned(), from.into());
    }
    Ok(answer(StatusCode::CREATED, &body))
}

async fn ancestry(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let snapshot = standing(&call, &run).await?;
    let host_id = &call.host.config.host_id;
    let parent = match &snapshot.origin {
        Some(Origin::Child { parent, is_dispatch, .. }) => json!({
            "runId": parent.as_str(),
            "hostId": host_id,
            "cause": if *is_dispatch { "core.dispatch" } else { "core.subWorkflow" },
        }),
        Some(Origin::Fork { .. }) | None => Value::Null,
    };
    let body = json!({"runId": run.as_str(), "hostId": host_id, "parent": parent});
    Ok(answer(StatusCode::OK, &body))
}

async fn diff(call: Call) -> Result<Response, Failure> {
    let a = call.run()?;
    let against = call.query.get("against").unwrap_or_default();
    if against.is_empty() {
        return Err(Failure::invalid("?against", "must name the other run"));
    }
    let b = call.own(against)?;
    let (a_state, b_state) = (standing(&call, &a).await?, standing(&call, &b).await?);
    let (a_events, a_cut) = events(&call, &a).await?;
    let (b_events, b_cut) = events(&call, &b).await?;
    let mut diffs = Vec::new();
    let mut diverged: Option<u64> = None;
    let mut count = 0;
    for place in 0..a_events.len().max(b_events.len()) {
        let (left, right) = (a_events.get(place), b_events.get(place));
        let op = match (left, right) {
            (Some(left), Some(right)) if told(&a, left) == told(&b, right) => continue,
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
            _ => "added",
        };
        let seq = u64::try_from(place).unwrap_or(u64::MAX);
        diverged = diverged.or(Some(seq));
        count += 1;
        if diffs.len() < MAX_DIFFS {
            let mut diff = Map::new();
            diff.insert("seq".to_owned(), seq.into());
            diff.insert("op".to_owned(), op.into());
            let mut put = |name: &str, run: &RunId, entry: Option<&Arc<Entry>>| {
                if let Some(entry) = entry {
                    diff.insert(name.to_owned(), render(run, entry));
                }
            };
            put("aEvent", &a, left);
            put("bEvent", &b, right);
            diffs.push(Value::Object(diff));
        }
    }
    let body = json!({
        "a": a.as_str(),
        "b": b.as_str(),
        "divergedAtSeq": diverged,
        "eventDiffs": diffs,
        "stateDiff": state_diff(&a_state.variables, &b_state.variables),
        "truncated": a_cut || b_cut || count > MAX_DIFFS,
    });
    Ok(answer(StatusCode::OK, &body))
}

async fn standing(call: &Call, run: &RunId) -> Result<Snapshot, Failure> {
    let snapshot = call.host.runs.snapshot(run).await?;
    snapshot.ok_or_else(|| Failure::missing("run", run.as_str()))
}

async fn events(call: &Call, run: &RunId) -> Result<(Vec<Arc<Entry>>, bool), Failure> {
    let mut events: Vec<Arc<Entry>> = Vec::new();
    while events.len() < MAX_EVENTS {
        let from = events.last().map_or(0, |entry| entry.sequence + 1);
        let page = call.host.runs.entries(run, from, PAGE).await?;
        let page = page.ok_or_else(|| Failure::missing("run", run.as_str()))?;
        if page.entries.is_empty() {
            return Ok((events, false));
        }
        events.extend(page.entries);
    }
    Ok((events, true))
}

/// What an event says, apart from when, and from the names that every run has of its own.
fn told(run: &RunId, entry: &Entry) -> Value {
    let mut event = render(run, entry);
    if let Some(members) = event.as_object_mut() {
        for name in ["eventId", "runId", "timestamp", "causationId"] {
            members.remove(name);
        }
    }
    without_names(run, &mut event);
    event
}

fn without_names(run: &RunId, value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with(run.as_str()) => {
            text.replace_range(..run.as_str().len(), "");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_names(run, item)),
        Value::Object(members) => {
            for name in ["childRunId", "target", "interruptId", "parentRunId"] {
                members.remove(name);
            }
            members.values_mut().for_each(|member| without_names(run, member));
        }
        _ => {}
    }
}

fn state_diff(a: &Map<String, Value>, b: &Map<String, Value>) -> Value {
    let mut diff = Map::new();
    for name in a.keys().chain(b.keys()) {
        if a.get(name) != b.get(name) && !diff.contains_key(name) {
            let mut sides = Map::new();
            let mut put = |side: &str, value: Option<&Value>| {
                if let Some(value) = value {
                    sides.insert(side.to_owned(), value.clone());
                }
            };
            put("a", a.get(name));
            put("b", b.get(name));
            diff.insert(name.clone(), Value::Object(sides));
        }
    }
    json!({"variables": diff})
}
