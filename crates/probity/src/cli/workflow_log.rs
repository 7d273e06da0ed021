//! The log of a workflow run, as commands that read logs take it.

use std::sync::Arc;

use probity_core::{Digest, RunId};
use probity_engine::EngineError;
use probity_record::{Ledger, LedgerRecord, LineFault, Record, StepText, blob_digest, read_step};
use probity_store::{Store, limits, read_run};
use probity_workflow::{Entry, Event, Input, ReplayError, Run, Step};

use super::CliError;

/// A log whose chain is whole. What its steps say was not looked at.
pub(super) struct Chained {
    pub(super) run: RunId,
    /// The hash of the last record.
    pub(super) head: Digest,
    pub(super) steps: Vec<StepText>,
}

/// A log that was read.
pub(super) struct WorkflowLog {
    pub(super) run: RunId,
    pub(super) head: Digest,
    pub(super) steps: Vec<Step>,
}

/// A log cannot be read, or nobody wrote it like that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowLogError {
    /// A record is not what it should be, or not in its place.
    #[error("record {seq}: {fault}")]
    Line {
        /// Which.
        seq: u64,
        /// What is wrong.
        fault: LineFault,
    },
    /// A long step is not where its record says.
    #[error("record {seq}: its step {digest} is missing, or is another one")]
    Blob {
        /// Which.
        seq: u64,
        /// The name of the step.
        digest: Digest,
    },
    /// A step is none.
    #[error("record {seq}: its step cannot be read: {why}")]
    Step {
        /// Which.
        seq: u64,
        /// Why.
        why: String,
    },
    /// The steps are not those of a run.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl WorkflowLogError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Line { fault, .. } => fault.code(),
            Self::Blob { .. } => "log_blob_missing",
            Self::Step { .. } => "ledger_step",
            Self::Replay(error) => error.code(),
        }
    }

    /// The record that it is about, counted from 0.
    pub(super) const fn seq(&self) -> u64 {
        match self {
            Self::Line { seq, .. } | Self::Blob { seq, .. } | Self::Step { seq, .. } => *seq,
            Self::Replay(ReplayError::Refused { step, .. } | ReplayError::Differs { step }) => {
                *step
            }
            Self::Replay(_) => 0,
        }
    }
}

/// Whether a line is of a workflow run's log, by its own word.
pub(super) fn is_of_workflow(line: &[u8]) -> bool {
    matches!(Record::parse(line), Err(LineFault::WorkflowLog))
}

/// Reads the records of a log and proves that they follow each other.
///
/// # Errors
/// The first that does not.
pub(super) fn chained<L: AsRef<[u8]>>(lines: &[L]) -> Result<Chained, WorkflowLogError> {
    let faulty = |seq, fault| WorkflowLogError::Line { seq, fault };
    let first = lines.first().ok_or(ReplayError::NoStart)?;
    let first = LedgerRecord::parse(first.as_ref()).map_err(|fault| faulty(0, fault))?;
    let mut ledger = Ledger::new(first.run);
    let mut steps = Vec::with_capacity(lines.len());
    for (seq, line) in (0..).zip(lines) {
        let record = ledger.read(line.as_ref()).map_err(|fault| faulty(seq, fault))?;
        steps.push(record.step);
    }
    Ok(Chained { run: ledger.run().clone(), head: ledger.head(), steps })
}

impl Chained {
    /// Whether some of its steps are too long to stand in it.
    pub(super) fn has_blobs(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, StepText::Blob(_)))
    }

    /// Reads the steps that stand in it.
    ///
    /// # Errors
    /// The first that cannot be read.
    pub(super) fn into_read(self) -> Result<WorkflowLog, WorkflowLogError> {
        let read = (0..).zip(&self.steps).map(|(seq, text)| match text {
            StepText::Inline(text) => decoded(seq, text),
            StepText::Blob(digest) => Err(WorkflowLogError::Blob { seq, digest: *digest }),
        });
        let steps = read.collect::<Result<_, _>>()?;
        Ok(WorkflowLog { run: self.run, head: self.head, steps })
    }

    /// Puts the steps in that stand beside it, as far as the store has them.
    pub(super) async fn fetch(&mut self, store: &dyn Store) -> Result<(), EngineError> {
        let max_bytes = u64::try_from(limits::MAX_BLOB_BYTES).unwrap_or(u64::MAX);
        for step in &mut self.steps {
            if let StepText::Blob(digest) = step
                && let Some(bytes) = store.get(digest, max_bytes).await?
                && blob_digest(&bytes) == *digest
            {
                *step = StepText::Inline(bytes);
            }
        }
        Ok(())
    }
}

