//! Runs are stopped, paused, resumed.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_conductor::ConductError;
use probity_core::RunId;
use probity_workflow::{Input, Refusal, Snapshot};
use serde_json::{Value, json};

use super::always;
use crate::call::{Call, answer};
use crate::error::{Failure, Reason};
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::{BulkCancel, PauseRun, StopRun, rfc3339, status_word};

pub(super) const CANCEL: Route = Route {
    name: "cancelRun",
    method: Method::POST,
    paths: &["/v1/runs/{runId}/cancel", "/v1/runs/{runId}:cancel"],
    access: Access::Key(Scope::RunsCancel),
    summary: "Stops a run. One that has ended stays as it is.",
    takes: Some("StopRun"),
    gives: &[(200, Some("RunStopped"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(cancel(call)),
};

pub(super) const BULK_CANCEL: Route = Route {
    name: "bulkCancelRuns",
    method: Method::POST,
    paths: &["/v1/runs:bulk-cancel", "/v1/runs/bulk-cancel"],
    access: Access::Key(Scope::RunsCancel),
    summary: "Stops up to a hundred runs.",
    takes: Some("BulkCancel"),
    gives: &[(200, Some("BulkCancelled"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(bulk_cancel(call)),
};

pub(super) const PAUSE: Route = Route {
    name: "pauseRun",
    method: Method::POST,
    paths: &["/v1/runs/{runId}:pause", "/v1/runs/{runId}/pause"],
    access: Access::Key(Scope::RunsCancel),
    summary: "Has a run begin nothing new.",
    takes: Some("PauseRun"),
    gives: &[(202, Some("RunPaused"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(pause(call)),
};

pub(super) const RESUME: Route = Route {
    name: "resumeRun",
    method: Method::POST,
    paths: &["/v1/runs/{runId}:resume", "/v1/runs/{runId}/resume"],
    access: Access::Key(Scope::RunsCancel),
    summary: "Has a paused run go on.",
    takes: Some("PauseRun"),
    gives: &[(202, Some("RunPaused"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(resume(call)),
};

async fn cancel(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let stop = StopRun::parse(call.maybe_json()?.as_ref())?;
    let snapshot = stopped(&call, &run, stop.reason).await?;
    let body = json!({"runId": run.as_str(), "status": status_word(snapshot.status)});
    Ok(answer(StatusCode::OK, &body))
}

async fn bulk_cancel(call: Call) -> Result<Response, Failure> {
    let wanted = BulkCancel::parse(&call.json()?)?;
    let mut results: Vec<Value> = Vec::with_capacity(wanted.runs.len());
    for text in &wanted.runs {
        let done = match call.own(text) {
            Ok(run) => stopped(&call, &run, wanted.reason.clone()).await,
            Err(failure) => Err(failure),
        };
        results.push(match done {
            Ok(snapshot) => {
                json!({"runId": text, "ok": true, "status": status_word(snapshot.status)})
            }
            Err(failure) => json!({"runId": text, "ok": false, "error": failure.to_json()}),
        });
    }
    Ok(answer(StatusCode::OK, &json!({"results": results})))
}

/// Stops a run, or leaves it as it ended.
async fn stopped(call: &Call, run: &RunId, reason: Option<String>) -> Result<Snapshot, Failure> {
    let by = Some(call.caller()?.principal.clone());
    match call.host.runs.tell(run, Input::Cancel { reason, by, parent: None }).await {
        Ok(snapshot) => Ok(snapshot),
        Err(ConductError::Refused(Refusal::Ended)) => {
            let snapshot = call.host.runs.snapshot(run).await?;
            snapshot.ok_or_else(|| Failure::missing("run", run.as_str()))
        }
        Err(error) => Err(error.into()),
    }
}

async fn pause(call: Call) -> Result<Response, Failure> {
    let PauseRun { reason, drain_policy } = PauseRun::parse(call.maybe_json()?.as_ref())?;
    told(&call, Input::Pause { reason, drain_policy }, "pausedAt").await
}

async fn resume(call: Call) -> Result<Response, Failure> {
    let PauseRun { reason, .. } = PauseRun::parse(call.maybe_json()?.as_ref())?;
    told(&call, Input::Resume { reason }, "resumedAt").await
}

async fn told(call: &Call, input: Input, when: &str) -> Result<Response, Failure> {
    let run = call.run()?;
    match call.host.runs.tell(&run, input).await {
        Ok(snapshot) => {
            let mut body = json!({"runId": run.as_str(), "status": status_word(snapshot.status)});
            if let Some(members) = body.as_object_mut() {
                members.insert(when.to_owned(), rfc3339(snapshot.changed_ms).into());
            }
            Ok(answer(StatusCode::ACCEPTED, &body))
        }
        Err(error) => {
            let failure = Failure::from(error);
            let is_about_status = matches!(
                failure.reason,
                Reason::RunTerminal | Reason::RunPaused | Reason::RunNotPaused
            );
            match call.host.runs.snapshot(&run).await? {
                Some(snapshot) if is_about_status => {
                    Err(failure.detail("runStatus", status_word(snapshot.status)))
                }
                _ => Err(failure),
            }
        }
    }
}
