//! The writer: turns entries into chained records.

use probity_core::{Digest, Entry, Event, RunId};

use crate::body::{BodyRef, GENESIS};
use crate::canonical::CanonicalError;
use crate::{FormatVersion, LineFault, MAX_RECORD_BYTES, Record, Seal, VersionError};

/// The end of one run log: all that is needed to write the next record.
///
/// [`Chain::append`] moves the chain at once, before the record is stored. A writer whose store
/// then refuses the record goes back to a clone from before; cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    run: RunId,
    len: u64,
    head: Digest,
    sealed: bool,
}

/// One finished record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    bytes: Vec<u8>,
    hash: Digest,
    seq: u64,
}

/// The entry cannot be the next record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The log is sealed: nothing may follow.
    #[error("run `{run}` is sealed after {len} records; nothing may be appended")]
    Sealed {
        /// The run.
        run: RunId,
        /// Its records, the seal included.
        len: u64,
    },
    /// The first record must be `run.opened` of the chain's run, and only the first may be.
    #[error(
        "`{event}` cannot be record {seq} of run `{run}`; the first record opens the run, no other does"
    )]
    Header {
        /// The run of the chain.
        run: RunId,
        /// The record's number.
        seq: u64,
        /// The event's wire word.
        event: &'static str,
    },
    /// The entry holds something that records do not, such as an integer beyond ±(2^53 − 1).
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The record would be longer than [`MAX_RECORD_BYTES`].
    #[error(
        "the record would be {bytes} bytes, the limit is {MAX_RECORD_BYTES}; put content into blobs"
    )]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// The last record cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// It cannot be read.
    #[error("the last record cannot be read: {0}")]
    Line(#[from] LineFault),
    /// It was written by a newer build.
    #[error(transparent)]
    Version(#[from] VersionError),
}

impl Chain {
    /// The chain of a run that has no record yet.
    #[must_use]
    pub const fn new(run: RunId) -> Self {
        Self { run, len: 0, head: GENESIS, sealed: false }
    }

    /// The chain behind a log's last record, given as its line without the newline. Only that line
    /// is checked; whether the log before it is whole is for [`crate::verify_records`].
    ///
    /// # Errors
    /// [`ResumeError::Line`] if the line is damaged, [`ResumeError::Version`] if a newer build
    /// wrote it.
    pub fn resume(last: &[u8]) -> Result<Self, ResumeError> {
        Ok(Self::after(&Record::parse(last)?)?)
    }

    /// The chain behind a record that was read already.
    ///
    /// # Errors
    /// [`VersionError::NewerThanWriter`] if a newer build wrote it.
    pub fn after(last: &Record) -> Result<Self, VersionError> {
        last.version.check_appendable()?;
        Ok(Self {
            run: last.run.clone(),
            len: last.seq.saturating_add(1),
            head: last.hash,
            sealed: last.seal.is_some(),
        })
    }

    /// Writes the next record and moves behind it. A [`Event::Sealed`] entry gets its [`Seal`] here
    /// and ends the chain. On an error the chain is as before.
    ///
    /// # Errors
    /// [`ChainError`]: sealed already, a misplaced `run.opened`, a value without a canonical form,
    /// or too long.
    pub fn append(&mut self, entry: &Entry) -> Result<Line, ChainError> {
        if self.sealed {
            return Err(ChainError::Sealed { run: self.run.clone(), len: self.len });
        }
        self.check_header(&entry.event)?;
        let seal = match &entry.event {
            Event::Sealed { outcome } => {
                Some(Seal { events: self.len, head: self.head, outcome: *outcome })
            }
            _ => None,
        };
        let body = BodyRef {
            v: FormatVersion::CURRENT,
            run: &self.run,
            seq: self.len,
            at_ms: entry.at_ms,
            prev: self.head,
            event: &entry.event,
            seal,
        };
        let (bytes, hash) = body.write()?;
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(ChainError::TooLong { bytes: bytes.len() });
        }
        let line = Line { bytes, hash, seq: self.len };
        self.len += 1;
        self.head = hash;
        self.sealed = seal.is_some();
        Ok(line)
    }

    /// The run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// Records so far: the number of the next one, and the length to expect on append.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no record yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The hash of the last record; 64 zeros before the first.
    #[must_use]
    pub const fn head(&self) -> Digest {
        self.head
    }

    /// Whether the last record is the seal.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.sealed
    }

    fn check_header(&self, event: &Event) -> Result<(), ChainError> {
        let legal = match event {
            Event::RunOpened { run, .. } => self.len == 0 && *run == self.run,
            _ => self.len > 0,
        };
        if legal {
            return Ok(());
        }
        Err(ChainError::Header { run: self.run.clone(), seq: self.len, event: event.name() })
    }
}

impl Line {
    /// The record without a newline; it holds none.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The record without a newline, as a store takes it.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// SHA-256 of its body.
    #[must_use]
    pub const fn hash(&self) -> Digest {
        self.hash
    }

    /// 0-based place in the run log.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }
}
