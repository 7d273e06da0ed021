//! A run of a host, as a store has it: its log is written anew from what the host tells, and each record
//! must have the hash that the host says; content is fetched when it is asked for, by its digest.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, Entry, Event, RunId};
use probity_record::canonical::parse_ijson;
use probity_record::{Chain, blob_digest};
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, FaultKind, LogState, MemoryStore, ReadError,
    RunLog, RunSummary, StoreFault,
};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Remote, RemoteError, broken};

/// What is known of a run so far.
pub(super) struct Mirror {
    store: Arc<RemoteStore>,
    chain: Chain,
    len: u64,
    head: Option<Digest>,
}

/// A store that holds one run of a host.
pub(super) struct RemoteStore {
    remote: Remote,
    run: RunId,
    records: MemoryStore,
}

/// A record, as the host tells it.
#[derive(Deserialize)]
struct Told {
    sequence: u64,
    at: String,
    event: Value,
    hash: Digest,
}

impl Mirror {
    pub(super) fn new(remote: Remote, run: RunId) -> Self {
        let chain = Chain::new(run.clone());
        let store = Arc::new(RemoteStore { remote, run, records: MemoryStore::new() });
        Self { store, chain, len: 0, head: None }
    }

    /// The run as a store has it.
    pub(super) const fn store(&self) -> &Arc<RemoteStore> {
        &self.store
    }

    /// The last record that is known, for a stream that is to go on behind it.
    pub(super) const fn last(&self) -> Option<u64> {
        self.len.checked_sub(1)
    }

    /// The hash of the last record.
    pub(super) const fn head(&self) -> Option<Digest> {
        self.head
    }

    /// Takes in what one event of the stream holds; nothing of a record that is known.
    ///
    /// # Errors
    /// [`RemoteError::LogDiffers`] if it is not the next record of this log.
    pub(super) async fn take(&mut self, data: &[u8]) -> Result<Option<Entry>, RemoteError> {
        let value = parse_ijson(data).map_err(|error| broken(&error.to_string()))?;
        let told: Told =
            serde_json::from_value(value).map_err(|error| broken(&error.to_string()))?;
        if told.sequence < self.len {
            return Ok(None);
        }
        let differs = || RemoteError::LogDiffers { seq: told.sequence };
        let event: Event = serde_json::from_value(told.event.clone()).map_err(|_| differs())?;
        let at = OffsetDateTime::parse(&told.at, &Rfc3339).map_err(|_| differs())?;
        let at_ms = u64::try_from(at.unix_timestamp_nanos() / 1_000_000).map_err(|_| differs())?;
        let seal = matches!(event, Event::Sealed { .. });
        let entry = Entry { at_ms, event };
        if told.sequence != self.len {
            return Err(differs());
        }
        let line = self.chain.append(&entry).map_err(|_| differs())?;
        if line.hash() != told.hash {
            return Err(differs());
        }
        let batch = Batch { records: vec![line.into_bytes()], blobs: Vec::new(), seal };
        let RemoteStore { run, records, .. } = self.store.as_ref();
        let stored = records.append(run, self.len, batch).await;
        self.len = stored.map_err(|error| broken(&error.to_string()))?;
        self.head = Some(told.hash);
        Ok(Some(entry))
    }
}

#[async_trait]
impl RunLog for RemoteStore {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        self.records.append(run, len, batch).await
    }

    async fn read(&self, run: &RunId, from: u64, max: usize) -> Result<Vec<Vec<u8>>, ReadError> {
        self.records.read(run, from, max).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.records.state(run).await
    }

    async fn list(&self, after: Option<Cursor>, max: usize) -> Result<Vec<RunSummary>, ReadError> {
        self.records.list(after, max).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.records.wait_beyond(run, len, timeout).await
    }
}

#[async_trait]
impl Blobs for RemoteStore {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.records.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        if let Some(bytes) = self.records.get(digest, max_bytes).await? {
            return Ok(Some(bytes));
        }
        let failed = |error: RemoteError| StoreFault::new(FaultKind::Io, error.to_string());
        let path = format!("/api/v1/delegations/{}/evidence/{digest}", self.run);
        let answer = self.remote.get(&path).await.map_err(failed)?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        let bytes = answer.accepted().map_err(failed)?.body;
        let actual = blob_digest(&bytes);
        if actual != *digest {
            return Err(BlobError::Corrupt { digest: *digest, actual });
        }
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if len > max_bytes {
            return Err(BlobError::TooLarge { bytes: len, max_bytes });
        }
        self.records.put(bytes.clone()).await?;
        Ok(Some(bytes))
    }
}
