//! The provider's queue.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::RunId;
use probity_store::limits::MAX_DELAY;
use probity_store::{
    Ask, Cause, DeadJob, Enqueued, FaultKind, Job, Lease, LeaseError, ParkedJob, Queue, QueueError,
    Standing, StoreFault,
};
use tokio::sync::oneshot;

use crate::SqliteStore;
use crate::request::{Asked, Change, End, Request};
use crate::standing;
use crate::store::unanswered;

/// Calls for jobs that wait at the same time; one beyond that waits to be let in.
pub(crate) const MAX_ASKS: usize = 1024;

impl SqliteStore {
    async fn change(&self, work: Change) -> Result<bool, StoreFault> {
        let (reply, answer) = oneshot::channel();
        self.send(Request::Change { work, reply }).await?;
        answer.await.unwrap_or_else(|_| Err(unanswered()))
    }

    async fn keep_or_end(&self, work: Change) -> Result<(), LeaseError> {
        if self.change(work).await? { Ok(()) } else { Err(LeaseError::Lost) }
    }
}

/// A call for jobs on its way. Dropped with an answer that nobody has taken, it gives the jobs back.
struct Call<'s> {
    store: &'s SqliteStore,
    answer: oneshot::Receiver<Result<Vec<Lease>, StoreFault>>,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(leases)) = self.answer.try_recv()
            && !leases.is_empty()
        {
            // If the writer has too much to do, the leases run out.
            self.store.try_send(Request::GiveBack(leases));
        }
    }
}

#[async_trait]
impl Queue for SqliteStore {
    fn lease_ttl(&self) -> Duration {
        self.options().lease_ttl()
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        job.check()?;
        let (reply, answer) = oneshot::channel();
        self.send(Request::Enqueue { work: job, reply }).await?;
        Ok(answer.await.unwrap_or_else(|_| Err(unanswered()))?)
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        ask.check()?;
        let wait = ask.wait.min(MAX_DELAY);
        let deadline = Instant::now() + wait;
        let Ok(permit) = tokio::time::timeout(wait, self.asks().acquire()).await else {
            return Ok(Vec::new());
        };
        let closed = |_| StoreFault::new(FaultKind::Closed, "the writer thread is gone");
        let _permit = permit.map_err(closed)?;
        let (reply, answer) = oneshot::channel();
        let mut call = Call { store: self, answer };
        self.send(Request::Lease(Asked { ask: ask.clone(), deadline, reply })).await?;
        Ok((&mut call.answer).await.unwrap_or_else(|_| Err(unanswered()))?)
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.keep_or_end(Change::Heartbeat(lease.clone())).await
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.keep_or_end(Change::End(lease.clone(), End::Settle)).await
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.keep_or_end(Change::End(lease.clone(), End::Release(delay))).await
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.keep_or_end(Change::End(lease.clone(), End::Park)).await
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        let cause = Cause::new(cause.code, cause.message);
        self.keep_or_end(Change::End(lease.clone(), End::Bury(cause))).await
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        let run = run.clone();
        Ok(self.read(move |connection| standing::standing(connection, &run)).await?)
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        let after = after.cloned();
        let read = move |connection: &_| standing::parked(connection, after.as_ref(), limit);
        Ok(self.read(read).await?)
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        let after = after.cloned();
        let read = move |connection: &_| standing::dead(connection, after.as_ref(), limit);
        Ok(self.read(read).await?)
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        Ok(self.change(Change::Revive(run.clone())).await?)
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        Ok(self.change(Change::Discard(run.clone())).await?)
    }
}
