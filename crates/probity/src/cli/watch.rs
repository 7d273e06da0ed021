//! `probity watch`: a run that somebody else drives, followed to its end.

mod workflow;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use probity_core::{Entry, RunId, Stage};
use probity_engine::{Engine, EngineError, Found, SystemClock, Watch as _};
use probity_record::Record;
use probity_store::{Standing, Store, WorkStore};
use probity_worker::FleetError;
use tokio::time::Instant;

use super::args::{CheckingArgs, WatchArgs};
use super::log::{open_existing_work, open_to_follow, resolve_run};
use super::present::{self, Reader};
use super::progress::Progress;
use super::run::{Output, finish, recorded};
use super::submit::shared_url;
use super::{CliError, EXIT_GOES_ON, EXIT_INTERRUPTED, EXIT_STOPPED, remote};
use crate::location::Programs;
use crate::request::Millis;

/// Records of one read.
const PAGE: usize = 256;
/// How long one wait for the next record lasts at most.
const WAIT: Duration = Duration::from_secs(5);
/// How often all runs are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The newest runs that are followed at a time.
const MAX_FOLLOWED: usize = 1000;

/// How a run is watched.
pub(super) struct Watching {
    /// For how long at most.
    pub(super) timeout: Option<Duration>,
    /// Whether one object is printed at the end, and nothing before.
    pub(super) json: bool,
    /// Whether a run that nothing checked is a success.
    pub(super) allow_unverified: bool,
}

/// Follows one run or all of them.
///
/// # Errors
/// [`CliError`] if there is no such store or run, or it cannot be read.
pub(super) async fn watch(args: &WatchArgs, programs: &Programs) -> Result<u8, CliError> {
    if let Some(host) = &args.host {
        return remote::watch(args, host).await;
    }
    let url = shared_url(&args.store)?;
    let timeout = args.timeout.map(Millis::get).map(Duration::from_millis);
    let Some(run) = &args.run else {
        let store = open_to_follow(&args.store, &url).await?;
        return bounded(timeout, 0, all(store.as_ref(), args.json)).await;
    };
    let store = open_existing_work(&args.store).await?;
    let run = resolve_run(store.as_ref(), run).await?;
    let watching = Watching { timeout, json: args.json, allow_unverified: args.allow_unverified };
    if let Some(code) = workflow::watched(store.as_ref(), &run, &watching).await? {
        return Ok(code);
    }
    // Whom a human check asks stands in the request; where that cannot be prepared here, the check's
    // name is all there is.
    let prepared = recorded(store.as_ref(), run.clone(), programs).await.ok();
    let output = prepared.map(|prepared| Output::of(&prepared.plan, prepared.warnings));
    watch_run(store, &run, output, &watching).await
}

/// Follows a run to its end, or to where it waits for somebody, and says what it came to.
///
/// # Errors
/// [`CliError`] if it cannot be read.
pub(super) async fn watch_run(
    store: Arc<dyn WorkStore>,
    run: &RunId,
    output: Option<Output>,
    watching: &Watching,
) -> Result<u8, CliError> {
    let progress = Progress::new(watching.json);
    let engine = Engine::new(Arc::clone(&store) as Arc<dyn Store>, Arc::new(SystemClock));
    let follow = follow(store.as_ref(), &engine, run, &progress);
    let code = bounded(watching.timeout, EXIT_GOES_ON, follow).await?;
    progress.finish();
    let again = format!("probity watch {run}");
    concluded(store.as_ref(), run, code, &output.unwrap_or_default(), watching, &again).await
}

/// Says what a run came to that was followed, or how its following ended. `again` is the command that
/// follows it again.
///
/// # Errors
/// [`CliError`] if it cannot be read.
pub(super) async fn concluded(
    store: &dyn Store,
    run: &RunId,
    code: u8,
    output: &Output,
    watching: &Watching,
    again: &str,
) -> Result<u8, CliError> {
    let has_stopped = matches!(code, EXIT_INTERRUPTED | EXIT_GOES_ON | EXIT_STOPPED);
    if has_stopped {
        present::note(&not_over(run, code, again));
    }
    // Who takes it up is said above; the report would say that nobody does.
    if code == EXIT_INTERRUPTED || (has_stopped && !watching.json) {
        return Ok(code);
    }
    let checking = CheckingArgs {
        allow_unverified: watching.allow_unverified,
        ..CheckingArgs::printing(watching.json)
    };
    let ended = finish(store, run, output, &checking).await?;
    Ok(if has_stopped { code } else { ended })
}

/// What becomes of a run whose watching stopped before it did.
fn not_over(run: &RunId, code: u8, again: &str) -> String {
    match code {
        EXIT_STOPPED => format!(
            "run {run} is a dead letter: no worker takes it any more; next: probity dlq show {run}; \
             probity dlq retry {run}"
        ),
        _ => format!("run {run} goes on; watch it again with: {again}"),
    }
}

