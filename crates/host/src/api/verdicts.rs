//! What a delegation came to, whether it may be merged, and who answers for it in spite of its outcome.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_core::Outcome;
use serde_json::{Value, json};

use super::delegating;
use crate::call::{Call, answer};
use crate::delegated::{Merge, Standing, may_merge};
use crate::error::Failure;
use crate::question::{DIGEST, Question};
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::verdict;

pub(super) const READ: Route = Route {
    name: "getVerdict",
    method: Method::GET,
    paths: &["/api/v1/delegations/{runId}/verdict"],
    access: Access::Key(Scope::RunsRead),
    summary: "How a delegation ended, in machine words.",
    takes: None,
    gives: &[(200, Some("Verdict"))],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(read(call)),
};

pub(super) const MAY_MERGE: Route = Route {
    name: "mayMerge",
    method: Method::GET,
    paths: &["/api/v1/delegations/{runId}/may-merge"],
    access: Access::Key(Scope::RunsRead),
    summary: "Whether the work may be merged: verified and sealed, or a named human answers for it.",
    takes: None,
    gives: &[(200, Some("MayMerge"))],
    query: &[Question::like(
        "candidate",
        DIGEST,
        "the hash of what is to be merged: no other is then",
    )],
    is_served: delegating,
    handler: |call| Box::pin(merge(call)),
};

pub(super) const WAIVE: Route = Route {
    name: "waiveDelegation",
    method: Method::POST,
    paths: &["/api/v1/delegations/{runId}/waive"],
    access: Access::Key(Scope::WaiversCreate),
    summary: "A named human answers for what was not verified. The outcome stays what it was.",
    takes: Some("NewWaiver"),
    gives: &[(201, Some("Waived"))],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(waive(call)),
};

async fn read(call: Call) -> Result<Response, Failure> {
    let standing = standing(&call).await?;
    Ok(answer(StatusCode::OK, &verdict::verdict(&standing, call.may(Scope::ContentRead))))
}

async fn merge(call: Call) -> Result<Response, Failure> {
    let asked = call.query.get("candidate");
    let asked = asked.map(|text| verdict::digest_named("?candidate", text)).transpose()?;
    let standing = standing(&call).await?;
    let is_verified = standing.is_sealed && standing.outcome == Some(Outcome::Verified);
    let stale = match is_verified {
        true => call.delegated()?.is_stale(&standing.run).await?,
        false => None,
    };
    let Merge { may, why } = may_merge(&standing, asked, stale);
    let body = json!({
        "runId": standing.run.as_str(),
        "mayMerge": may,
        "why": why,
        "outcome": standing.outcome,
        "isSealed": standing.is_sealed,
        "candidate": standing.candidate,
        "edited": standing.is_edited,
        "stale": stale,
        "waived": standing.waiver.is_some(),
        "waivedBy": standing.waiver.as_ref().map(|waiver| waiver.by.as_str()),
    });
    Ok(answer(StatusCode::OK, &body))
}

async fn waive(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let wanted = verdict::new_waiver(&call.json()?, &call.caller()?.principal)?;
    let waiver = call.delegated()?.waive(&run, &wanted).await?;
    // Whoever waives said why.
    let told: Value = verdict::told_waiver(&waiver, true);
    Ok(answer(StatusCode::CREATED, &json!({"runId": run.as_str(), "waiver": told})))
}

async fn standing(call: &Call) -> Result<Standing, Failure> {
    let run = call.run()?;
    let standing = call.delegated()?.standing(&run).await?;
    standing.ok_or_else(|| Failure::missing("delegation", run.as_str()))
}
