//! Delegations are submitted, looked at, listed.

use std::time::Duration;

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use probity_core::Outcome;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::delegating;
use super::runs::LOOK;
use crate::call::{Call, answer};
use crate::delegated::{Delegated, Glance};
use crate::error::Failure;
use crate::idempotency::{key, replayed};
use crate::ids::uuid_v7;
use crate::question::{DELEGATE, OUTCOME, OUTCOMES, Question, SINCE};
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::tenant;
use crate::wire::verdict::{self, NewDelegation};

/// Runs of one page, without a wish and at most.
const PAGE: u64 = 20;
const MAX_PAGE: u64 = 100;
/// Names that one request looks through.
const MAX_SEEN: usize = 2_000;
/// Names that are asked for at a time.
const NAMES: usize = 200;
/// The longest wait that a submission may ask for before its run is looked at: 30 days.
/// Names of pools.
const POOL: &str = "^[a-z0-9_-]{1,32}$";
const MAX_AFTER_MS: u64 = 30 * 24 * 3_600_000;
/// What a key of this endpoint names runs by.
const ENDPOINT: &str = "POST /api/v1/delegations";

pub(super) const SUBMIT: Route = Route {
    name: "submitDelegation",
    method: Method::POST,
    paths: &["/api/v1/delegations"],
    access: Access::Key(Scope::DelegationsCreate),
    summary: "Leaves a delegation for a worker. The body is a request document.",
    takes: Some("NewDelegation"),
    gives: &[(201, Some("DelegationSubmitted"))],
    query: &[
        Question::like("pool", POOL, "who may take it up; the request's own `pool` without it"),
        Question::whole("afterMs", 0, MAX_AFTER_MS, "how long nobody looks at it, in milliseconds"),
    ],
    is_served: delegating,
    handler: |call| Box::pin(submit(call)),
};

pub(super) const LIST: Route = Route {
    name: "listDelegations",
    method: Method::GET,
    paths: &["/api/v1/delegations"],
    access: Access::Key(Scope::RunsRead),
    summary: "The delegations of the tenant, newest first.",
    takes: None,
    gives: &[(200, Some("DelegationList"))],
    query: &[
        Question::whole("limit", 1, MAX_PAGE, "how many at most; 20 if absent"),
        Question::whole("cursor", 0, u64::MAX, "`nextCursor` of the page before"),
        OUTCOME,
        DELEGATE,
        SINCE,
    ],
    is_served: delegating,
    handler: |call| Box::pin(list(call)),
};

pub(super) const READ: Route = Route {
    name: "getDelegation",
    method: Method::GET,
    paths: &["/api/v1/delegations/{runId}"],
    access: Access::Key(Scope::RunsRead),
    summary: "What a delegation came to. In words only with the scope `content:read`.",
    takes: None,
    gives: &[(200, Some("Delegation"))],
    query: &[],
    is_served: delegating,
    handler: |call| Box::pin(read(call)),
};

/// Which runs are looked for.
#[derive(Default)]
pub(super) struct Wanted {
    outcome: Option<String>,
    delegate: Option<String>,
    since_ms: u64,
}

/// Runs of one look through the list.
pub(super) struct Seen {
    pub(super) runs: Vec<Glance>,
    /// Where to go on; none behind the last run.
    pub(super) next: Option<u64>,
}

async fn submit(call: Call) -> Result<Response, Failure> {
    let NewDelegation { request, parent } = NewDelegation::parse(call.json()?)?;
    if let Some(parent) = parent {
        call.own(&parent)?;
    }
    let tenant = &call.caller()?.tenant;
    let pool = call.query.get("pool").map(verdict::pool_named).transpose()?;
    let delay = call.query.whole("afterMs", 0, MAX_AFTER_MS)?.unwrap_or(0);
    let run = match key(&call)? {
        Some(key) => tenant::keyed_run_id(tenant, ENDPOINT, &key),
        None => tenant::run_id(tenant, uuid_v7(&*call.host.ids, call.host.now_ms())),
    };
    let delay = Duration::from_millis(delay);
    let submitted = call.delegated()?.submit(&run, request, pool, delay).await?;
    let place = format!("/api/v1/delegations/{run}");
    let body = json!({
        "runId": run.as_str(),
        "pool": submitted.pool.as_str(),
        "warnings": submitted.warnings,
        "statusUrl": place,
        "eventsUrl": format!("{place}/events"),
        "mayMergeUrl": format!("{place}/may-merge"),
    });
    let mut response = answer(StatusCode::CREATED, &body);
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(if submitted.is_new { response } else { replayed(response) })
}

