//! The contract of work queues.

mod bounds;
mod error;
mod job;
mod lease;

use std::time::Duration;

use async_trait::async_trait;
use probity_core::RunId;

pub use error::{LeaseError, QueueError};
pub use job::{Cause, DeadJob, Enqueued, Job, ParkedJob, Pool, PoolError, Standing};
pub use lease::{Ask, Lease};

/// Runs that wait for a worker. See the crate's documentation for the contract.
#[async_trait]
pub trait Queue: Send + Sync {
    /// How long a lease lasts without a heartbeat. The same for every lease of this queue.
    fn lease_ttl(&self) -> Duration;

    /// Puts a job in, or wakes the one that is parked or, where the provider can, that waits for a
    /// later time. Acknowledged means kept, as for an append.
    ///
    /// A parked job that is woken takes the pool and the delay that are named now and counts its
    /// deliveries from 0. One that waited for a later time keeps its pool and its count. Either goes
    /// on above its own epochs and above the floor that is named now.
    ///
    /// # Errors
    /// [`QueueError::Rejected`] if no queue would take the job; [`QueueError::Unavailable`] if the
    /// storage failed. After an error the job may or may not be there; enqueuing it again is safe.
    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError>;

    /// Waits until there is a job in one of the pools, at most `ask.wait`, and leases what is there up
    /// to `ask.max` and to [`crate::limits::MAX_LEASES`]. Empty after the wait. Of jobs that are due,
    /// those that have been due for longer come first, as far as the provider knows; none is passed
    /// over for ever.
    ///
    /// A call that is dropped before it answers may have leased jobs, which come back when their
    /// leases run out, or sooner.
    ///
    /// # Errors
    /// [`QueueError::Rejected`] if it asks for no pool or for no job; [`QueueError::Unavailable`] if
    /// the storage failed.
    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError>;

    /// Makes the lease last for another [`Queue::lease_ttl`] from now. A lease is kept and ended
    /// through the provider that gave it.
    ///
    /// # Errors
    /// [`LeaseError::Lost`] if it has run out; [`LeaseError::Unavailable`] if the storage failed, which
    /// says nothing about the lease.
    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError>;

    /// Ends the lease and the job: there is nothing left to do.
    ///
    /// # Errors
    /// As [`Queue::heartbeat`].
    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError>;

    /// Ends the lease; the job is due again after `delay`, behind those that are due by then.
    ///
    /// # Errors
    /// As [`Queue::heartbeat`].
    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError>;

    /// Ends the lease; the job is not due until somebody enqueues it again.
    ///
    /// # Errors
    /// As [`Queue::heartbeat`].
    async fn park(&self, lease: &Lease) -> Result<(), LeaseError>;

    /// Ends the lease; the job is a dead letter until somebody revives or discards it.
    ///
    /// # Errors
    /// As [`Queue::heartbeat`].
    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError>;

    /// How the queue has the job of a run; `None` if it has none.
    ///
    /// # Errors
    /// [`QueueError::Unavailable`] if the storage failed.
    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError>;

    /// Parked jobs, by run, behind `after`; at most `limit` and at most
    /// [`crate::limits::MAX_PAGE_RUNS`].
    ///
    /// # Errors
    /// [`QueueError::Unavailable`] if the storage failed.
    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError>;

    /// Dead letters, by run, behind `after`; bounded as [`Queue::parked`].
    ///
    /// # Errors
    /// [`QueueError::Unavailable`] if the storage failed.
    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError>;

    /// Makes a dead letter a job that is due, in its pool and with no deliveries yet. False if there
    /// is no such dead letter.
    ///
    /// # Errors
    /// [`QueueError::Unavailable`] if the storage failed.
    async fn revive(&self, run: &RunId) -> Result<bool, QueueError>;

    /// Forgets a dead letter. Its run stays as it is. False if there is no such dead letter.
    ///
    /// # Errors
    /// [`QueueError::Unavailable`] if the storage failed.
    async fn discard(&self, run: &RunId) -> Result<bool, QueueError>;
}
