//! The contract of run logs.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::RunId;

use crate::{AppendError, Batch, Blobs, Queue, ReadError};

/// Both contracts in one provider, which is what an append with blobs needs.
pub trait Store: RunLog + Blobs {}

impl<T: RunLog + Blobs + ?Sized> Store for T {}

/// All contracts in one provider, which is what workers need.
pub trait WorkStore: Store + Queue {}

impl<T: Store + Queue + ?Sized> WorkStore for T {}

/// Where a run log stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogState {
    /// Records, the seal included.
    pub len: u64,
    /// Whether the last one is the seal.
    pub sealed: bool,
}

/// A place in the list of runs: after a run that was listed. Opaque; valid in the store that gave
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor(pub u64);

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Where its log stands.
    pub state: LogState,
    /// When its first batch was stored, in milliseconds since the Unix epoch by the store's clock.
    /// For people: the order of the list does not depend on it.
    pub created_at_ms: u64,
    /// Continues the list after this run.
    pub cursor: Cursor,
}

/// Append-only logs, one per run. See the crate's documentation for the contract.
#[async_trait]
pub trait RunLog: Send + Sync {
    /// Stores the batch if the log has exactly `expected_len` records and no seal, and gives the
    /// new length. 0 expects a run that does not exist and creates it.
    ///
    /// # Errors
    /// [`AppendError`]; only [`AppendError::Unknown`] leaves open whether the batch is stored.
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError>;

    /// Records from number `from_seq` on, in order, at most `max_records` of them and at most
    /// [`crate::limits::MAX_READ_BYTES`], but at least one where there is one and `max_records` is
    /// not 0. Empty behind the end and for a run that does not exist.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`] if the storage failed.
    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError>;

    /// Where the log stands; `None` for a run that does not exist.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`] if the storage failed.
    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError>;

    /// Runs, newest first by creation, from behind `after` on; at most `limit` and at most
    /// [`crate::limits::MAX_PAGE_RUNS`]. Runs created meanwhile do not appear behind a cursor.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`] if the storage failed.
    async fn list(&self, after: Option<Cursor>, limit: usize)
    -> Result<Vec<RunSummary>, ReadError>;

    /// Follows a log: waits until it has more than `len` records or a seal, at most `timeout`, and
    /// gives the state at that moment, which after a timeout is unchanged. A run that does not
    /// exist counts as empty, so this also waits for its creation.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`] if the storage failed.
    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError>;
}

/// All records of a run up to its length at the moment of the call.
///
/// # Errors
/// [`ReadError::Unavailable`] if the storage failed.
pub async fn read_run<L: RunLog + ?Sized>(log: &L, run: &RunId) -> Result<Vec<Vec<u8>>, ReadError> {
    let len = log.state(run).await?.unwrap_or_default().len;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let mut records: Vec<Vec<u8>> = Vec::new();
    while records.len() < len {
        let from_seq = u64::try_from(records.len()).unwrap_or(u64::MAX);
        let part = log.read(run, from_seq, len - records.len()).await?;
        if part.is_empty() {
            break;
        }
        records.extend(part);
    }
    Ok(records)
}
