//! What a worker tells of itself.

use probity_core::{Code, Entry, Outcome, RunId};
use serde::Serialize;
use tokio::task::JoinError;

/// Told of what a worker does, for logs and screens. It cannot change anything, and holds up the run
/// that it is told of.
pub trait WorkerWatch: Send + Sync {
    /// Something happened.
    fn event(&self, event: &WorkerEvent);

    /// An entry is in a run's log.
    fn entry(&self, _run: &RunId, _entry: &Entry) {}
}

/// What happened to a run in a worker's hands, or to the worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkerEvent {
    /// A run was leased.
    Leased {
        /// The run.
        run: RunId,
        /// The epoch of the lease.
        epoch: u64,
    },
    /// A run was left.
    Rested {
        /// The run.
        run: RunId,
        /// How.
        how: How,
    },
    /// A run could not be driven on.
    Failed {
        /// The run.
        run: RunId,
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
        /// When it is tried again, in milliseconds from now; `None` where it is not.
        retry_in_ms: Option<u64>,
    },
    /// A run became a dead letter.
    Buried {
        /// The run.
        run: RunId,
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
    /// A lease ran out, or nobody could tell that it did not. Nothing more was done with the run.
    LeaseLost {
        /// The run.
        run: RunId,
    },
    /// The queue could not be asked.
    StoreTrouble {
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
    /// Parked runs were brought in again, to be looked at.
    Swept {
        /// How many.
        woken: u64,
    },
}

/// How a run was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
#[non_exhaustive]
pub enum How {
    /// It has ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// Why, in one word.
        code: Code,
    },
    /// It waits for somebody: a human, or other runs.
    Parked,
    /// It waits for a time.
    Waits {
        /// When it is looked at again, in milliseconds from now.
        again_in_ms: u64,
    },
    /// It has ended, and the run that waits for it is not known to have heard.
    Unheard {
        /// When that is tried again, in milliseconds from now.
        again_in_ms: u64,
    },
    /// The worker was told to stop.
    Stopped,
    /// There is no such run yet.
    NotThere {
        /// When it is looked for again, in milliseconds from now.
        again_in_ms: u64,
    },
    /// There was no such run for so long that its job was given up.
    NeverCreated,
}

/// What a worker did, counted by lease.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tally {
    /// Leases taken.
    pub leased: u64,
    /// Runs found or brought to their end.
    pub ended: u64,
    /// Runs left before their end: they wait, or the worker was told to stop.
    pub left: u64,
    /// Runs that could not be driven on and are tried again.
    pub failed: u64,
    /// Runs that became dead letters.
    pub buried: u64,
    /// Leases lost.
    pub lost: u64,
}

impl Tally {
    /// Adds what came of one lease; a task that was cut off is a lease that is lost.
    pub(crate) fn add(&mut self, held: Result<Self, JoinError>) {
        let one = held.unwrap_or(Self { leased: 1, lost: 1, ..Self::default() });
        self.leased += one.leased;
        self.ended += one.ended;
        self.left += one.left;
        self.failed += one.failed;
        self.buried += one.buried;
        self.lost += one.lost;
    }
}
