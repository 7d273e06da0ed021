//! What a board tells over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_core::RunId;
use probity_projection::{IndexedRun, MAX_PAGE, Page, Refusal};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Board;
use super::wire::{self, NARROW};
use crate::call::{Call, answer};
use crate::config::HostConfig;
use crate::delegated::may_merge;
use crate::error::{Failure, Reason};
use crate::question::{OUTCOMES, Question};
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::tenant;
use crate::wire::verdict::told_waiver;

/// How a delegation of a list may have ended.
const ENDED: [&str; 11] = {
    let [open, a, b, c, d, e, f, g, h, i] = OUTCOMES;
    [open, "not_verified", a, b, c, d, e, f, g, h, i]
};
/// Runs of one page, without a wish.
const PAGE: u64 = 50;
/// Reasons whose words one answer holds.
const MAX_WORDS: usize = 30;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

pub(crate) const RUNS: Route = Route {
    name: "boardRuns",
    method: Method::GET,
    paths: &["/api/v1/board/runs"],
    access: Access::Key(Scope::RunsRead),
    summary: "The delegations of the tenant, newest first, with counts on the first page. Their tasks only \
              with the scope `content:read`.",
    takes: None,
    gives: &[(200, Some("BoardRuns"))],
    query: &[
        Question::whole("limit", 1, MAX_PAGE as u64, "how many at most; 50 if absent"),
        Question::like(
            "cursor",
            "^([0-9]{1,19}\\.[A-Za-z0-9][A-Za-z0-9._-]*)?$",
            "`nextCursor` of the page before",
        ),
        Question::word("outcome", &ENDED, "only those that ended so; `open`, or `not_verified`"),
        Question::text("stage", "only those that are there"),
        Question::word(
            "waived",
            &["true", "false"],
            "`true`: only those that a named human answers for",
        ),
        Question::text(
            "q",
            "part of the name, a whole word of the row, or with `content:read` part of the task",
        ),
        NARROW[0],
        NARROW[1],
        NARROW[2],
        NARROW[3],
    ],
    is_served: served,
    handler: |call| Box::pin(runs(call)),
};

pub(crate) const RUN: Route = Route {
    name: "boardRun",
    method: Method::GET,
    paths: &["/api/v1/board/runs/{runId}"],
    access: Access::Key(Scope::RunsRead),
    summary: "One delegation from its first record to its last. In words only with the scope `content:read`.",
    takes: None,
    gives: &[(200, Some("BoardRun"))],
    query: &[],
    is_served: served,
    handler: |call| Box::pin(run(call)),
};

pub(crate) const CLAIMS: Route = Route {
    name: "boardClaims",
    method: Method::GET,
    paths: &["/api/v1/board/claims"],
    access: Access::Key(Scope::RunsRead),
    summary: "What delegates claimed and what came of it, by kind of delegate and over time.",
    takes: None,
    gives: &[(200, Some("BoardClaims"))],
    query: &[
        Question::word("by", &["day", "hour"], "`day` without it"),
        NARROW[0],
        NARROW[1],
        NARROW[2],
        NARROW[3],
    ],
    is_served: served,
    handler: |call| Box::pin(claims(call)),
};

pub(crate) const DRIFT: Route = Route {
    name: "boardDrift",
    method: Method::GET,
    paths: &["/api/v1/board/drift"],
    access: Access::Key(Scope::RunsRead),
    summary: "How far the world departed from claims, and runs under envelopes.",
    takes: None,
    gives: &[(200, Some("BoardDrift"))],
    query: &NARROW,
    is_served: served,
    handler: |call| Box::pin(drift(call)),
};

pub(crate) const CHECKS: Route = Route {
    name: "boardChecks",
    method: Method::GET,
    paths: &["/api/v1/board/checks"],
    access: Access::Key(Scope::RunsRead),
    summary: "How good checks are: what they say, how often they can fail, how fast they are.",
    takes: None,
    gives: &[(200, Some("BoardChecks"))],
    query: &NARROW,
    is_served: served,
    handler: |call| Box::pin(checks(call)),
};

/// Where there is a board.
pub(super) const fn served(config: &HostConfig) -> bool {
    config.has_board
}

async fn runs(call: Call) -> Result<Response, Failure> {
    let (board, mut wanted, after) = (board(&call)?, wire::listed(&call)?, wire::place(&call)?);
    let limit = call.query.whole("limit", 1, MAX_PAGE as u64)?.unwrap_or(PAGE);
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE);
    let is_complete = board.freshen().await?;
    let has_content = call.may(Scope::ContentRead);
    let mut is_searched = true;
    if let (true, Some(text)) = (has_content, wanted.text.clone()) {
        (wanted.tasks, is_searched) = board.tasks_with(wire::own(&call)?, &text).await?;
    }
    let is_first = after.is_none();
    let Page { runs, next } = board.page(wanted.clone(), after, limit).await?;
    let runs = owned(&call, runs)?;
    let titles = match has_content {
        true => board.titles(&tasks(&runs)).await?,
        false => BTreeMap::new(),
    };
    let mut body = head(&call, is_complete);
    body.insert("isSearched".to_owned(), is_searched.into());
    let rows: Vec<Value> = runs.iter().map(|run| wire::row(run, &titles)).collect();
    body.insert("runs".to_owned(), rows.into());
    if let Some(next) = next {
        body.insert("nextCursor".to_owned(), wire::cursor(&next).into());
    }
    if is_first {
        let (counts, words) = board.counts(wanted, wire::own(&call)?).await?;
        body.insert("counts".to_owned(), wire::counts(&counts));
        body.insert("words".to_owned(), wire::words(&words));
    }
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

