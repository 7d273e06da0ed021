//! A delegation is stopped, or its delegate is told something.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::json;

use super::delegating;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::StopRun;
use crate::wire::verdict;

pub(super) const CANCEL: Route = Route {
    name: "cancelDelegation",
    method: Method::POST,
    paths: &["/api/v1/delegations/{runId}/cancel"],
    access: Access::Key(Scope::RunsCancel),
    summary: "Asks a delegation to stop. One that has ended stays as it is.",
    takes: Some("StopRun"),
    gives: &[(202, Some("DelegationTold"))],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(cancel(call)),
};

pub(super) const STEER: Route = Route {
    name: "steerDelegation",
    method: Method::POST,
    paths: &["/api/v1/delegations/{runId}/steer"],
    access: Access::Key(Scope::RunsCancel),
    summary: "Says something to the delegate in the midst of its work.",
    takes: Some("Steer"),
    gives: &[(202, Some("DelegationTold"))],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(steer(call)),
};

async fn cancel(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let reason = StopRun::parse(call.maybe_json()?.as_ref())?.reason.unwrap_or_default();
    let delegated = call.delegated()?;
    let by = &call.caller()?.principal;
    require(&call, &run).await?;
    let is_new = delegated.cancel(&run, by, &reason).await?;
    let body = json!({"runId": run.as_str(), "isNew": is_new});
    Ok(answer(StatusCode::ACCEPTED, &body))
}

async fn steer(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let text = verdict::steer_text(&call.json()?)?;
    require(&call, &run).await?;
    call.delegated()?.steer(&run, &call.caller()?.principal, &text).await?;
    Ok(answer(StatusCode::ACCEPTED, &json!({"runId": run.as_str(), "isNew": true})))
}

/// There is such a run, and it is a delegation.
async fn require(call: &Call, run: &probity_core::RunId) -> Result<(), Failure> {
    let first = call.delegated()?.records(run, 0, 1).await?;
    first.map(drop).ok_or_else(|| Failure::missing("delegation", run.as_str()))
}
