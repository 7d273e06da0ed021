//! The log of one workflow run: read on from where one stands, appended to behind it.

use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_record::{Ledger, LedgerError, LedgerRecord, LineFault, StepText, read_step};
use probity_store::limits::{MAX_BATCH_RECORDS, MAX_BLOB_BYTES};
use probity_store::{AppendError, Batch, WorkStore};
use probity_workflow::{Input, Step};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ConductError;
use crate::roll::is_entry;

/// Tries of an append whose outcome is not known, the first included.
const MAX_APPEND_TRIES: u32 = 5;
/// Records that are read at one time.
pub(crate) const CHUNK: usize = 64;

/// Why an append did not go through.
pub(crate) enum AppendFailure {
    /// Somebody else appended. Nothing was stored.
    Overtaken,
    /// Anything else.
    Failed(ConductError),
}

impl<E: Into<ConductError>> From<E> for AppendFailure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A place in a run's log.
#[derive(Clone)]
pub(crate) struct Journal {
    store: Arc<dyn WorkStore>,
    end: Ledger,
}

/// A step as it was recorded.
pub(crate) struct Recorded {
    pub(crate) step: Step,
    /// Its canonical text.
    pub(crate) text: Vec<u8>,
}

impl Journal {
    /// Before the first record.
    pub(crate) const fn new(store: Arc<dyn WorkStore>, run: RunId) -> Self {
        Self { store, end: Ledger::new(run) }
    }

    /// A place that somebody else read up to.
    pub(crate) const fn at(store: Arc<dyn WorkStore>, end: Ledger) -> Self {
        Self { store, end }
    }

    /// Records before this place.
    pub(crate) const fn len(&self) -> u64 {
        self.end.len()
    }

    /// The time of the record before this place.
    pub(crate) const fn at_ms(&self) -> u64 {
        self.end.at_ms()
    }

    /// Reads some steps and moves behind them; none at the end of the log.
    pub(crate) async fn read(&mut self, max: usize) -> Result<Vec<Recorded>, ConductError> {
        let lines = self.store.read(self.end.run(), self.end.len(), max).await?;
        let mut end = self.end.clone();
        let mut steps = Vec::with_capacity(lines.len());
        for line in lines {
            let record = end.read(&line).map_err(|fault| self.faulty(&fault))?;
            steps.push(self.recorded(record.step).await?);
        }
        self.end = end;
        Ok(steps)
    }

    /// Moves from the beginning to no later than the record that holds the event of that place, without
    /// reading everything before it. Of a short log nothing is skipped.
    pub(crate) async fn seek(&mut self, sequence: u64) -> Result<(), ConductError> {
        let len = self.store.state(self.end.run()).await?.unwrap_or_default().len;
        let (mut at, mut beyond) = (0, len);
        let shortest = u64::try_from(CHUNK).unwrap_or(u64::MAX);
        while beyond.saturating_sub(at) > shortest {
            let middle = at.midpoint(beyond);
            let step = self.step_at(middle).await?;
            match step.and_then(|step| step.entries.first().map(|entry| entry.sequence)) {
                Some(first) if first <= sequence => at = middle,
                // A step without events is no place to look at: half of what is left is not skipped.
                Some(_) | None => beyond = middle,
            }
        }
        if let Some(before) = at.checked_sub(1)
            && let Some(line) = self.store.read(self.end.run(), before, 1).await?.first()
        {
            let record = LedgerRecord::parse(line).map_err(|fault| self.faulty(&fault))?;
            self.end = Ledger::behind(&record);
        }
        Ok(())
    }

    /// One step by itself; `None` behind the end of the log. What stands before it is taken on trust.
    pub(crate) async fn step_at(&self, at: u64) -> Result<Option<Step>, ConductError> {
        let lines = self.store.read(self.end.run(), at, 1).await?;
        let Some(line) = lines.first() else { return Ok(None) };
        let record = LedgerRecord::parse(line).map_err(|fault| self.faulty(&fault))?;
        Ok(Some(self.recorded(record.step).await?.step))
    }