async fn read(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let delegated = call.delegated()?;
    let missing = || Failure::missing("delegation", run.as_str());
    let has_content = call.may(Scope::ContentRead);
    let standing = delegated.standing(&run).await?.ok_or_else(missing)?;
    let report = delegated.report(&run).await?.ok_or_else(missing)?;
    let mut body = verdict::verdict(&standing, has_content);
    if let Some(members) = body.as_object_mut() {
        members.insert("hasContent".to_owned(), has_content.into());
        members.insert("report".to_owned(), verdict::told_report(&report, has_content)?);
    }
    Ok(answer(StatusCode::OK, &body))
}

async fn list(call: Call) -> Result<Response, Failure> {
    let limit = call.query.whole("limit", 1, MAX_PAGE)?.unwrap_or(PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let wanted = Wanted::of(&call)?;
    let seen = seen(&call, &wanted, limit).await?;
    let runs: Vec<Value> = seen.runs.iter().map(verdict::glance).collect();
    Ok(answer(StatusCode::OK, &paged(json!({"delegations": runs}), seen.next)))
}

/// An answer with the place where the next one goes on.
pub(super) fn paged(mut body: Value, next: Option<u64>) -> Value {
    if let (Some(next), Some(members)) = (next, body.as_object_mut()) {
        members.insert("nextCursor".to_owned(), next.to_string().into());
    }
    body
}

impl Wanted {
    /// What stands behind the question mark.
    pub(super) fn of(call: &Call) -> Result<Self, Failure> {
        let outcome = call.query.get("outcome");
        if outcome.is_some_and(|word| !OUTCOMES.contains(&word)) {
            let all = Outcome::ALL.map(Outcome::as_str).join(", ");
            return Err(Failure::invalid("?outcome", format!("must be `open` or one of {all}")));
        }
        Ok(Self {
            outcome: outcome.map(str::to_owned),
            delegate: call.query.get("delegate").map(str::to_owned),
            since_ms: call.query.whole("since", 0, u64::MAX)?.unwrap_or(0),
        })
    }

    fn admits(&self, glance: &Glance) -> bool {
        let outcome = glance.outcome.map_or("open", Outcome::as_str);
        self.outcome.as_ref().is_none_or(|wanted| wanted == outcome)
            && self.delegate.as_ref().is_none_or(|wanted| *wanted == glance.delegate)
            && glance.opened_ms >= self.since_ms
    }
}

/// Looks through the caller's runs from the cursor on, for so many at most.
pub(super) async fn seen(call: &Call, wanted: &Wanted, limit: usize) -> Result<Seen, Failure> {
    let delegated: &dyn Delegated = &**call.delegated()?;
    let tenant = &call.caller()?.tenant;
    let mut cursor = call.query.whole("cursor", 0, u64::MAX)?;
    let (mut runs, mut count) = (Vec::new(), 0);
    let began = Instant::now();
    while runs.len() < limit && count < MAX_SEEN && began.elapsed() < LOOK {
        let page = delegated.list(cursor, NAMES).await?;
        if page.is_empty() {
            return Ok(Seen { runs, next: None });
        }
        for listed in page {
            if runs.len() == limit || began.elapsed() >= LOOK {
                break;
            }
            (cursor, count) = (Some(listed.place), count + 1);
            if !tenant::owns(tenant, &listed.run) {
                continue;
            }
            // What cannot be read, and what is no delegation, is not listed.
            let Ok(Some(glance)) = delegated.glance(&listed).await else { continue };
            if wanted.admits(&glance) {
                runs.push(glance);
            }
        }
    }
    Ok(Seen { runs, next: cursor })
}
