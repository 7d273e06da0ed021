//! Signals gathered from runs and documents, and what each comes to in its series.

use std::path::Path;

use probity_audit::{
    Acceptance, DocumentKind, DriftCounter, DriftNote, DriftSeverity, DriftSignal, DriftType,
    EpisodeAuditor, EpisodeReport, PatchType, Severity,
};
use probity_core::Event;
use probity_engine::EngineError;
use probity_record::Record;
use probity_store::{RunSummary, Store, limits};
use serde::Serialize;

use crate::RunEpisode;
use crate::cli::CliError;
use crate::cli::documents::{self, Audited, Input};
use crate::cli::present;

/// Runs that are looked through, the newest first.
const MAX_RUNS: usize = 100_000;
/// Documents without drift that are told one by one.
const MAX_TOLD: usize = 20;
/// Signals that are counted.
const MAX_SIGNALS: usize = 1_000_000;

/// One signal, and what it comes to.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Signal {
    /// When it was detected, in milliseconds since the Unix epoch; absent where nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detected_at_ms: Option<u64>,
    /// The run or the file.
    pub(super) source: String,
    /// The name of the signal, or of the episode that it was found in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) drift_type: Option<DriftType>,
    /// As the signal says it.
    pub(super) stated_severity: Option<DriftSeverity>,
    pub(super) fingerprint: String,
    pub(super) recommended_patch_type: Option<PatchType>,
    /// Which it is of its fingerprint in the window: 1, 2, or 3 for the third and every later one.
    pub(super) occurrence: u8,
    /// Raised where it comes back.
    pub(super) severity: DriftSeverity,
    /// The patch that it recommends is due.
    pub(super) is_patch_due: bool,
}

impl Signal {
    fn new(source: String, id: Option<String>, note: &DriftNote) -> Self {
        Self {
            detected_at_ms: note.detected_at_ms,
            source,
            id,
            drift_type: note.drift_type,
            stated_severity: note.severity,
            fingerprint: note.fingerprint.key.clone(),
            recommended_patch_type: note.recommended_patch_type,
            occurrence: 1,
            severity: note.severity.unwrap_or(DriftSeverity::Green),
            is_patch_due: false,
        }
    }

    fn of(source: String, signal: &DriftSignal) -> Self {
        let note = DriftNote {
            drift_type: Some(signal.drift_type),
            severity: Some(signal.severity),
            fingerprint: signal.fingerprint.clone(),
            recommended_patch_type: Some(signal.recommended_patch_type),
            detected_at_ms: signal.detected_at_ms(),
        };
        Self::new(source, Some(signal.drift_id.clone()), &note)
    }
}

/// Every signal of the sealed runs of a store, counted; the newest first.
///
/// # Errors
/// [`CliError`] if the store cannot be read. A run that cannot be is told on standard error.
pub(super) async fn of_store(store: &dyn Store, window_ms: u64) -> Result<Vec<Signal>, CliError> {
    let mut signals = Vec::new();
    let (mut after, mut seen) = (None, 0_usize);
    while seen < MAX_RUNS && signals.len() < MAX_SIGNALS {
        let page = store.list(after, limits::MAX_PAGE_RUNS).await.map_err(EngineError::from)?;
        after = page.last().map(|run| run.cursor);
        seen = seen.saturating_add(page.len());
        for summary in page {
            if !is_decision(store, &summary).await? {
                continue;
            }
            match RunEpisode::read(store, &summary.run).await {
                Ok(run) => {
                    let source = summary.run.to_string();
                    let each = run.drift.iter().map(|signal| Signal::of(source.clone(), signal));
                    signals.extend(each);
                }
                Err(error) => present::warn(&format!("run {} is left out: {error}", summary.run)),
            }
        }
        if after.is_none() {
            break;
        }
    }
    Ok(counted(signals, window_ms))
}

/// What documents came to.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Every signal, counted, the newest first.
    pub(super) signals: Vec<Signal>,
    /// Files and folders that could not be read.
    pub(super) unread: usize,
    /// Documents that are neither drift nor an episode in which drift would be found, and inputs
    /// without any document.
    pub(super) odd: usize,
}

