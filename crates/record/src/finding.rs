//! What can be wrong with a record, each with a stable code.

use probity_core::{Digest, RunId};

use crate::canonical::NotCanonical;
use crate::{FormatVersion, VersionError};

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RecordFinding {
    /// 1-based line of the log.
    pub line: u64,
    /// What is wrong with it.
    pub fault: LineFault,
}

/// What is wrong with one line, by itself or in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// Not `{"body":…,"hash":"…"}` to the byte.
    #[error("not `{{\"body\":…,\"hash\":\"64 hex digits\"}}`: torn or not a record")]
    Envelope,
    /// Longer than [`crate::MAX_RECORD_BYTES`].
    #[error("{bytes} bytes long, more than the {} of a record", crate::MAX_RECORD_BYTES)]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The body is not what was hashed.
    #[error("the body hashes to {computed}, the record says {recorded}: one of them was changed")]
    Hash {
        /// What the record says.
        recorded: Digest,
        /// What its bytes give.
        computed: Digest,
    },
    /// The body is not in canonical form, so no writer of this format made it.
    #[error("the body is {0}")]
    NotCanonical(#[from] NotCanonical),
    /// The version is malformed or of another major.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The body is canonical JSON but not a record of this version.
    #[error("the body is not a record: {message}")]
    Body {
        /// Which field or name, and where.
        message: String,
    },
    /// Written by a newer minor version and holding a name that this build does not know.
    #[error("written in format version {found} with something this build does not know: {message}")]
    Newer {
        /// The record's version.
        found: FormatVersion,
        /// Which name.
        message: String,
    },
    /// A record of a workflow run's log, in the place of a delegation's.
    #[error("a record of a workflow run's log, not of a delegation's")]
    WorkflowLog,
    /// A record of a delegation's log, in the place of a workflow run's.
    #[error("a record of a delegation's log, not of a workflow run's")]
    DelegationLog,
    /// A sealing event without the `seal` field.
    #[error("a sealing record without its `seal`")]
    SealMissing,
    /// A `seal` field in another record.
    #[error("a `seal` in a record that is not the sealing one")]
    SealMisplaced,
    /// Event and seal name different outcomes.
    #[error("the seal and its event name different outcomes")]
    SealOutcome,
    /// The first record is not `run.opened` of the log's run, or a later one is `run.opened`.
    #[error(
        "the first record, and no other, opens the run: a part of the log is missing or foreign"
    )]
    Header,
    /// Another run's record.
    #[error("a record of run `{found}` in the log of run `{expected}`")]
    Run {
        /// The run of the log.
        expected: RunId,
        /// The run of the record.
        found: RunId,
    },
    /// Records are missing, repeated or out of order.
    #[error("record number {found} where {expected} belongs")]
    Seq {
        /// The number that belongs here.
        expected: u64,
        /// The number that is here.
        found: u64,
    },
    /// The chain is broken between this record and the one before.
    #[error("continues a record with hash {found}, but the one before has {expected}")]
    Prev {
        /// The hash of the record before.
        expected: Digest,
        /// What this one names.
        found: Digest,
    },
    /// Something after the seal.
    #[error("stands after the seal")]
    AfterSeal,
    /// The seal counts other records than stand before it.
    #[error("the seal counts {stated} records, {found} stand before it")]
    SealEvents {
        /// What the seal says.
        stated: u64,
        /// What is there.
        found: u64,
    },
    /// The seal names another last record.
    #[error("the seal names {stated} as the last record, that is {found}")]
    SealHead {
        /// What the seal says.
        stated: Digest,
        /// What is there.
        found: Digest,
    },
    /// The last line has no newline: the file was cut there.
    #[error("the line has no newline: the file was cut here")]
    NoNewline,
    /// A line without content.
    #[error("an empty line")]
    EmptyLine,
    /// No record at all.
    #[error("the log is empty")]
    Empty,
}

impl LineFault {
    /// The stable machine word of this kind of finding.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Envelope => "record_envelope",
            Self::TooLong { .. } => "record_too_long",
            Self::Hash { .. } => "record_hash",
            Self::NotCanonical(_) => "record_not_canonical",
            Self::Version(_) => "record_version",
            Self::Body { .. } => "record_body",
            Self::Newer { .. } => "record_newer",
            Self::WorkflowLog => "log_of_workflow",
            Self::DelegationLog => "log_of_delegation",
            Self::SealMissing => "seal_missing",
            Self::SealMisplaced => "seal_misplaced",
            Self::SealOutcome => "seal_outcome",
            Self::Header => "log_header",
            Self::Run { .. } => "log_run",
            Self::Seq { .. } => "log_seq",
            Self::Prev { .. } => "log_prev",
            Self::AfterSeal => "log_after_seal",
            Self::SealEvents { .. } => "seal_events",
            Self::SealHead { .. } => "seal_head",
            Self::NoNewline => "log_no_newline",
            Self::EmptyLine => "log_empty_line",
            Self::Empty => "log_empty",
        }
    }
}
