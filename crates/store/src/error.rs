//! How each operation can fail. One enum per operation.

use probity_core::Digest;

use crate::{BatchError, StoreFault};

/// An append was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The log has another length than the writer believed: someone else appended. Nothing of the
    /// batch is stored.
    #[error(
        "the log has {actual} records where {expected} were expected; another writer was faster"
    )]
    Conflict {
        /// The length that the writer named.
        expected: u64,
        /// The length that the log has; 0 for a run that does not exist.
        actual: u64,
    },
    /// The log is sealed. Nothing of the batch is stored.
    #[error("the log is sealed with {len} records; nothing may be appended")]
    Sealed {
        /// Its length, the seal included.
        len: u64,
    },
    /// The batch breaks a limit. Nothing of it is stored.
    #[error(transparent)]
    Rejected(#[from] BatchError),
    /// The storage failed before it stored anything of the batch.
    #[error("nothing was stored: {0}")]
    Unavailable(StoreFault),
    /// The storage failed and does not say whether the batch is stored: read the tail before
    /// concluding anything.
    #[error("not known whether the batch was stored, read the log to find out: {0}")]
    Unknown(StoreFault),
}

impl AppendError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "append_conflict",
            Self::Sealed { .. } => "append_sealed",
            Self::Rejected(_) => "append_rejected",
            Self::Unavailable(fault) => fault.code(),
            Self::Unknown(_) => "append_unknown",
        }
    }
}

/// A log could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The storage failed.
    #[error(transparent)]
    Unavailable(#[from] StoreFault),
}

impl ReadError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(fault) => fault.code(),
        }
    }
}

/// A blob could not be put or got.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// Larger than the limit of the store, or than the reader allows.
    #[error("blob of {bytes} bytes where at most {max_bytes} are allowed")]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The stored bytes are not the blob's: they were changed in the storage.
    #[error(
        "blob {digest} holds bytes that hash to {actual}: the storage is damaged; restore the last backup"
    )]
    Corrupt {
        /// The name that was asked for.
        digest: Digest,
        /// What is there instead.
        actual: Digest,
    },
    /// The storage failed.
    #[error(transparent)]
    Unavailable(#[from] StoreFault),
}

impl BlobError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "blob_too_large",
            Self::Corrupt { .. } => "blob_corrupt",
            Self::Unavailable(fault) => fault.code(),
        }
    }
}
