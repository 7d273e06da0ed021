//! `probity resume`: a run is answered and left for a worker.

use std::sync::Arc;

use probity_core::{Answer, RunId};
use probity_engine::{EngineError, Post, Report};
use probity_store::{Enqueued, Pool, Standing, WorkStore};
use probity_worker::{Fleet, FleetError};
use serde::Serialize;
use serde_json::Value;

use super::CliError;
use super::args::ResumeArgs;
use super::log::{about, approval, decision, not_waiting, refused, resolve_run};
use super::present::{self, Asked};
use super::run::{parse_answer, require_name};
use super::submit::{fleet_of, worker_line};
use super::watch::{Watching, watch_run};
use crate::location::Programs;
use crate::prepare::{Keys, prepare_keyed};
use crate::{Prepared, Recorded};

/// What came of it.
#[derive(Debug, Serialize)]
struct Resumed<'a> {
    run_id: &'a RunId,
    /// Whether an answer was appended.
    answered: bool,
    /// Who may take the run up.
    pool: String,
}

/// Answers a run, if an answer is given, and has a worker look at it.
///
/// # Errors
/// [`CliError`] if there is no such run, or it does not take the answer.
pub(super) async fn resume(args: &ResumeArgs, programs: &Programs) -> Result<u8, CliError> {
    let (store, fleet, url) = fleet_of(&args.store).await?;
    let run = resolve_run(store.as_ref(), &args.run).await?;
    let answered = match &args.by {
        Some(by) => {
            require_name(by)?;
            answer(args, by, &store, &fleet, &run, programs).await?;
            true
        }
        None => {
            resumed(&store, &fleet, &run).await?;
            false
        }
    };
    if args.wait {
        let allow_unverified = args.allow_unverified;
        let watching = Watching { timeout: None, json: args.json, allow_unverified };
        return watch_run(store, &run, None, &watching).await;
    }
    let standing = store.standing(&run).await.map_err(FleetError::from)?;
    let pool = standing.map_or_else(Pool::default, |standing| standing.pool().clone());
    if args.json {
        present::json(&Resumed { run_id: &run, answered, pool: pool.to_string() })?;
        return Ok(0);
    }
    let what = if answered { "was answered and waits" } else { "waits" };
    present::print(format!("run {run} {what} for a worker of pool {pool}\n").as_bytes())?;
    let worker = worker_line(&url, pool.as_str());
    present::note(&format!(
        "next: {worker}, if none runs; probity watch {run}; or drive it here: probity run --resume {run}"
    ));
    Ok(0)
}

/// Has a worker look at a run.
async fn resumed(store: &Arc<dyn WorkStore>, fleet: &Fleet, run: &RunId) -> Result<(), CliError> {
    let is_dead =
        matches!(store.standing(run).await.map_err(FleetError::from)?, Some(Standing::Dead { .. }));
    // What made it a dead letter may be its log or its request, which are not looked at then.
    let pool = match is_dead {
        true => Pool::default(),
        false => {
            let Recorded { log, request, .. } = Recorded::read(store.as_ref(), run).await?;
            if log.seal.is_some() {
                let report = Report::read(store.as_ref(), run).await?;
                return Err(CliError::Answer(not_waiting(&report).unwrap_or_default()));
            }
            request.pool.unwrap_or_default()
        }
    };
    match fleet.resume(run, &pool).await? {
        Enqueued::Added | Enqueued::Present => Ok(()),
        Enqueued::Dead => Err(CliError::Answer(format!(
            "run {run} became a dead letter again; see `probity dlq show {run}`"
        ))),
    }
}

async fn answer(
    args: &ResumeArgs,
    by: &str,
    store: &Arc<dyn WorkStore>,
    fleet: &Fleet,
    run: &RunId,
    programs: &Programs,
) -> Result<(), CliError> {
    if let (Some(value), Some(about)) = (&args.wake, &args.about) {
        let value: Value = serde_json::from_str(value).map_err(|error| {
            CliError::Usage(format!(
                "--wake takes JSON, such as '\"yes\"' or '{{\"ok\": true}}': {error}"
            ))
        })?;
        let post = Post::Wake { about: about.clone(), by: by.to_owned(), value };
        return fleet.post(run, &post).await.map(drop).map_err(|error| of_fleet(run, error));
    }
    let report = Report::read(store.as_ref(), run).await?;
    if let Some(why) = not_waiting(&report) {
        return Err(CliError::Answer(why));
    }
    // Nobody is asked anything here, so no key of a model is needed.
    let Recorded { request, bytes, .. } = Recorded::read(store.as_ref(), run).await?;
    let Prepared { mut plan, .. } = prepare_keyed(&request, run.clone(), programs, Keys::Left)?;
    plan.request = bytes;
    let asked = Asked::of(&plan);
    let given = match (&report.asked_about, &args.decision) {
        (Some(_), Some(_)) => return Err(CliError::Late { run: run.clone() }),
        (Some(asked_about), None) => {
            let approval = approval(&args.words, by, run, asked.by(&report))?;
            let about = about(&args.words, asked_about)?;
            fleet.approve(plan, by, &about, approval).await
        }
        (None, decided) => {
            let answer: Answer = match decided {
                Some(text) => parse_answer(text)?,
                None => decision(&args.words, &report)?,
            };
            fleet.answer(plan, by, answer).await
        }
    };
    given.map(drop).map_err(|error| of_fleet(run, error))
}

fn of_fleet(run: &RunId, error: FleetError) -> CliError {
    match error {
        FleetError::Engine(error @ EngineError::Answer(_)) => refused(run, error),
        error => error.into(),
    }
}
