//! A job in somebody's hands.

use std::time::Duration;

use probity_core::{RunId, WorkerId};

use super::Pool;

/// What a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Who asks.
    pub worker: WorkerId,
    /// From which pools; at least one.
    pub pools: Vec<Pool>,
    /// How many jobs at most; at least one.
    pub max: usize,
    /// How long to wait for the first, at most.
    pub wait: Duration,
}

/// The right to work on a run until it runs out. Not the right to append: that is the log's to give,
/// to the highest epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The pool that it was taken from.
    pub pool: Pool,
    /// Above the floor of the job, and above every earlier lease of the same job.
    pub epoch: u64,
    /// How often this job was leased since it was enqueued, woken or revived, this lease included.
    pub deliveries: u32,
    /// The provider's own name of the lease.
    pub handle: String,
}
