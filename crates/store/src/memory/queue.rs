//! The queue in memory.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::RunId;
use tokio::time::Instant;

use crate::limits::{MAX_DELAY, MAX_PAGE_RUNS};
use crate::{
    Ask, Cause, DeadJob, Enqueued, Job, Lease, LeaseError, MemoryStore, ParkedJob, Queue,
    QueueError, Standing,
};

use super::jobs::{End, Jobs};

impl MemoryStore {
    /// The lock is held for short, panic-free stretches only; each leaves the state whole.
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a lease that is given or kept at that time runs out.
    fn until(&self, now: Instant) -> Instant {
        now + self.shared.lease_ttl
    }

    fn end(&self, lease: &Lease, end: End) -> Result<(), LeaseError> {
        let ended = self.jobs().end(lease, end, Instant::now(), self.now_ms());
        self.shared.queued.notify_waiters();
        ended
    }
}

#[async_trait]
impl Queue for MemoryStore {
    fn lease_ttl(&self) -> Duration {
        self.shared.lease_ttl
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        job.check()?;
        let enqueued = self.jobs().enqueue(job, Instant::now());
        self.shared.queued.notify_waiters();
        Ok(enqueued)
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        ask.check()?;
        let deadline = Instant::now() + ask.wait.min(MAX_DELAY);
        loop {
            // Before the look, so that a change after the look wakes the wait.
            let changed = self.shared.queued.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let now = Instant::now();
            let (leases, next) = self.jobs().lease(ask, now, self.until(now));
            if !leases.is_empty() || now >= deadline {
                return Ok(leases);
            }
            let wake_at = next.map_or(deadline, |next| next.min(deadline));
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep_until(wake_at) => {}
            }
        }
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        let now = Instant::now();
        self.jobs().heartbeat(lease, now, self.until(now))
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.end(lease, End::Settle)
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.end(lease, End::Release(delay))
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.end(lease, End::Park)
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        self.end(lease, End::Bury(cause))
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        Ok(self.jobs().standing(run))
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        Ok(self.jobs().parked(after).take(limit.min(MAX_PAGE_RUNS)).collect())
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        Ok(self.jobs().dead(after).take(limit.min(MAX_PAGE_RUNS)).collect())
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        let revived = self.jobs().revive(run, Instant::now());
        self.shared.queued.notify_waiters();
        Ok(revived)
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        Ok(self.jobs().discard(run))
    }
}
