//! What every provider refuses before it looks at its storage.

use crate::limits::MAX_EPOCH_FLOOR;

use super::{Ask, Job, QueueError};

impl Job {
    /// Whether a queue takes the job.
    ///
    /// # Errors
    /// [`QueueError::Rejected`] if its floor is above [`MAX_EPOCH_FLOOR`].
    pub const fn check(&self) -> Result<(), QueueError> {
        if self.epoch_floor > MAX_EPOCH_FLOOR {
            return Err(QueueError::Rejected { what: "epoch floor above 2^53" });
        }
        Ok(())
    }
}

impl Ask {
    /// Whether a queue answers the call.
    ///
    /// # Errors
    /// [`QueueError::Rejected`] if it names no pool or asks for no job.
    pub const fn check(&self) -> Result<(), QueueError> {
        if self.pools.is_empty() {
            return Err(QueueError::Rejected { what: "call without a pool" });
        }
        if self.max == 0 {
            return Err(QueueError::Rejected { what: "call for no job" });
        }
        Ok(())
    }
}
