//! The provider in memory: for tests, for dry runs, and as the plainest reading of the contracts.
//!
//! Times of the queue are tokio's, so that a paused clock drives it. What wakes and what comes first
//! depends on nothing but the calls and that clock.

mod jobs;
mod queue;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_record::blob_digest;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::limits::{MAX_BLOB_BYTES, MAX_DELAY, MAX_PAGE_RUNS, MAX_READ_BYTES};
use crate::{
    AppendError, Batch, BlobError, Blobs, Cursor, LogState, ReadError, RunLog, RunSummary,
};

/// How long a lease lasts where nothing else is said.
const LEASE_TTL: Duration = Duration::from_secs(10);

/// Run logs, blobs and a queue that live as long as the value. Clones share one store. Acknowledged
/// means: until the process ends.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes followers, in the order in which they came.
    appended: Notify,
    jobs: Mutex<jobs::Jobs>,
    /// Wakes whoever waits for a job, in the same way.
    queued: Notify,
    lease_ttl: Duration,
    /// When the store was made, and what the clock of the machine said then, in milliseconds since the
    /// Unix epoch.
    made: (Instant, u64),
}

#[derive(Debug, Default)]
struct State {
    logs: HashMap<RunId, Log>,
    /// Creation number to run, for lists.
    created: BTreeMap<u64, RunId>,
    blobs: HashMap<Digest, Vec<u8>>,
}

#[derive(Debug)]
struct Log {
    records: Vec<Vec<u8>>,
    sealed: bool,
    created_at_ms: u64,
}

impl Log {
    fn state(&self) -> LogState {
        LogState { len: self.records.len() as u64, sealed: self.sealed }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store. A lease lasts 10 s.
    #[must_use]
    pub fn new() -> Self {
        Self::with_lease_ttl(LEASE_TTL)
    }

    /// An empty store with another time for a lease, from 1 ms to 366 days.
    #[must_use]
    pub fn with_lease_ttl(lease_ttl: Duration) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            appended: Notify::new(),
            jobs: Mutex::default(),
            queued: Notify::new(),
            lease_ttl: lease_ttl.clamp(Duration::from_millis(1), MAX_DELAY),
            made: (Instant::now(), wall_ms()),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The lock is held for short, panic-free stretches only; each leaves the state whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock of the store: it starts with that of the machine and goes on with tokio's.
    fn now_ms(&self) -> u64 {
        let (made, made_ms) = self.shared.made;
        made_ms.saturating_add(u64::try_from(made.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn log_state(&self, run: &RunId) -> Option<LogState> {
        self.lock().logs.get(run).map(Log::state)
    }
}

#[async_trait]
impl RunLog for MemoryStore {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        batch.check()?;
        let now_ms = self.now_ms();
        let len = self.lock().append(run, expected_len, batch, now_ms)?;
        self.shared.appended.notify_waiters();
        Ok(len)
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        let state = self.lock();
        let Some(log) = state.logs.get(run) else { return Ok(Vec::new()) };
        let from = usize::try_from(from_seq).unwrap_or(usize::MAX);
        let mut bytes = 0_usize;
        let wanted = log.records.iter().skip(from).take(max_records).take_while(|record| {
            let first = bytes == 0;
            bytes = bytes.saturating_add(record.len());
            first || bytes <= MAX_READ_BYTES
        });
        Ok(wanted.cloned().collect())
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        Ok(self.log_state(run))
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        let state = self.lock();
        let end = after.map_or(u64::MAX, |cursor| cursor.0);
        let newest_first = state.created.range(..end).rev().take(limit.min(MAX_PAGE_RUNS));
        let summaries = newest_first.filter_map(|(number, run)| {
            let log = state.logs.get(run)?;
            Some(RunSummary {
                run: run.clone(),
                state: log.state(),
                created_at_ms: log.created_at_ms,
                cursor: Cursor(*number),
            })
        });
        Ok(summaries.collect())
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        let moved = async {
            loop {
                // Before the look, so that an append after the look wakes the wait.
                let appended = self.shared.appended.notified();
                tokio::pin!(appended);
                appended.as_mut().enable();
                let state = self.log_state(run).unwrap_or_default();
                if state.len > len || state.sealed {
                    return state;
                }
                appended.await;
            }
        };
        match tokio::time::timeout(timeout, moved).await {
            Ok(state) => Ok(state),
            Err(_) => Ok(self.log_state(run).unwrap_or_default()),
        }
    }
}

#[async_trait]
impl Blobs for MemoryStore {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        if bytes.len() > MAX_BLOB_BYTES {
            let (bytes, max_bytes) = (bytes.len() as u64, MAX_BLOB_BYTES as u64);
            return Err(BlobError::TooLarge { bytes, max_bytes });
        }
        let digest = blob_digest(&bytes);
        self.lock().blobs.entry(digest).or_insert(bytes);
        Ok(digest)
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        let Some(bytes) = self.lock().blobs.get(digest).cloned() else { return Ok(None) };
        if bytes.len() as u64 > max_bytes {
            return Err(BlobError::TooLarge { bytes: bytes.len() as u64, max_bytes });
        }
        let actual = blob_digest(&bytes);
        if actual != *digest {
            return Err(BlobError::Corrupt { digest: *digest, actual });
        }
        Ok(Some(bytes))
    }
}

impl State {
    fn append(
        &mut self,
        run: &RunId,
        expected: u64,
        batch: Batch,
        now_ms: u64,
    ) -> Result<u64, AppendError> {
        let now = self.logs.get(run).map(Log::state).unwrap_or_default();
        if now.sealed {
            return Err(AppendError::Sealed { len: now.len });
        }
        if now.len != expected {
            return Err(AppendError::Conflict { expected, actual: now.len });
        }
        for (digest, bytes) in batch.blobs {
            self.blobs.entry(digest).or_insert(bytes);
        }
        let number = self.created.len() as u64;
        let log = self.logs.entry(run.clone()).or_insert_with(|| {
            self.created.insert(number, run.clone());
            Log { records: Vec::new(), sealed: false, created_at_ms: now_ms }
        });
        log.records.extend(batch.records);
        log.sealed = batch.seal;
        Ok(log.records.len() as u64)
    }
}

/// A clock before 1970 reads as 0.
fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