    async fn recorded(&self, step: StepText) -> Result<Recorded, ConductError> {
        let text = self.step_text(step).await?;
        let step = parse(&text).map_err(|why| match is_entry(&text) {
            // A waiver's log, or a list's: no run at all.
            true => ConductError::Missing { run: self.end.run().clone() },
            false => self.damaged("ledger_step", why),
        })?;
        Ok(Recorded { step, text })
    }

    /// The canonical text of a step, wherever it is.
    pub(crate) async fn step_text(&self, step: StepText) -> Result<Vec<u8>, ConductError> {
        let digest = match step {
            StepText::Inline(text) => return Ok(text),
            StepText::Blob(digest) => digest,
        };
        let max_bytes = u64::try_from(MAX_BLOB_BYTES).unwrap_or(u64::MAX);
        let blob = self.store.get(&digest, max_bytes).await?;
        let missing = format!("blob {digest} is missing from the store");
        blob.ok_or_else(|| self.damaged("blob_missing", missing))
    }

    /// Makes steps durable. Returns only when the log holds them; seals it behind the last step of a run.
    pub(crate) async fn append(&mut self, steps: &[Step]) -> Result<(), AppendFailure> {
        for part in steps.chunks(MAX_BATCH_RECORDS) {
            let mut end = self.end.clone();
            let mut batch = Batch::default();
            for step in part {
                let line = end.append(step.at_ms, step).map_err(unwritable)?;
                batch.records.push(line.bytes);
                batch.blobs.extend(line.blob);
            }
            batch.seal = part.last().is_some_and(Step::is_last);
            self.write(&batch).await?;
            self.end = end;
        }
        Ok(())
    }

    /// A refusal is only believed once the tail was read: the earlier try of an append whose answer
    /// was lost looks like somebody else's.
    pub(crate) async fn write(&self, batch: &Batch) -> Result<(), AppendFailure> {
        let mut is_unknown = false;
        for tries in 1..=MAX_APPEND_TRIES {
            match self.store.append(self.end.run(), self.end.len(), batch.clone()).await {
                Ok(_) => return Ok(()),
                Err(AppendError::Conflict { .. } | AppendError::Sealed { .. }) => {
                    if is_unknown && self.holds(batch).await? {
                        return Ok(());
                    }
                    return Err(AppendFailure::Overtaken);
                }
                Err(AppendError::Unknown { .. }) if tries < MAX_APPEND_TRIES => {
                    is_unknown = true;
                    if self.holds(batch).await? {
                        return Ok(());
                    }
                    tokio::time::sleep(Duration::from_millis(20 << tries)).await;
                }
                Err(AppendError::Rejected(error)) => {
                    let why = error.to_string();
                    return Err(ConductError::Unrecordable { why }.into());
                }
                Err(error) => return Err(ConductError::Append(error).into()),
            }
        }
        Err(AppendFailure::Overtaken)
    }

    async fn holds(&self, batch: &Batch) -> Result<bool, ConductError> {
        let there = self.store.read(self.end.run(), self.end.len(), batch.records.len()).await?;
        Ok(there == batch.records)
    }

    pub(crate) fn faulty(&self, fault: &LineFault) -> ConductError {
        // It is no damage to name the run of a delegation.
        if *fault == LineFault::DelegationLog {
            return ConductError::Missing { run: self.end.run().clone() };
        }
        self.damaged(fault.code(), format!("record {}: {fault}", self.end.len()))
    }

    /// What is wrong with the log.
    pub(crate) fn damaged(&self, code: &'static str, why: String) -> ConductError {
        ConductError::Damaged { run: self.end.run().clone(), code, why }
    }
}

/// What reaches a run, as it reads once it is recorded: numbers spelled once, keys in order. So a run that
/// goes on and one that is read back do the same.
pub(crate) fn as_recorded(input: &Input) -> Result<Input, ConductError> {
    parse(&text(input)?).map_err(|why| ConductError::Unrecordable { why })
}

/// The canonical text.
pub(crate) fn text<T: Serialize>(value: &T) -> Result<Vec<u8>, ConductError> {
    let text = probity_record::canonical::jcs(value);
    text.map_err(|error| ConductError::Unrecordable { why: error.to_string() })
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let value = read_step(text).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn unwritable(error: LedgerError) -> ConductError {
    ConductError::Unrecordable { why: error.to_string() }
}