/// Every signal of documents. What could not be read and what is no drift is told on standard error.
pub(super) fn of_documents(inputs: &[Input], window_ms: u64) -> Found {
    let auditor = EpisodeAuditor::new();
    let mut found = Found::default();
    let mut seen = Seen::new(inputs);
    let make = |audited| match audited {
        Audited::Unread { source, error } => Err((source, error)),
        Audited::Reports(reports) => Ok(reports),
    };
    documents::audit(inputs, &auditor, make, |made| {
        match made {
            Ok(reports) => reports.iter().for_each(|report| {
                seen.source(&report.source);
                if let Some(why) = oddity(report) {
                    found.tell(&why);
                }
                let one =
                    |note| Signal::new(report.source.clone(), report.episode_id.clone(), note);
                found.signals.extend(report.drift.iter().map(one));
            }),
            Err((source, error)) => {
                seen.source(&source);
                found.unread = found.unread.saturating_add(1);
                present::warn(&format!("cannot read `{source}`: {error}"));
            }
        }
        found.signals.len() < MAX_SIGNALS
    });
    if found.signals.len() < MAX_SIGNALS {
        seen.empty().for_each(|input| found.tell(&format!("{input}: there is no document")));
    }
    if let Some(more) = found.odd.checked_sub(MAX_TOLD).filter(|more| *more > 0) {
        present::warn(&format!("and {more} more; `probity episode verify` tells each"));
    }
    found.signals = counted(found.signals, window_ms);
    found
}

impl Found {
    fn tell(&mut self, why: &str) {
        if self.odd < MAX_TOLD {
            present::warn(why);
        }
        self.odd = self.odd.saturating_add(1);
    }
}

/// Which inputs a document came from.
struct Seen<'a> {
    inputs: Vec<(&'a Input, bool)>,
    last: String,
}

impl<'a> Seen<'a> {
    fn new(inputs: &'a [Input]) -> Self {
        let inputs = inputs.iter().map(|input| (input, false)).collect();
        Self { inputs, last: String::new() }
    }

    /// A document came from here. Those of one file come one behind the other.
    fn source(&mut self, source: &str) {
        if self.last == source {
            return;
        }
        source.clone_into(&mut self.last);
        for (input, is_seen) in &mut self.inputs {
            *is_seen |= match input {
                Input::Path(path) => Path::new(source).starts_with(path),
                Input::Stdin => source == "-",
            };
        }
    }

    fn empty(&self) -> impl Iterator<Item = String> {
        self.inputs.iter().filter(|(_, is_seen)| !is_seen).map(|(input, _)| match input {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "-".to_owned(),
        })
    }
}

/// Why the drift of a document cannot be told, or not as the document means it.
fn oddity(report: &EpisodeReport) -> Option<String> {
    let why = match report.kind {
        DocumentKind::Envelope => "an envelope, which holds no drift".to_owned(),
        DocumentKind::Pack => "a pack, which holds no drift".to_owned(),
        DocumentKind::Episode if !report.drift.is_empty() => return None,
        _ if report.verdict == Acceptance::Accepted => return None,
        _ => {
            let error = report.findings.iter().find(|it| it.severity == Severity::Error)?;
            let place = match error.pointer.as_str() {
                "" => String::new(),
                pointer => format!("{pointer}: "),
            };
            format!("{place}{}  [{}]", error.message, error.code)
        }
    };
    let place = report.line.or(report.index).map_or_else(String::new, |at| format!(":{at}"));
    Some(format!("{}{place}: {why}", report.source))
}

/// Whether a run is sealed and ran under an envelope; its first record says so.
async fn is_decision(store: &dyn Store, summary: &RunSummary) -> Result<bool, CliError> {
    if !summary.state.sealed {
        return Ok(false);
    }
    let records = store.read(&summary.run, 0, 1).await.map_err(EngineError::from)?;
    let first = records.first().and_then(|line| Record::parse(line).ok());
    let event = first.map(|record| record.entry.event);
    Ok(matches!(event, Some(Event::RunOpened { terms: Some(_), .. })))
}

/// Counts in the order of time, so that the series is that of the world and not of the store.
/// Signals without a time are taken to be of one moment.
fn counted(mut signals: Vec<Signal>, window_ms: u64) -> Vec<Signal> {
    let mut counter = DriftCounter::new(window_ms);
    signals.sort_by_key(|signal| signal.detected_at_ms);
    for signal in &mut signals {
        let at_ms = signal.detected_at_ms.unwrap_or_default();
        let recurrence = counter.observe(&signal.fingerprint, signal.severity, at_ms);
        signal.occurrence = recurrence.occurrence;
        signal.severity = recurrence.severity;
        signal.is_patch_due = recurrence.is_patch_due;
    }
    signals.reverse();
    signals
}

/// Inputs from the words of the command line.
///
/// # Errors
/// [`CliError::File`] if one is not there.
pub(super) fn inputs(paths: &[String]) -> Result<Vec<Input>, CliError> {
    paths.iter().map(|path| documents::input(path)).collect()
}

/// Whether a signal is of a fingerprint or of a run.
pub(super) fn is_of(signal: &Signal, which: &str) -> bool {
    signal.fingerprint == which || signal.source == which
}
