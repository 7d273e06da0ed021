//! What a task puts into a store and asks of it: counted on a store in memory, the same everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity::core::{Digest, RunId};
use probity::store::{
    AppendError, Ask, Batch, BlobError, Blobs, Cause, Cursor, DeadJob, Enqueued, Job, Lease,
    LeaseError, LogState, MemoryStore, ParkedJob, Queue, QueueError, ReadError, RunLog, RunSummary,
    Standing, WorkStore,
};
use serde::{Deserialize, Serialize};

use super::mode::{Asked, Mode, tasks};
use super::rig::{Ends, Rig};
use crate::error::BenchError;

/// Tasks that are counted.
const TASKS: u32 = 50;

/// Per task, from its submission to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) mode: Mode,
    pub(crate) turns: u32,
    /// Batches, each of which a durable store makes durable by itself.
    pub(crate) appends: f64,
    pub(crate) records: f64,
    pub(crate) record_bytes: f64,
    pub(crate) blobs: f64,
    pub(crate) blob_bytes: f64,
    /// Calls that change the queue: in, leased, out.
    pub(crate) queue_writes: f64,
    /// Reads of logs, states and content.
    pub(crate) reads: f64,
}

/// A store that counts.
#[derive(Default)]
struct Counted {
    store: MemoryStore,
    appends: AtomicU64,
    records: AtomicU64,
    record_bytes: AtomicU64,
    blobs: AtomicU64,
    blob_bytes: AtomicU64,
    queue_writes: AtomicU64,
    reads: AtomicU64,
}

/// Counts all modes.
pub(crate) async fn measure(modes: &[Mode]) -> Result<Vec<Shape>, BenchError> {
    let mut shapes = Vec::new();
    for mode in modes {
        let store = Arc::new(Counted::default());
        let seen: Arc<dyn WorkStore> = Arc::clone(&store) as Arc<dyn WorkStore>;
        let rig = Rig::new(seen, tasks(*mode, mode.turns(), &Asked::counted())?);
        rig.submit(0, TASKS).await?;
        let hand = rig.start("hand", 16, Ends::default())?;
        hand.ended(u64::from(TASKS)).await?;
        hand.drain().await?;
        shapes.push(store.shape(*mode));
    }
    Ok(shapes)
}

impl Counted {
    fn shape(&self, mode: Mode) -> Shape {
        let each = |count: &AtomicU64| {
            let count = u32::try_from(count.load(Ordering::SeqCst)).unwrap_or(u32::MAX);
            f64::from(count) / f64::from(TASKS)
        };
        Shape {
            mode,
            turns: mode.turns(),
            appends: each(&self.appends),
            records: each(&self.records),
            record_bytes: each(&self.record_bytes),
            blobs: each(&self.blobs),
            blob_bytes: each(&self.blob_bytes),
            queue_writes: each(&self.queue_writes),
            reads: each(&self.reads),
        }
    }

    fn reads(&self) -> &MemoryStore {
        add(&self.reads, 1);
        &self.store
    }

    fn writes(&self) -> &MemoryStore {
        add(&self.queue_writes, 1);
        &self.store
    }
}

fn add(counter: &AtomicU64, more: usize) {
    counter.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::SeqCst);
}

#[async_trait]
impl RunLog for Counted {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        add(&self.appends, 1);
        add(&self.records, batch.records.len());
        add(&self.record_bytes, batch.records.iter().map(Vec::len).sum());
        add(&self.blobs, batch.blobs.len());
        add(&self.blob_bytes, batch.blobs.iter().map(|(_, bytes)| bytes.len()).sum());
        self.store.append(run, expected_len, batch).await
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        self.reads().read(run, from_seq, max_records).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.reads().state(run).await
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        self.reads().list(after, limit).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.reads().wait_beyond(run, len, timeout).await
    }
}

#[async_trait]
impl Blobs for Counted {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        add(&self.blobs, 1);
        add(&self.blob_bytes, bytes.len());
        self.store.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.reads().get(digest, max_bytes).await
    }
}

#[async_trait]
impl Queue for Counted {
    fn lease_ttl(&self) -> Duration {
        self.store.lease_ttl()
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        self.writes().enqueue(job).await
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        let leases = self.store.lease(ask).await?;
        add(&self.queue_writes, leases.len());
        Ok(leases)
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.writes().heartbeat(lease).await
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.writes().settle(lease).await
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.writes().release(lease, delay).await
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.writes().park(lease).await
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        self.writes().bury(lease, cause).await
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        self.store.standing(run).await
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        self.store.parked(after, limit).await
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        self.store.dead(after, limit).await
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        self.store.revive(run).await
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        self.store.discard(run).await
    }
}
