//! Runs are begun, looked at, listed.

use std::time::Duration;

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use probity_conductor::ConductError;
use probity_core::RunId;
use probity_workflow::{Owner, Start};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::always;
use crate::call::{Call, answer};
use crate::claim::{self, Scoped};
use crate::error::{Failure, Reason};
use crate::idempotency::{CREATE as CREATE_NAME, DIGEST_KEY, body_digest, key, mismatch, replayed};
use crate::ids::uuid_v7;
use crate::question::Question;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::tenant;
use crate::wire::v1::{CreateRun, run_snapshot, run_summary, status_word};

/// Runs of one page, without a wish and at most.
const PAGE: u64 = 20;
const MAX_PAGE: u64 = 100;
/// Names that one request looks through.
const MAX_SEEN: usize = 2_000;
/// Names that are asked for at a time.
const NAMES: usize = 200;
/// How long one request looks through them: logs may be long.
pub(super) const LOOK: Duration = Duration::from_secs(10);

pub(super) const CREATE: Route = Route {
    name: CREATE_NAME,
    method: Method::POST,
    paths: &["/v1/runs"],
    access: Access::Key(Scope::RunsCreate),
    summary: "Begins a run of a workflow.",
    takes: Some("CreateRun"),
    gives: &[(201, Some("RunCreated"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(create(call)),
};

pub(super) const READ: Route = Route {
    name: "getRun",
    method: Method::GET,
    paths: &["/v1/runs/{runId}"],
    access: Access::Key(Scope::RunsRead),
    summary: "Where a run is.",
    takes: None,
    gives: &[(200, Some("RunSnapshot"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(read(call)),
};

pub(super) const LIST: Route = Route {
    name: "listRuns",
    method: Method::GET,
    paths: &["/v1/runs"],
    access: Access::Key(Scope::RunsRead),
    summary: "The runs of the tenant, newest first.",
    takes: None,
    gives: &[(200, Some("RunList"))],
    query: &[
        Question::whole("limit", 1, MAX_PAGE, "how many at most; 20 if absent"),
        Question::whole("cursor", 0, u64::MAX, "`nextCursor` of the page before"),
        Question::text("status", "only runs with that status"),
        Question::text("workflowId", "only runs of that workflow"),
    ],
    is_served: always,
    handler: |call| Box::pin(list(call)),
};

async fn create(call: Call) -> Result<Response, Failure> {
    let wanted = CreateRun::parse(&call.json()?)?;
    let caller = call.caller()?;
    if wanted.tenant.as_ref().is_some_and(|tenant| *tenant != caller.tenant) {
        let message = "`tenantId` is not the tenant of this key: leave it out";
        return Err(Failure::new(Reason::Forbidden, message));
    }
    let is_scoped = claim::is_asked(&call)?;
    if is_scoped && wanted.workspace.is_none() {
        return Err(Failure::invalid("/scopeId", "is required with `X-Dedup: enforce`"));
    }
    let key = key(&call)?;
    let digest = hex::encode(body_digest(&call));
    let run = match &key {
        Some(key) => tenant::keyed_run_id(&caller.tenant, "POST /v1/runs", key),
        None => tenant::run_id(&caller.tenant, uuid_v7(&*call.host.ids, call.host.now_ms())),
    };
    if key.is_some()
        && let Some(response) = begun_before(&call, &run, &digest).await?
    {
        return Ok(response);
    }
    let definition = call.host.runs.definition_of(&caller.tenant, &wanted.workflow).await?;
    let definition = definition.ok_or_else(|| Failure::missing("workflow", &wanted.workflow))?;
    let scope = wanted.workspace.clone().filter(|_| is_scoped);
    let (host, tenant) = (&*call.host, caller.tenant.as_str());
    let scoped = scope.as_deref().map(|scope| Scoped { host, tenant, scope });
    if let Some(scoped) = scoped {
        claim::claim(scoped, &run).await?;
    }
    let mut metadata = wanted.metadata;
    if key.is_some() {
        metadata.insert(DIGEST_KEY.to_owned(), digest.clone().into());
    }
    let start = Start {
        definition: (*definition).clone(),
        inputs: wanted.inputs,
        owner: Owner {
            tenant: caller.tenant.clone(),
            workspace: wanted.workspace,
            principal: Some(caller.principal.clone()),
        },
        origin: None,
        tags: wanted.tags,
        metadata,
        bounds: wanted.requested.within(call.host.config.ceilings),
        terms: call.host.config.terms,
    };
    match call.host.runs.begin(&run, start).await {
        Ok(begun) if begun.is_new || key.is_none() => created(&run),
        // Another request with the same key was faster.
        Ok(_) | Err(ConductError::Exists { .. }) => {
            begun_before(&call, &run, &digest).await?.ok_or_else(|| {
                Failure::new(Reason::IdempotencyInFlight, "the same request is under way")
            })
        }
        Err(error) => {
            if let Some(scoped) = scoped {
                // Else it is free by itself after a while.
                let _ = claim::release(scoped, &run).await;
            }
            Err(error.into())
        }
    }
}

/// The answer to a key that began a run before; none if it did not.
async fn begun_before(call: &Call, run: &RunId, digest: &str) -> Result<Option<Response>, Failure> {
    let Some(start) = call.host.runs.start(run).await? else { return Ok(None) };
    match start.metadata.get(DIGEST_KEY).and_then(Value::as_str) {
        Some(recorded) if recorded == digest => created(run).map(replayed).map(Some),
        _ => Err(mismatch()),
    }
}

/// The same for every repetition: how far the run is, its snapshot tells.
fn created(run: &RunId) -> Result<Response, Failure> {
    let place = format!("/v1/runs/{run}");
    let body = json!({
        "runId": run.as_str(),
        "status": "pending",
        "eventsUrl": format!("{place}/events"),
        "statusUrl": place,
    });
    let mut response = answer(StatusCode::CREATED, &body);
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

async fn read(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let snapshot = call.host.runs.snapshot(&run).await?;
    let snapshot = snapshot.ok_or_else(|| Failure::missing("run", run.as_str()))?;
    Ok(answer(StatusCode::OK, &run_snapshot(&snapshot)))
}

async fn list(call: Call) -> Result<Response, Failure> {
    let limit = call.query.whole("limit", 1, MAX_PAGE)?.unwrap_or(PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut cursor = call.query.whole("cursor", 0, u64::MAX)?;
    let (status, workflow) = (call.query.get("status"), call.query.get("workflowId"));
    let tenant = &call.caller()?.tenant;
    let mut runs = Vec::new();
    let mut seen = 0;
    let mut is_end = false;
    let began = Instant::now();
    while !is_end && runs.len() < limit && seen < MAX_SEEN && began.elapsed() < LOOK {
        let names = call.host.runs.list(cursor, NAMES).await?;
        is_end = names.is_empty();
        for (run, place) in names {
            if runs.len() == limit || began.elapsed() >= LOOK {
                break;
            }
            (cursor, seen) = (Some(place), seen + 1);
            if !tenant::owns(tenant, &run) {
                continue;
            }
            // What cannot be read, and what is no workflow run, is not listed.
            let Ok(Some(snapshot)) = call.host.runs.snapshot(&run).await else { continue };
            let is_wanted = status.is_none_or(|word| word == status_word(snapshot.status))
                && workflow.is_none_or(|name| name == snapshot.workflow);
            if is_wanted {
                runs.push(run_summary(&snapshot));
            }
        }
    }
    let mut body = json!({"runs": runs});
    if let (false, Some(cursor), Some(members)) = (is_end, cursor, body.as_object_mut()) {
        members.insert("nextCursor".to_owned(), cursor.to_string().into());
    }
    Ok(answer(StatusCode::OK, &body))
}
