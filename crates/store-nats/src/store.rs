//! The provider: the three contracts over one connection.

use std::collections::HashSet;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_store::{
    AppendError, Ask, Batch, BlobError, Blobs, Cause, Cursor, DeadJob, Enqueued, Job, Lease,
    LeaseError, LogState, ParkedJob, Pool, Queue, QueueError, ReadError, RunLog, RunSummary,
    Standing,
};

use crate::held::Held;
use crate::kept::Kept;
use crate::link::Link;
use crate::space::Space;
use crate::tail::Tails;
use crate::{ConnectError, NatsOptions, connect};

/// Run logs, blobs and jobs on NATS JetStream. Clones share one connection.
#[derive(Clone)]
pub struct NatsStore {
    pub(crate) shared: Arc<Shared>,
}

/// What clones share.
pub(crate) struct Shared {
    pub(crate) link: Link,
    pub(crate) space: Space,
    pub(crate) options: NatsOptions,
    pub(crate) tails: Tails,
    pub(crate) held: Held,
    pub(crate) kept: Kept,
    /// Pools whose consumer is known to be there.
    pub(crate) pools: Mutex<HashSet<Pool>>,
    /// Which pool is asked first by the next call.
    pub(crate) turn: AtomicU8,
}

impl std::fmt::Debug for NatsStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsStore").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl NatsStore {
    /// Connects, checks what the servers promise, and creates the streams where they are missing.
    /// Tries for at most [`NatsOptions::timeout_ms`].
    ///
    /// # Errors
    /// [`ConnectError`]: the servers cannot be reached, or are less than what the options ask for.
    pub async fn connect(options: NatsOptions) -> Result<Self, ConnectError> {
        let (link, space) = connect::open(&options).await?;
        let held = Held::new(options.lease_ttl());
        let (tails, kept, pools) = (Tails::default(), Kept::default(), Mutex::default());
        let turn = AtomicU8::new(0);
        let shared = Shared { link, space, options, tails, held, kept, pools, turn };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &NatsOptions {
        &self.shared.options
    }
}

#[async_trait]
impl RunLog for NatsStore {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        self.append_batch(run, expected_len, batch).await
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        Ok(self.read_records(run, from_seq, max_records).await?)
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        let tail = self.tail(run, self.shared.link.end()).await;
        Ok(tail.map_err(|failure| failure.fault())?.state())
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        Ok(self.list_runs(after, limit).await.map_err(|failure| failure.fault())?)
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        Ok(self.wait_for_growth(run, len, timeout).await.map_err(|failure| failure.fault())?)
    }
}

#[async_trait]
impl Blobs for NatsStore {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.put_blob(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.get_blob(digest, max_bytes).await
    }
}

#[async_trait]
impl Queue for NatsStore {
    fn lease_ttl(&self) -> Duration {
        self.shared.options.lease_ttl()
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        self.enqueue_job(job).await
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        self.lease_jobs(ask).await
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.renew(lease).await
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.settle_job(lease).await
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.hand_back(lease, delay).await
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.set_aside(lease, None).await
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        self.set_aside(lease, Some(cause)).await
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        self.standing_of(run).await
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        self.list_parked(after, limit).await
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        self.list_dead(after, limit).await
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        self.revive_job(run).await
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        self.discard_job(run).await
    }
}
