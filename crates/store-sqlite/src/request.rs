//! What callers ask of the writer thread.

use std::time::{Duration, Instant};

use probity_core::{Digest, RunId};
use probity_store::{AppendError, Ask, Batch, BlobError, Cause, Enqueued, Job, Lease, StoreFault};
use tokio::sync::oneshot;

/// One request with the way back to who asked.
pub(crate) enum Request {
    Append {
        work: Append,
        reply: oneshot::Sender<Result<u64, AppendError>>,
    },
    Put {
        work: Put,
        reply: oneshot::Sender<Result<Digest, BlobError>>,
    },
    Enqueue {
        work: Job,
        reply: oneshot::Sender<Result<Enqueued, StoreFault>>,
    },
    Change {
        work: Change,
        reply: oneshot::Sender<Result<bool, StoreFault>>,
    },
    Lease(Asked),
    /// Leases that reached nobody.
    GiveBack(Vec<Lease>),
    /// Somebody wants to hear of commits of other processes.
    Follow,
}

/// A batch that was checked.
pub(crate) struct Append {
    pub(crate) run: RunId,
    pub(crate) expected_len: u64,
    pub(crate) batch: Batch,
}

/// A blob under its digest.
pub(crate) struct Put {
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

/// A change to a job. Its answer is whether it was made: false where the lease is lost or the dead
/// letter is none.
pub(crate) enum Change {
    Heartbeat(Lease),
    End(Lease, End),
    Revive(RunId),
    Discard(RunId),
}

/// How a lease ends.
pub(crate) enum End {
    Settle,
    Release(Duration),
    Park,
    Bury(Cause),
}

/// A call for jobs, which may wait.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    /// When it is answered with what there is, if anything.
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Result<Vec<Lease>, StoreFault>>,
}

impl Request {
    /// How much it adds to a transaction.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Append { work, .. } => work.batch.bytes(),
            Self::Put { work, .. } => work.bytes.len(),
            Self::Enqueue { .. }
            | Self::Change { .. }
            | Self::Lease(_)
            | Self::GiveBack(_)
            | Self::Follow => 0,
        }
    }

    /// Whether it is about jobs.
    pub(crate) fn is_of_queue(&self) -> bool {
        matches!(self, Self::Enqueue { .. } | Self::Change { .. })
    }

    /// Whether nobody else needs to hear of it.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self, Self::Change { work: Change::Heartbeat(_), .. })
    }
}
