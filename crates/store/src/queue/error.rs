//! How the operations of a queue can fail.

use crate::StoreFault;

/// The queue could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// What was asked for is out of bounds.
    #[error("the queue takes no {what}")]
    Rejected {
        /// What.
        what: &'static str,
    },
    /// The storage failed.
    #[error(transparent)]
    Unavailable(#[from] StoreFault),
}

impl QueueError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Rejected { .. } => "queue_rejected",
            Self::Unavailable(fault) => fault.code(),
        }
    }
}

/// A lease could not be kept or ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// It ran out. Somebody else may hold the job, and nothing was changed.
    #[error("the lease has run out; another worker may hold the run")]
    Lost,
    /// The storage failed. The lease may or may not have been kept or ended.
    #[error(transparent)]
    Unavailable(#[from] StoreFault),
}

impl LeaseError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Lost => "lease_lost",
            Self::Unavailable(fault) => fault.code(),
        }
    }
}