async fn run(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let has_content = call.may(Scope::ContentRead);
    let missing = || Failure::missing("delegation", run.as_str());
    let story = board(&call)?.story(&run, has_content).await?.ok_or_else(missing)?;
    let standing = call.delegated()?.standing(&run).await?.ok_or_else(missing)?;
    let mut body = head(&call, true);
    let merge = may_merge(&standing, None, None);
    body.insert("run".to_owned(), told(&story)?);
    body.insert("mayMerge".to_owned(), json!({"may": merge.may, "why": merge.why}));
    let waiver = standing.waiver.as_ref().map(|waiver| told_waiver(waiver, has_content));
    body.insert("waiver".to_owned(), waiver.into());
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

async fn claims(call: Call) -> Result<Response, Failure> {
    let bucket_ms = match call.query.get("by") {
        None | Some("day" | "") => DAY_MS,
        Some("hour") => HOUR_MS,
        Some(_) => return Err(Failure::invalid("?by", "must be `day` or `hour`")),
    };
    let (board, wanted) = (board(&call)?, wire::narrowed(&call)?);
    let is_complete = board.freshen().await?;
    let claims = board.claims(wanted, bucket_ms).await?;
    let mut body = head(&call, is_complete);
    body.insert("bucketMs".to_owned(), bucket_ms.into());
    body.insert("delegates".to_owned(), told(&claims.delegates)?);
    body.insert("refusals".to_owned(), told(&claims.refusals)?);
    let reasons = worded(&call, board, &claims.reasons).await?;
    body.insert("reasons".to_owned(), reasons.into());
    body.insert("overTime".to_owned(), told(&claims.told)?);
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

async fn drift(call: Call) -> Result<Response, Failure> {
    let (board, wanted) = (board(&call)?, wire::narrowed(&call)?);
    let is_complete = board.freshen().await?;
    let drifts = board.drifts(wanted).await?;
    let mut body = head(&call, is_complete);
    body.insert("drifts".to_owned(), told(&drifts.drifts)?);
    body.insert("decisions".to_owned(), told(&drifts.decisions)?);
    body.insert("verdicts".to_owned(), drifts.verdicts.into());
    body.insert("verdictsOfAll".to_owned(), drifts.verdicts_of_all.into());
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

async fn checks(call: Call) -> Result<Response, Failure> {
    let (board, wanted) = (board(&call)?, wire::narrowed(&call)?);
    let is_complete = board.freshen().await?;
    let checks = board.checks(wanted).await?;
    let mut body = head(&call, is_complete);
    body.insert("checks".to_owned(), told(&checks.checks)?);
    body.insert("isCut".to_owned(), checks.is_cut.into());
    Ok(answer(StatusCode::OK, &Value::Object(body)))
}

fn board(call: &Call) -> Result<&Arc<dyn Board>, Failure> {
    call.host.board.as_ref().ok_or_else(|| Failure::missing("path", call.route))
}

/// What every answer says.
fn head(call: &Call, is_complete: bool) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("nowMs".to_owned(), call.host.now_ms().into());
    body.insert("hasContent".to_owned(), call.may(Scope::ContentRead).into());
    body.insert("isComplete".to_owned(), is_complete.into());
    body
}

/// Rows of whoever asks. The index was asked for these alone; whose a run is, its name decides.
fn owned(call: &Call, runs: Vec<IndexedRun>) -> Result<Vec<IndexedRun>, Failure> {
    let tenant = &call.caller()?.tenant;
    let is_own =
        |run: &IndexedRun| run.run_id.parse::<RunId>().is_ok_and(|run| tenant::owns(tenant, &run));
    Ok(runs.into_iter().filter(is_own).collect())
}

fn tasks(runs: &[IndexedRun]) -> Vec<(String, String)> {
    let of = |run: &IndexedRun| Some((run.task_digest.clone()?, run.request_digest.clone()?));
    runs.iter().filter_map(of).collect()
}

/// Reasons; in words only for who may read content.
async fn worded(
    call: &Call,
    board: &Arc<dyn Board>,
    reasons: &[Refusal],
) -> Result<Vec<Value>, Failure> {
    let mut told_all = Vec::with_capacity(reasons.len());
    for (at, reason) in reasons.iter().enumerate() {
        let mut value = told(reason)?;
        if at < MAX_WORDS
            && call.may(Scope::ContentRead)
            && let Some(digest) = &reason.reason_digest
            && let (Some(text), Some(members)) = (board.words(digest).await?, value.as_object_mut())
        {
            members.insert("text".to_owned(), text.text.into());
        }
        told_all.push(value);
    }
    Ok(told_all)
}

fn told(value: &impl Serialize) -> Result<Value, Failure> {
    let broke = |_| Failure::new(Reason::Internal, "the answer cannot be written");
    serde_json::to_value(value).map_err(broke)
}
