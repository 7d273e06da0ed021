//! Storage contracts: [`RunLog`] and [`Blobs`], with one provider in memory.
//!
//! The contracts come first. A provider is whatever keeps them and passes the conformance suite
//! (feature `conformance`); the engine sees no more of it than these two traits.
//!
//! # The run log
//!
//! A run log is a list of records, numbered from 0, that only grows. A record is opaque here: a
//! line of 1 to [`limits::MAX_RECORD_BYTES`] bytes without a newline. What is in it, and whether it
//! continues the chain, is the business of `probity-record`.
//!
//! **An append is one decision.** It names the length that the writer believes the log has. If that
//! is the length, the whole batch is stored, otherwise nothing is. Of all appends that name the
//! same length of the same run, at most one is ever stored; who got it wrong is told the length
//! there is.
//!
//! **Acknowledged means kept.** After `Ok`, the batch survives whatever the provider states: a crash
//! of the process for every durable provider, loss of power at the level it names. The blobs of a
//! batch are kept no later than the records that name them, so a reader that sees a record can read
//! what it points at.
//!
//! **An error says what is known.** [`AppendError::Unknown`] is the only one after which the batch may
//! or may not be stored: the writer reads the tail before it concludes anything. After every other
//! error nothing of the batch is stored.
//!
//! **A seal is final.** After a batch with `seal`, every append to that run is refused with
//! [`AppendError::Sealed`], whatever length it names. There is no way to remove a record.
//!
//! **Readers see prefixes.** A read gives records of acknowledged batches, or of batches about to be
//! acknowledged, in order and without gaps; two reads never disagree about a record. A run that
//! nobody appended to does not exist: it has no state, reads as empty and is not listed.
//!
//! # Blobs
//!
//! A blob is named by the SHA-256 of its bytes. Putting it twice is putting it once. A blob whose
//! bytes do not hash to its name is an error, never an answer.

mod batch;
mod blobs;
mod error;
mod fault;
pub mod limits;
mod memory;
mod run_log;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use batch::{Batch, BatchError};
pub use blobs::Blobs;
pub use error::{AppendError, BlobError, ReadError};
pub use fault::{FaultKind, StoreFault};
pub use memory::MemoryStore;
pub use run_log::{Cursor, LogState, RunLog, RunSummary, Store, read_run};
