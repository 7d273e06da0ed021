//! The writing end of a run log: entries become records, records and the blobs they name become one
//! atomic append.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Digest, Entry, MAX_STEERS, RunId};
use probity_record::{Chain, Record, ResumeError};
use probity_store::limits::MAX_BATCH_RECORDS;
use probity_store::{AppendError, Batch, Store};
use probity_verifier::{JudgeManifest, Manifest};
use serde::de::DeserializeOwned;

use crate::EngineError;
use crate::content::{Blob, StoredClaim};
use crate::stored::read_blob;

/// Tries of an append whose outcome is not known, the first included.
const MAX_APPEND_TRIES: u32 = 5;
/// How long work is in flight before the log is followed.
const FOLLOW_AFTER: Duration = Duration::from_millis(250);
/// How long one wait for somebody else's append lasts.
const FOLLOW_PERIOD: Duration = Duration::from_secs(5);
/// The pause after a look that failed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The longest blob that is read back, in bytes.
pub(crate) const MAX_BLOB_BYTES: u64 = 64 * 1024 * 1024;

/// Why an append did not go through.
pub(crate) enum AppendFailure {
    /// Somebody else appended. Nothing was stored, and what was staged is staged still.
    Overtaken,
    /// Anything else.
    Engine(EngineError),
}

impl<E: Into<EngineError>> From<E> for AppendFailure {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

/// The end of one run's log.
pub(crate) struct Journal {
    store: Arc<dyn Store>,
    chain: Chain,
    staged: Vec<Blob>,
}

impl Journal {
    /// The end of a log that has no record yet.
    pub(crate) fn create(store: Arc<dyn Store>, run: RunId) -> Self {
        Self { store, chain: Chain::new(run), staged: Vec::new() }
    }

    /// The end of a log that was read.
    pub(crate) fn behind(store: Arc<dyn Store>, chain: Chain) -> Self {
        Self { store, chain, staged: Vec::new() }
    }

    /// Keeps blobs for the next append.
    pub(crate) fn stage(&mut self, blobs: Vec<Blob>) {
        self.staged.extend(blobs);
    }

    /// Makes entries durable, with everything staged. Returns only when the log holds them.
    ///
    /// # Errors
    /// [`AppendFailure::Overtaken`] if the log is longer than this end of it.
    pub(crate) async fn append(&mut self, entries: &[Entry]) -> Result<(), AppendFailure> {
        let mut chain = self.chain.clone();
        let mut records = Vec::with_capacity(entries.len());
        for entry in entries {
            records.push(chain.append(entry)?.into_bytes());
        }
        let seal = chain.is_sealed();
        let blobs = std::mem::take(&mut self.staged);
        let mut batch = Batch { records, blobs, seal };
        let written = self.write(&batch).await;
        match &written {
            Ok(()) => self.chain = chain,
            Err(_) => self.staged = std::mem::take(&mut batch.blobs),
        }
        written
    }

    /// What somebody else appended behind this end of the log, which moves behind it.
    ///
    /// # Errors
    /// [`EngineError::Fenced`] if any of it was written by another driver; [`EngineError`] if it
    /// cannot be read.
    pub(crate) async fn hear(&mut self) -> Result<Vec<Entry>, EngineError> {
        let run = self.chain.run().clone();
        let mut heard = Vec::new();
        // What is beside a run is bounded, and so is this.
        for _ in 0..=MAX_STEERS {
            let records = self.store.read(&run, self.chain.len(), MAX_BATCH_RECORDS).await?;
            if records.is_empty() {
                break;
            }
            for line in records {
                let record = Record::parse(&line).map_err(ResumeError::from)?;
                let follows = (record.seq, record.prev) == (self.chain.len(), self.chain.head());
                if !follows || !record.entry.event.is_beside() {
                    return Err(EngineError::Fenced { run });
                }
                self.chain = Chain::after(&record).map_err(ResumeError::from)?;
                heard.push(record.entry);
            }
        }
        Ok(heard)
    }