/// Waits for a result, for the time to be over, or for Ctrl-C.
///
/// # Errors
/// Those of the work.
pub(super) async fn bounded(
    timeout: Option<Duration>,
    code_at_timeout: u8,
    work: impl Future<Output = Result<u8, CliError>>,
) -> Result<u8, CliError> {
    let over = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        result = work => result,
        _ = tokio::signal::ctrl_c() => Ok(EXIT_INTERRUPTED),
        () = over => Ok(code_at_timeout),
    }
}

async fn follow(
    store: &dyn WorkStore,
    engine: &Engine,
    run: &RunId,
    progress: &Progress,
) -> Result<u8, CliError> {
    let mut seen = 0_u64;
    let (mut is_first, mut is_quiet) = (true, false);
    loop {
        for entry in entries_from(store, run, &mut seen).await? {
            is_quiet = false;
            progress.entry(&entry);
        }
        let found = engine.find(run).await?;
        if found.machine().entries() > seen {
            continue;
        }
        if is_over(&found).await? {
            return Ok(0);
        }
        if (is_quiet || is_first) && is_dead(store, run).await? {
            return Ok(EXIT_STOPPED);
        }
        (is_quiet, is_first) = (true, false);
        store.wait_beyond(run, seen, WAIT).await.map_err(EngineError::from)?;
    }
}

/// Whether workers gave up on the run, so that nothing more is to come.
async fn is_dead(store: &dyn WorkStore, run: &RunId) -> Result<bool, CliError> {
    let standing = store.standing(run).await.map_err(FleetError::from)?;
    Ok(matches!(standing, Some(Standing::Dead { .. })))
}

/// Whether there is nothing to wait for here: the run has ended, or waits for a person. Where it waits
/// for other runs, or somebody asked it to stop, a worker goes on.
///
/// # Errors
/// [`CliError`] if what it waits for cannot be read.
pub(super) async fn is_over(found: &Found) -> Result<bool, CliError> {
    let machine = found.machine();
    Ok(match machine.stage() {
        Stage::Sealed { .. } => true,
        _ if machine.cancel_requested().is_some() => false,
        Stage::Escalated { .. } | Stage::Awaiting { .. } => true,
        Stage::Parked { until_ms: None, .. } => {
            found.wait().await?.is_some_and(|wait| wait.children.is_empty())
        }
        _ => false,
    })
}

/// What was appended since.
async fn entries_from(
    store: &dyn Store,
    run: &RunId,
    seen: &mut u64,
) -> Result<Vec<Entry>, CliError> {
    let mut entries = Vec::new();
    loop {
        let records = store.read(run, *seen, PAGE).await.map_err(EngineError::from)?;
        if records.is_empty() {
            return Ok(entries);
        }
        for record in &records {
            *seen = seen.saturating_add(1);
            // A record that cannot be read is for the report to tell.
            entries.extend(Record::parse(record).ok().map(|record| record.entry));
        }
    }
}

/// One run of several.
struct Followed {
    seen: u64,
    lines: Progress,
}

/// Follows what has not ended and what begins.
async fn all(store: &dyn Store, json: bool) -> Result<u8, CliError> {
    let mut followed: BTreeMap<RunId, Followed> = BTreeMap::new();
    let mut is_first = true;
    loop {
        let began = Instant::now();
        let mut listed = store.list(None, MAX_FOLLOWED).await.map_err(EngineError::from)?;
        listed.reverse();
        for summary in &listed {
            let (run, state) = (&summary.run, summary.state);
            if !followed.contains_key(run) {
                // What had ended before is history; what goes on is told from here on.
                let seen = if is_first { state.len } else { 0 };
                let lines = Progress::of_run(run);
                followed.insert(run.clone(), Followed { seen, lines });
            }
            let Some(one) = followed.get_mut(run).filter(|one| one.seen < state.len) else {
                continue;
            };
            if tell(store, run, one, json).await? == Reader::Gone {
                return Ok(0);
            }
        }
        followed.retain(|run, _| listed.iter().any(|summary| summary.run == *run));
        if is_first {
            present::note(
                "following every run from here on; Ctrl-C ends the watching, not the runs",
            );
        }
        is_first = false;
        tokio::time::sleep_until(began + LOOK_EVERY).await;
    }
}

async fn tell(
    store: &dyn Store,
    run: &RunId,
    one: &mut Followed,
    json: bool,
) -> Result<Reader, CliError> {
    if !json {
        for entry in entries_from(store, run, &mut one.seen).await? {
            one.lines.entry(&entry);
        }
        return Ok(Reader::There);
    }
    loop {
        let records = store.read(run, one.seen, PAGE).await.map_err(EngineError::from)?;
        if records.is_empty() {
            return Ok(Reader::There);
        }
        for mut record in records {
            one.seen = one.seen.saturating_add(1);
            record.push(b'\n');
            if present::print(&record)? == Reader::Gone {
                return Ok(Reader::Gone);
            }
        }
    }
}
