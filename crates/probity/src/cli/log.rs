//! `probity log`: what the store holds, and which run a few characters of an id mean.

mod answer;
mod index;
mod kept;
mod list;
mod tail;
mod waiver;
mod workflow;

use std::sync::Arc;

use probity_core::RunId;
use probity_engine::{EngineError, Report};
use probity_record::verify_records;
use probity_store::{MemoryStore, Store, WorkStore, limits, read_run};
use serde::Serialize;

pub(super) use answer::{about, approval, decision, not_waiting, refused};
pub(super) use list::timestamp;
pub(super) use workflow::{event_line, show as show_workflow};

use super::args::{LogArgs, LogCommand, StoreArgs};
use super::kept_list::KeptList;
use super::present::{self, Asked, Beside, Reader, StoppedBy};
use super::run::{recorded, store_url};
use super::workflow_log::{WorkflowLog, is_of_workflow};
use super::{CliError, EXIT_STOPPED, telemetry};
use crate::location::{Programs, StoreUrl};

/// Runs that are looked through for the start of an id.
const MAX_RUNS_SEARCHED: usize = 100_000;
/// Candidates that an ambiguous start of an id is answered with.
const MAX_NAMED: usize = 5;

/// Lists, shows, follows, exports or answers runs.
///
/// # Errors
/// [`CliError`] if there is no such store or run, or it cannot be read.
pub(super) async fn log(args: &LogArgs, programs: &Programs) -> Result<u8, CliError> {
    match &args.command {
        LogCommand::List(args) => match &args.index {
            Some(index) => index::list(args, index),
            None => {
                let store = open_existing(&args.store).await?;
                list::list(store.as_ref(), usize::from(args.limit), args.json).await
            }
        },
        LogCommand::Show { run, store, json } => {
            show(open_existing(store).await?.as_ref(), run, *json, programs).await
        }
        LogCommand::Tail { run, store, json } => {
            tail::tail(open_existing(store).await?.as_ref(), run, *json).await
        }
        LogCommand::Answer(args) => answer::answer(args, programs).await,
        LogCommand::Export { run, store } => {
            export(open_existing(store).await?.as_ref(), run).await
        }
        LogCommand::ExportOtel { run, store, json } => {
            telemetry::export(open_existing(store).await?.as_ref(), run, *json).await
        }
        LogCommand::Index(args) => index::index(args).await,
    }
}

/// Opens a store to read what is in it; makes none where there is none.
///
/// # Errors
/// [`CliError`] if the store that was named does not exist, or cannot be opened.
pub(super) async fn open_existing(args: &StoreArgs) -> Result<Arc<dyn Store>, CliError> {
    Ok(open_existing_work(args).await?)
}

/// As [`open_existing`], with the queue of the store.
///
/// # Errors
/// As [`open_existing`].
pub(super) async fn open_existing_work(args: &StoreArgs) -> Result<Arc<dyn WorkStore>, CliError> {
    let url = store_url(args)?;
    match &url {
        StoreUrl::Memory => Err(CliError::Usage(
            "a memory store ends with its process; name the one to read with --store sqlite:PATH or \
             --store nats://HOST"
                .to_owned(),
        )),
        StoreUrl::Sqlite(path) if !path.exists() => match args.store {
            Some(_) => {
                let source = std::io::Error::from(std::io::ErrorKind::NotFound);
                Err(CliError::File { path: path.clone(), source })
            }
            // Nothing was run yet: an empty list, and no file left behind by looking.
            None => Ok(Arc::new(MemoryStore::new())),
        },
        StoreUrl::Sqlite(_) | StoreUrl::Nats(_) => Ok(url.open_shared().await?),
    }
}

/// Opens a store to read what is in it and what will be: the user's is made where there is none.
///
/// # Errors
/// As [`open_existing`].
pub(super) async fn open_to_follow(
    args: &StoreArgs,
    url: &StoreUrl,
) -> Result<Arc<dyn WorkStore>, CliError> {
    match args.store {
        Some(_) => open_existing_work(args).await,
        None => Ok(url.open_shared().await?),
    }
}

