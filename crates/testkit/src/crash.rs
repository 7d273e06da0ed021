//! A store that dies at a chosen append.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_store::{
    AppendError, Ask, Batch, BlobError, Blobs, Cause, Cursor, DeadJob, Enqueued, FaultKind, Job,
    Lease, LeaseError, LogState, ParkedJob, Queue, QueueError, ReadError, RunLog, RunSummary,
    Standing, Store, StoreFault, WorkStore,
};

/// When the store dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashPoint {
    /// Never: for a first run that counts the appends.
    Never,
    /// At the n-th append, counted from 0: it is lost.
    Before(u64),
    /// At the n-th append, counted from 0: it is stored, and nobody hears of it.
    After(u64),
}

/// A store that dies at a chosen append: that append and every later call of any kind fails, as
/// for a process that is gone. What was stored until then is in the store behind it, where the
/// next life of the test finds it.
#[derive(Debug)]
pub struct CrashStore<S: ?Sized> {
    inner: Arc<S>,
    point: CrashPoint,
    appends: AtomicU64,
    is_dead: AtomicBool,
}

impl CrashPoint {
    /// Every point of a run that made `appends` appends without a crash, in order.
    pub fn all(appends: u64) -> impl Iterator<Item = Self> {
        (0..appends).flat_map(|n| [Self::Before(n), Self::After(n)])
    }
}

impl<S: Store + ?Sized> CrashStore<S> {
    /// Wraps a store, which stays behind for the next life.
    #[must_use]
    pub const fn new(inner: Arc<S>, point: CrashPoint) -> Self {
        let (appends, is_dead) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { inner, point, appends, is_dead }
    }

    /// Appends that were asked for while it lived, the one that killed it included.
    #[must_use]
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    /// Whether it has died.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::SeqCst)
    }

    fn alive(&self) -> Result<(), StoreFault> {
        if self.is_dead() { Err(gone()) } else { Ok(()) }
    }

    fn die(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl<S: Store + ?Sized> RunLog for CrashStore<S> {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        self.alive().map_err(AppendError::Unavailable)?;
        let nth = self.appends.fetch_add(1, Ordering::SeqCst);
        if self.point == CrashPoint::Before(nth) {
            self.die();
            return Err(AppendError::Unavailable(gone()));
        }
        let stored = self.inner.append(run, expected_len, batch).await;
        if self.point == CrashPoint::After(nth) {
            self.die();
            return Err(AppendError::Unknown(gone()));
        }
        stored
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        self.alive()?;
        self.inner.read(run, from_seq, max_records).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.alive()?;
        self.inner.state(run).await
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        self.alive()?;
        self.inner.list(after, limit).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.alive()?;
        let state = self.inner.wait_beyond(run, len, timeout).await;
        self.alive()?;
        state
    }
}

#[async_trait]
impl<S: Store + ?Sized> Blobs for CrashStore<S> {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.alive()?;
        self.inner.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.alive()?;
        self.inner.get(digest, max_bytes).await
    }
}

#[async_trait]
impl<S: WorkStore + ?Sized> Queue for CrashStore<S> {
    fn lease_ttl(&self) -> Duration {
        self.inner.lease_ttl()
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        self.alive()?;
        self.inner.enqueue(job).await
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        self.alive()?;
        self.inner.lease(ask).await
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.alive()?;
        self.inner.heartbeat(lease).await
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.alive()?;
        self.inner.settle(lease).await
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.alive()?;
        self.inner.release(lease, delay).await
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.alive()?;
        self.inner.park(lease).await
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        self.alive()?;
        self.inner.bury(lease, cause).await
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        self.alive()?;
        self.inner.standing(run).await
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        self.alive()?;
        self.inner.parked(after, limit).await
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        self.alive()?;
        self.inner.dead(after, limit).await
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        self.alive()?;
        self.inner.revive(run).await
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        self.alive()?;
        self.inner.discard(run).await
    }
}

fn gone() -> StoreFault {
    StoreFault::new(FaultKind::Closed, "the test let the process die here")
}
