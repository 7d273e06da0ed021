//! Bytes: canonical JSON, hash-chained records, the seal, candidate hashes, blob digests.
//!
//! No I/O, no clock, no randomness: text in, text out. `docs/record-format.md` is the format's own
//! document; this crate is one reader and writer of it.
//!
//! - [`canonical`]: RFC 8785, and the stricter profile that records keep to.
//! - [`candidate`]: the hash that names a claim. A different rule, on purpose.
//! - [`Chain`] writes records, [`read_records`] and [`verify_records`] read them.
//! - [`Ledger`] does both for the log of a workflow run.

pub mod candidate;
pub mod canonical;

mod blob;
mod body;
mod chain;
mod finding;
mod ledger;
mod read;
mod submission;
mod version;

pub use blob::blob_digest;
pub use body::{MAX_RECORD_BYTES, Record, Seal};
pub use candidate::{candidate_hash, claim_candidate};
pub use chain::{Chain, ChainError, Line, ResumeError};
pub use finding::{LineFault, RecordFinding};
pub use ledger::{
    LEDGER_VERSION, Ledger, LedgerError, LedgerLine, LedgerRecord, MAX_INLINE_BYTES, StepText,
    read_step,
};
pub use read::{
    ReadError, Report, RunRecords, read_jsonl, read_records, verify_jsonl, verify_records,
};
pub use submission::{SUBMISSION_NAMESPACE, submission_id};
pub use version::{FormatVersion, VersionError};