/// The run that a text means: its id, the start of it that no other run shares, or `last` for the
/// newest.
///
/// # Errors
/// [`CliError::Usage`] if several runs start like that; [`EngineError::Missing`] if none does.
pub(super) async fn resolve_run(store: &dyn Store, text: &str) -> Result<RunId, CliError> {
    let named: RunId = text.parse()?;
    if store.state(&named).await.map_err(EngineError::from)?.is_some() {
        return Ok(named);
    }
    let mut matching: Vec<RunId> = Vec::new();
    let mut after = None;
    for _ in 0..MAX_RUNS_SEARCHED / limits::MAX_PAGE_RUNS {
        let page = store.list(after, limits::MAX_PAGE_RUNS).await.map_err(EngineError::from)?;
        after = page.last().map(|run| run.cursor);
        if text == "last" {
            matching.extend(page.into_iter().next().map(|run| run.run));
            break;
        }
        let starts = |run: &RunId| run.as_str().starts_with(text);
        matching.extend(page.into_iter().map(|run| run.run).filter(starts));
        if after.is_none() {
            break;
        }
    }
    match matching.as_slice() {
        [] => Err(EngineError::Missing { run: named }.into()),
        [run] => Ok(run.clone()),
        several => {
            let some: Vec<&str> = several.iter().take(MAX_NAMED).map(RunId::as_str).collect();
            let more = if several.len() > MAX_NAMED { ", ..." } else { "" };
            Err(CliError::Usage(format!(
                "{} runs start with `{text}`: {}{more}; give more of the id",
                several.len(),
                some.join(", ")
            )))
        }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(flatten)]
    beside: Beside<'a>,
}

async fn show(
    store: &dyn Store,
    text: &str,
    json: bool,
    programs: &Programs,
) -> Result<u8, CliError> {
    let run = resolve_run(store, text).await?;
    if let Some(log) = waiver::find(store, &run).await? {
        return waiver::show(store, &log, json).await;
    }
    let first = store.read(&run, 0, 1).await.map_err(EngineError::from)?;
    if let Some(list) = first.first().and_then(|line| KeptList::parse(line)) {
        return kept::show(store, &list, json).await;
    }
    if let Some(log) = WorkflowLog::find(store, &run).await? {
        return workflow::show(&log, json);
    }
    let report = Report::read(store, &run).await?;
    let mut asked = Asked::default();
    if report.waits_for.is_some() {
        // Whom it asks stands in the request; where that cannot be prepared any more, the check's
        // name is all there is.
        let prepared = recorded(store, run, programs).await;
        asked = prepared.map_or_else(|_| Asked::default(), |prepared| Asked::of(&prepared.plan));
    }
    let stopped_by = StoppedBy::of(store, &report).await?;
    let beside = Beside { asks: asked.by(&report), stopped_by: stopped_by.as_ref(), kept: None };
    match json {
        true => present::json(&Shown { report: &report, beside })?,
        false => present::whole_report(&report, &beside)?,
    }
    Ok(0)
}

/// Writes the records byte for byte as they are stored, damaged ones too: they are evidence.
async fn export(store: &dyn Store, text: &str) -> Result<u8, CliError> {
    let run = resolve_run(store, text).await?;
    let records = read_run(store, &run).await.map_err(EngineError::from)?;
    for record in &records {
        let mut line = record.clone();
        line.push(b'\n');
        if present::print(&line)? == Reader::Gone {
            return Ok(0);
        }
    }
    if records.first().is_some_and(|line| is_of_workflow(line)) {
        return workflow::exported(&records);
    }
    let proof = verify_records(&records);
    if let Some(first) = proof.findings.first() {
        present::warn(&format!("the log is damaged: {first}"));
        return Ok(EXIT_STOPPED);
    }
    if proof.seal.is_none() {
        present::warn("the run is not sealed: more records may follow");
    }
    Ok(0)
}
