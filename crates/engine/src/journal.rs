//! The writing end of a run log: entries become records, records and the blobs they name become one
//! atomic append.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Digest, Entry, RunId};
use probity_record::Chain;
use probity_store::{AppendError, Batch, Store};
use probity_verifier::{JudgeManifest, Manifest};
use serde::de::DeserializeOwned;

use crate::EngineError;
use crate::content::{Blob, StoredClaim};
use crate::stored::{read_blob, read_json};

/// Tries of an append whose outcome is not known, the first included.
const MAX_APPEND_TRIES: u32 = 5;
/// How long work is in flight before the log is followed.
const FOLLOW_AFTER: Duration = Duration::from_millis(250);
/// How long one wait for somebody else's append lasts.
const FOLLOW_PERIOD: Duration = Duration::from_secs(5);
/// The longest blob that is read back, in bytes.
pub(crate) const MAX_BLOB_BYTES: u64 = 64 * 1024 * 1024;

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
    pub(crate) async fn append(&mut self, entries: &[Entry]) -> Result<(), EngineError> {
        let mut chain = self.chain.clone();
        let mut records = Vec::with_capacity(entries.len());
        for entry in entries {
            records.push(chain.append(entry)?.into_bytes());
        }
        let seal = chain.is_sealed();
        let blobs = std::mem::take(&mut self.staged);
        let batch = Batch { records, blobs, seal };
        self.write(&batch).await?;
        self.chain = chain;
        Ok(())
    }

    /// Reads a blob that the log names.
    pub(crate) async fn blob(&self, digest: Digest) -> Result<Vec<u8>, EngineError> {
        read_blob(self.store.as_ref(), digest).await
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
        read_json(self.store.as_ref(), digest, what).await
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
                Err(_) => tokio::time::sleep(FOLLOW_PERIOD).await,
            }
        }
    }

    /// A refusal is only believed once the tail was read: the earlier try of an append whose answer
    /// was lost looks like somebody else's.
    async fn write(&self, batch: &Batch) -> Result<(), EngineError> {
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
                    return Err(match expected {
                        0 => EngineError::Exists { run: run.clone() },
                        _ => EngineError::Fenced { run: run.clone() },
                    });
                }
                Err(AppendError::Unknown { .. }) if tries < MAX_APPEND_TRIES => {
                    is_unknown = true;
                    if self.holds(expected, batch).await? {
                        return Ok(());
                    }
                    tokio::time::sleep(Duration::from_millis(20 << tries)).await;
                }
                Err(error) => return Err(EngineError::Append(error)),
            }
        }
        Err(EngineError::Stuck)
    }

    async fn holds(&self, from: u64, batch: &Batch) -> Result<bool, EngineError> {
        let there = self.store.read(self.chain.run(), from, batch.records.len()).await?;
        Ok(there == batch.records)
    }
}

fn damaged(what: &'static str, digest: Digest, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Content { what, digest, detail: error.to_string() }
}
