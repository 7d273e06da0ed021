//! Telemetry of what the command line drives, where the environment asks for it.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Entry, RunId};
use probity_engine::Watch;
use probity_host::Metrics;
use probity_store::Store;
use probity_telemetry::{Account, Telemetry, TelemetryOptions, TelemetryWatch, export_run};
use probity_worker::{WorkerEvent, WorkerWatch};
use serde::Serialize;

use super::present::{self, count, warn};
use super::{CliError, log};

/// How long the end of a command waits for a receiver.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Telemetry of one command; nothing where nobody asked for it.
pub(super) struct Telling(Option<Telemetry>);

/// Who watches a run for a person, and telemetry beside them.
pub(super) struct Beside<'a> {
    person: &'a dyn Watch,
    telemetry: Option<TelemetryWatch>,
}

/// The same for the runs of a worker.
struct BesideWorker {
    person: Arc<dyn WorkerWatch>,
    telemetry: Telemetry,
}

#[derive(Serialize)]
struct Exported<'a> {
    run: &'a RunId,
    trace_id: String,
    spans: u64,
    logs: u64,
}

/// The caller's span, where the environment names one.
pub(super) fn caller() -> Option<String> {
    std::env::var("TRACEPARENT").ok().filter(|text| !text.is_empty())
}

impl Telling {
    /// Starts telemetry where the environment names a receiver.
    ///
    /// # Errors
    /// [`CliError::Telemetry`] if a variable means nothing, or the receiver cannot be one.
    pub(super) fn begin(store: &Arc<dyn Store>) -> Result<Self, CliError> {
        let options = options()?;
        if options.otlp.is_none() {
            return Ok(Self(None));
        }
        Ok(Self(Some(Telemetry::start(options, Arc::clone(store))?)))
    }

    /// The same, and keeps its figures in this process at any rate.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub(super) fn begin_here(store: &Arc<dyn Store>) -> Result<Self, CliError> {
        Ok(Self(Some(Telemetry::start(options()?, Arc::clone(store))?)))
    }

    /// What tells the figures of this process.
    pub(super) fn metrics(&self) -> Option<Metrics> {
        let telemetry = self.0.clone()?;
        Some(Metrics::new(move || telemetry.render()))
    }

    /// Watches a run, and passes on what is watched to somebody else.
    pub(super) fn beside<'a>(&self, run: &RunId, person: &'a dyn Watch) -> Beside<'a> {
        let telemetry = self.0.as_ref().map(|telemetry| telemetry.watch(run));
        Beside { person, telemetry }
    }

    /// The same for every run of a worker.
    pub(super) fn beside_worker(&self, person: Arc<dyn WorkerWatch>) -> Arc<dyn WorkerWatch> {
        match &self.0 {
            Some(telemetry) => Arc::new(BesideWorker { person, telemetry: telemetry.clone() }),
            None => person,
        }
    }

    /// Sends what is left, for a while, and says what was lost.
    pub(super) async fn end(self) {
        let Some(telemetry) = self.0 else { return };
        let Account { lost, refused, last_error, .. } = telemetry.shutdown(FLUSH_TIMEOUT).await;
        if let Some(why) = last_error {
            match lost.saturating_add(refused) {
                0 => warn(&format!("telemetry: figures were not sent: {why}")),
                items => warn(&format!("telemetry: {} lost: {why}", count(items, "item"))),
            }
        }
    }
}

impl Watch for Beside<'_> {
    fn entry(&self, entry: &Entry) {
        self.person.entry(entry);
        if let Some(telemetry) = &self.telemetry {
            telemetry.entry(entry);
        }
    }
}

impl WorkerWatch for BesideWorker {
    fn event(&self, event: &WorkerEvent) {
        self.person.event(event);
    }

    fn entry(&self, run: &RunId, entry: &Entry) {
        self.person.entry(run, entry);
        self.telemetry.entry(run, entry);
    }
}

/// Sends what a run's log says.
///
/// # Errors
/// [`CliError`] if there is no such run or no receiver, or it does not take all of it.
pub(super) async fn export(store: &dyn Store, run: &str, json: bool) -> Result<u8, CliError> {
    let run = log::resolve_run(store, run).await?;
    let sent = export_run(store, &run, &options()?).await?;
    let trace_id = sent.trace.to_string();
    if json {
        present::json(&Exported { run: &run, trace_id, spans: sent.spans, logs: sent.logs })?;
    } else {
        let (spans, logs) = (count(sent.spans, "span"), count(sent.logs, "log event"));
        present::print(format!("{run}: {spans} and {logs} sent, trace {trace_id}\n").as_bytes())?;
    }
    Ok(0)
}

fn options() -> Result<TelemetryOptions, CliError> {
    Ok(TelemetryOptions::from_env(|name| std::env::var(name).ok())?)
}