impl WorkflowLog {
    /// The log of a run; `None` if it is that of a delegation.
    ///
    /// # Errors
    /// [`CliError`] if the store cannot be read, or the log is damaged.
    pub(super) async fn find(store: &dyn Store, run: &RunId) -> Result<Option<Self>, CliError> {
        let first = store.read(run, 0, 1).await.map_err(EngineError::from)?;
        if !first.first().is_some_and(|line| is_of_workflow(line)) {
            return Ok(None);
        }
        let records = read_run(store, run).await.map_err(EngineError::from)?;
        let mut chained = chained(&records)?;
        chained.fetch(store).await?;
        Ok(Some(chained.into_read()?))
    }

    /// As it says itself: the events in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.steps.iter().flat_map(|step| &step.entries)
    }

    /// The name of what it runs.
    pub(super) fn workflow(&self) -> Option<&str> {
        self.steps.first().and_then(workflow_of)
    }

    /// Has the machine make the run again.
    ///
    /// # Errors
    /// The first step that it would not have written.
    pub(super) fn replay(&self) -> Result<Run, ReplayError> {
        Run::replay(self.run.clone(), &self.steps)
    }
}

/// The name of what a run runs, by its first step.
pub(super) fn workflow_of(step: &Step) -> Option<&str> {
    match &step.input {
        Input::Start(start) => Some(start.definition.id()),
        _ => None,
    }
}

/// How a run ended, by its last event.
pub(super) fn end_of(entry: &Entry) -> Option<&'static str> {
    match entry.event {
        Event::RunCompleted { .. } => Some("completed"),
        Event::RunFailed { .. } => Some("failed"),
        Event::RunCancelled { .. } => Some("cancelled"),
        _ => None,
    }
}

/// The step of one record by itself. `None` if it cannot be read here.
pub(super) async fn step_of(store: &dyn Store, line: &[u8]) -> Option<Step> {
    let record = LedgerRecord::parse(line).ok()?;
    let max_bytes = u64::try_from(limits::MAX_BLOB_BYTES).unwrap_or(u64::MAX);
    let text = match record.step {
        StepText::Inline(text) => text,
        StepText::Blob(digest) => store.get(&digest, max_bytes).await.ok()??,
    };
    decoded(record.seq, &text).ok()
}

fn decoded(seq: u64, text: &[u8]) -> Result<Step, WorkflowLogError> {
    let wrong = |why: String| WorkflowLogError::Step { seq, why };
    let value = read_step(text).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// A step's text is looked at by threads that may wait.
pub(super) fn find_waiting(
    runtime: &tokio::runtime::Handle,
    store: &Arc<dyn Store>,
    run: &RunId,
) -> Result<Option<Stored>, EngineError> {
    runtime.block_on(async {
        let first = store.read(run, 0, 1).await?;
        if !first.first().is_some_and(|line| is_of_workflow(line)) {
            return Ok(None);
        }
        let records = read_run(store.as_ref(), run).await?;
        let mut chained = chained(&records);
        if let Ok(chained) = &mut chained {
            chained.fetch(store.as_ref()).await?;
        }
        Ok(Some(Stored { chained, records }))
    })
}

/// The log of a workflow run as a store has it.
pub(super) struct Stored {
    pub(super) chained: Result<Chained, WorkflowLogError>,
    pub(super) records: Vec<Vec<u8>>,
}
