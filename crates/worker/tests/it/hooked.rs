//! A store that asks the test before and after every operation.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_store::{
    AppendError, Ask, Batch, BlobError, Blobs, Cause, Cursor, DeadJob, Enqueued, FaultKind, Job,
    Lease, LeaseError, LogState, ParkedJob, Queue, QueueError, ReadError, RunLog, RunSummary,
    Standing, StoreFault, WorkStore,
};

/// One operation: its name, its run where it has one, and whether it was done yet.
#[derive(Debug, Clone)]
pub(crate) struct Op {
    pub(crate) name: &'static str,
    pub(crate) run: Option<RunId>,
    pub(crate) is_done: bool,
}

impl Op {
    pub(crate) fn is(&self, name: &str, run: &str, is_done: bool) -> bool {
        let of = self.run.as_ref().map(RunId::as_str);
        self.name == name && of == Some(run) && self.is_done == is_done
    }
}

/// True fails the operation.
pub(crate) type Answer = Pin<Box<dyn Future<Output = bool> + Send>>;
type Hook = Box<dyn Fn(Op) -> Answer + Send + Sync>;

pub(crate) struct Hooked {
    inner: Arc<dyn WorkStore>,
    hook: Hook,
}

/// An answer that is there.
pub(crate) fn now(fails: bool) -> Answer {
    Box::pin(std::future::ready(fails))
}

fn fault() -> StoreFault {
    StoreFault::new(FaultKind::Io, "told to")
}

impl Hooked {
    pub(crate) fn over(
        inner: Arc<dyn WorkStore>,
        hook: impl Fn(Op) -> Answer + Send + Sync + 'static,
    ) -> Arc<dyn WorkStore> {
        Arc::new(Self { inner, hook: Box::new(hook) })
    }

    async fn around<T, E: From<StoreFault>>(
        &self,
        name: &'static str,
        run: Option<&RunId>,
        work: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        self.with(name, run, work, |_| E::from(fault())).await
    }

    async fn with<T, E>(
        &self,
        name: &'static str,
        run: Option<&RunId>,
        work: impl Future<Output = Result<T, E>> + Send,
        error: impl Fn(bool) -> E,
    ) -> Result<T, E> {
        let op = |is_done| Op { name, run: run.cloned(), is_done };
        if (self.hook)(op(false)).await {
            return Err(error(false));
        }
        let done = work.await;
        if (self.hook)(op(true)).await {
            return Err(error(true));
        }
        done
    }
}

#[async_trait]
impl RunLog for Hooked {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        let error = |is_done| match is_done {
            true => AppendError::Unknown(fault()),
            false => AppendError::Unavailable(fault()),
        };
        self.with("append", Some(run), self.inner.append(run, len, batch), error).await
    }

    async fn read(&self, run: &RunId, from: u64, max: usize) -> Result<Vec<Vec<u8>>, ReadError> {
        self.around("read", Some(run), self.inner.read(run, from, max)).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.around("state", Some(run), self.inner.state(run)).await
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        self.inner.list(after, limit).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.inner.wait_beyond(run, len, timeout).await
    }
}

#[async_trait]
impl Blobs for Hooked {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.around("put", None, self.inner.put(bytes)).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.around("get", None, self.inner.get(digest, max_bytes)).await
    }
}

#[async_trait]
impl Queue for Hooked {
    fn lease_ttl(&self) -> Duration {
        self.inner.lease_ttl()
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        let run = job.run.clone();
        self.around("enqueue", Some(&run), self.inner.enqueue(job)).await
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        self.around("lease", None, self.inner.lease(ask)).await
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.around("heartbeat", Some(&lease.run), self.inner.heartbeat(lease)).await
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.around("settle", Some(&lease.run), self.inner.settle(lease)).await
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.around("release", Some(&lease.run), self.inner.release(lease, delay)).await
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.around("park", Some(&lease.run), self.inner.park(lease)).await
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        self.around("bury", Some(&lease.run), self.inner.bury(lease, cause)).await
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        self.around("standing", Some(run), self.inner.standing(run)).await
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        self.around("parked", None, self.inner.parked(after, limit)).await
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        self.inner.dead(after, limit).await
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        self.around("revive", Some(run), self.inner.revive(run)).await
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        self.inner.discard(run).await
    }
}
