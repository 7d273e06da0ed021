//! What callers ask of the writer thread.

use probity_core::{Digest, RunId};
use probity_store::{AppendError, Batch, BlobError};
use tokio::sync::oneshot;

/// One request with the way back to who asked.
pub(crate) enum Request {
    Append { work: Append, reply: oneshot::Sender<Result<u64, AppendError>> },
    Put { work: Put, reply: oneshot::Sender<Result<Digest, BlobError>> },
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

impl Request {
    /// How much it adds to a transaction.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Append { work, .. } => work.batch.bytes(),
            Self::Put { work, .. } => work.bytes.len(),
        }
    }
}