    /// How many records there are.
    pub(crate) const fn len(&self) -> u64 {
        self.chain.len()
    }

    /// Whether there is no record yet.
    pub(crate) const fn is_new(&self) -> bool {
        self.chain.is_empty()
    }

    /// Reads a blob that the log names, or will with the next append.
    pub(crate) async fn blob(&self, digest: Digest) -> Result<Vec<u8>, EngineError> {
        match self.staged.iter().find(|(staged, _)| *staged == digest) {
            Some((_, bytes)) => Ok(bytes.clone()),
            None => read_blob(self.store.as_ref(), digest).await,
        }
    }

    /// Reads the judge's manifest that the log names.
    pub(crate) async fn judge(&self, digest: Digest) -> Result<JudgeManifest, EngineError> {
        let bytes = self.blob(digest).await?;
        JudgeManifest::from_bytes(&bytes).map_err(|error| damaged("judge", digest, &error))
    }

    /// Reads a manifest of the workspace that the log names.
    pub(crate) async fn manifest(&self, digest: Digest) -> Result<Manifest, EngineError> {
        let bytes = self.blob(digest).await?;
        Manifest::from_bytes(&bytes).map_err(|error| damaged("manifest", digest, &error))
    }

    /// Reads JSON content that the log names.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        digest: Digest,
        what: &'static str,
    ) -> Result<T, EngineError> {
        let bytes = self.blob(digest).await?;
        serde_json::from_slice(&bytes).map_err(|error| damaged(what, digest, &error))
    }

    /// Reads a claim that the log names.
    pub(crate) async fn claim(&self, digest: Digest) -> Result<StoredClaim, EngineError> {
        self.json(digest, "claim").await
    }

    /// Reads a text that the log names.
    pub(crate) async fn text(&self, digest: Digest) -> Result<String, EngineError> {
        let bytes = self.blob(digest).await?;
        String::from_utf8(bytes).map_err(|error| damaged("text", digest, &error))
    }

    /// Waits until somebody else appends to this run. A driver that is overtaken learns it here while
    /// its work is in flight, not only at its next append.
    pub(crate) async fn overtaken(&self) {
        // Most work is done by then, and nobody needs to ask.
        tokio::time::sleep(FOLLOW_AFTER).await;
        loop {
            let (run, len) = (self.chain.run(), self.chain.len());
            match self.store.wait_beyond(run, len, FOLLOW_PERIOD).await {
                Ok(state) if state.len > len => return,
                Ok(_) => {}
                // A store that cannot be read now says so at the next append.
                Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }

    /// A refusal is only believed once the tail was read: the earlier try of an append whose answer
    /// was lost looks like somebody else's.
    async fn write(&self, batch: &Batch) -> Result<(), AppendFailure> {
        let run = self.chain.run();
        let expected = self.chain.len();
        let mut is_unknown = false;
        for tries in 1..=MAX_APPEND_TRIES {
            match self.store.append(run, expected, batch.clone()).await {
                Ok(_) => return Ok(()),
                Err(AppendError::Conflict { .. } | AppendError::Sealed { .. }) => {
                    if is_unknown && self.holds(expected, batch).await? {
                        return Ok(());
                    }
                    return Err(AppendFailure::Overtaken);
                }
                Err(AppendError::Unknown { .. }) if tries < MAX_APPEND_TRIES => {
                    is_unknown = true;
                    if self.holds(expected, batch).await? {
                        return Ok(());
                    }
                    tokio::time::sleep(Duration::from_millis(20 << tries)).await;
                }
                Err(error) => return Err(EngineError::Append(error).into()),
            }
        }
        Err(EngineError::Stuck.into())
    }

    async fn holds(&self, from: u64, batch: &Batch) -> Result<bool, EngineError> {
        let there = self.store.read(self.chain.run(), from, batch.records.len()).await?;
        Ok(there == batch.records)
    }
}

fn damaged(what: &'static str, digest: Digest, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Content { what, digest, detail: error.to_string() }
}
