//! Storage contracts: [`RunLog`], [`Blobs`] and [`Queue`], with one provider in memory.
//!
//! The contracts come first. A provider is whatever keeps them and passes the conformance suite
//! (feature `conformance`); the engine sees no more of it than these traits.
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
//!
//! # The queue
//!
//! A queue holds jobs: the names of runs that a worker should look at. It holds nothing else about a
//! run; what is to be done, and whether there is anything to do, is in the run's log. A job that is
//! given out twice or for nothing is therefore harmless, and one that is lost is not: a job stays
//! until the worker that holds it settles it.
//!
//! **One job for a run.** Enqueuing a run that has one changes nothing, but wakes it where it was
//! parked, and may wake it where it waits for a later time. Of all leases of a job, at most one has not run out.
//!
//! **A lease runs out.** It lasts [`Queue::lease_ttl`] from when it was given or from its last
//! heartbeat. Then the job is due again, and the one who held it is told [`LeaseError::Lost`] whatever
//! it asks for, even if nobody else has taken the job yet. A lost lease changes nothing: the job
//! belongs to whoever leases it next.
//!
//! **Epochs rise.** Each lease has a higher epoch than the one before it of the same job, and than the
//! floor that the job was enqueued with. The worker's first act is to append its epoch to the run's
//! log, by compare-and-set; the log takes no epoch that is not above the last one, so that of two
//! workers with the same run the later one goes on and the earlier one cannot append.
//!
//! **What survives.** Whatever a queue acknowledged survives what an append survives. A worker that
//! dies loses its leases when they run out, and nothing else.

mod batch;
mod blobs;
mod error;
mod fault;
pub mod limits;
mod memory;
mod queue;
mod run_log;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use batch::{Batch, BatchError};
pub use blobs::Blobs;
pub use error::{AppendError, BlobError, ReadError};
pub use fault::{FaultKind, StoreFault};
pub use memory::MemoryStore;
pub use queue::{
    Ask, Cause, DeadJob, Enqueued, Job, Lease, LeaseError, ParkedJob, Pool, PoolError, Queue,
    QueueError, Standing,
};
pub use run_log::{Cursor, LogState, RunLog, RunSummary, Store, WorkStore, read_run};
