//! `probity dlq`: runs that workers gave up on.

use std::fmt::Write as _;
use std::sync::Arc;

use probity_core::RunId;
use probity_store::{DeadJob, WorkStore, limits};
use probity_worker::FleetError;
use serde::Serialize;

use super::CliError;
use super::args::{DlqArgs, DlqCommand, DlqWhich, StoreArgs};
use super::log::{resolve_run, timestamp};
use super::present::{self, Style, Tone, line};
use super::submit::fleet_of;

/// Dead letters that one command handles at most; a second one handles the rest.
const MAX_LETTERS: usize = 100_000;

/// One dead letter.
#[derive(Debug, Serialize)]
struct Letter {
    run_id: RunId,
    pool: String,
    code: String,
    message: String,
    /// RFC 3339, UTC.
    since: String,
}

impl From<DeadJob> for Letter {
    fn from(job: DeadJob) -> Self {
        Self {
            run_id: job.run,
            pool: job.pool.to_string(),
            code: job.cause.code.to_string(),
            message: job.cause.message,
            since: timestamp(job.since_ms),
        }
    }
}

/// What was done.
#[derive(Debug, Serialize)]
struct Done {
    runs: Vec<RunId>,
}

/// Lists, shows, retries or drops dead letters.
///
/// # Errors
/// [`CliError`] if there is no such store or dead letter.
pub(super) async fn dlq(args: &DlqArgs) -> Result<u8, CliError> {
    match &args.command {
        DlqCommand::List { limit, store, json } => list(usize::from(*limit), store, *json).await,
        DlqCommand::Show { run, store, json } => show(run, store, *json).await,
        DlqCommand::Retry(which) => each(which, Deed::Retry).await,
        DlqCommand::Drop(which) => each(which, Deed::Drop).await,
    }
}

async fn list(limit: usize, store: &StoreArgs, json: bool) -> Result<u8, CliError> {
    let (store, ..) = fleet_of(store).await?;
    let dead = store.dead(None, limit).await.map_err(FleetError::from)?;
    let letters: Vec<Letter> = dead.into_iter().map(Letter::from).collect();
    if json {
        present::json(&letters)?;
        return Ok(0);
    }
    if letters.is_empty() {
        present::note("no dead letters");
        return Ok(0);
    }
    let style = Style::of_stdout();
    let width = letters.iter().map(|letter| letter.run_id.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for Letter { run_id, pool, code, since, .. } in &letters {
        let code = style.paint(Tone::Bad, code);
        let _ = writeln!(text, "{:width$}  {since}  {pool}  {code}", run_id.as_str());
    }
    present::print(text.as_bytes())?;
    present::note("next: probity dlq show RUN; probity dlq retry RUN; probity dlq drop RUN");
    Ok(0)
}

async fn show(run: &str, store: &StoreArgs, json: bool) -> Result<u8, CliError> {
    let (store, ..) = fleet_of(store).await?;
    let run = named(store.as_ref(), run).await?;
    let Some(job) = letter(store.as_ref(), &run).await? else { return Err(none(&run)) };
    let letter = Letter::from(job);
    if json {
        present::json(&letter)?;
        return Ok(0);
    }
    let Letter { run_id, pool, code, message, since } = &letter;
    let flag = Style::of_stdout().paint(Tone::Bad, "dead letter");
    let message = line(message);
    present::print(
        format!("run {run_id}: {flag} since {since}, pool {pool}\n{message}  [{code}]\n")
            .as_bytes(),
    )?;
    present::note(&format!(
        "next: probity explain {code}; probity dlq retry {run_id}; probity dlq drop {run_id}"
    ));
    Ok(0)
}

/// What is done with dead letters.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Retry,
    Drop,
}

async fn each(which: &DlqWhich, deed: Deed) -> Result<u8, CliError> {
    let (store, ..) = fleet_of(&which.store).await?;
    let mut runs = Vec::new();
    if let Some(run) = &which.run {
        let run = named(store.as_ref(), run).await?;
        if !done(&store, &run, deed).await? {
            return Err(none(&run));
        }
        runs.push(run);
    } else {
        for run in all(store.as_ref()).await? {
            // Somebody else may have been faster.
            if done(&store, &run, deed).await? {
                runs.push(run);
            }
        }
    }
    if which.json {
        present::json(&Done { runs })?;
        return Ok(0);
    }
    let word = match deed {
        Deed::Retry => "retried",
        Deed::Drop => "dropped",
    };
    match runs.as_slice() {
        [run] => present::print(format!("{word} {run}\n").as_bytes())?,
        runs => present::print(format!("{word} {} dead letters\n", runs.len()).as_bytes())?,
    };
    Ok(0)
}

async fn done(store: &Arc<dyn WorkStore>, run: &RunId, deed: Deed) -> Result<bool, CliError> {
    let done = match deed {
        Deed::Retry => store.revive(run).await,
        Deed::Drop => store.discard(run).await,
    };
    Ok(done.map_err(FleetError::from)?)
}

/// The run that a text means. One whose log is gone is still known by its whole name.
async fn named(store: &dyn WorkStore, text: &str) -> Result<RunId, CliError> {
    let run: RunId = text.parse()?;
    match letter(store, &run).await? {
        Some(_) => Ok(run),
        None => resolve_run(store, text).await,
    }
}

async fn letter(store: &dyn WorkStore, run: &RunId) -> Result<Option<DeadJob>, CliError> {
    let mut after: Option<RunId> = None;
    for _ in 0..MAX_LETTERS / limits::MAX_PAGE_RUNS {
        let page = store.dead(after.as_ref(), limits::MAX_PAGE_RUNS).await;
        let page = page.map_err(FleetError::from)?;
        let Some(last) = page.last() else { break };
        after = Some(last.run.clone());
        if let Some(found) = page.into_iter().find(|job| job.run == *run) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

async fn all(store: &dyn WorkStore) -> Result<Vec<RunId>, CliError> {
    let mut runs: Vec<RunId> = Vec::new();
    while runs.len() < MAX_LETTERS {
        let page =
            store.dead(runs.last(), limits::MAX_PAGE_RUNS).await.map_err(FleetError::from)?;
        if page.is_empty() {
            break;
        }
        runs.extend(page.into_iter().map(|job| job.run));
    }
    Ok(runs)
}

fn none(run: &RunId) -> CliError {
    CliError::NotFound(format!("run {run} is no dead letter; `probity dlq list` lists them"))
}
