//! One record: a line `{"body":{…},"hash":"…"}`, and what is in it.

use probity_core::{Digest, Entry, Event, Outcome, RunId};
use serde::{Deserialize, Serialize};

use crate::canonical::{self, CanonicalError};
use crate::ledger::is_ledger;
use crate::{FormatVersion, LineFault, blob_digest};

/// The longest record, envelope included, in bytes: 256 KiB.
pub const MAX_RECORD_BYTES: usize = 256 * 1024;

const HEAD: &[u8] = b"{\"body\":";
const MIDDLE: &[u8] = b",\"hash\":\"";
const TAIL: &[u8] = b"\"}";
const HASH_DIGITS: usize = 64;

/// What stands before the first record: 64 zeros.
pub(crate) const GENESIS: Digest = Digest::from_bytes([0; 32]);

/// The seal's statement about the records before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// How many records stand before the sealing one.
    pub events: u64,
    /// The hash of the last of them.
    pub head: Digest,
    /// How the run ended.
    pub outcome: Outcome,
}

/// A record that was read from its bytes: canonical, of a readable version, and its hash is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The format version it was written in.
    pub version: FormatVersion,
    /// The run it belongs to.
    pub run: RunId,
    /// 0-based place in the run log.
    pub seq: u64,
    /// The hash of the record before it; 64 zeros for the first.
    pub prev: Digest,
    /// Time and event.
    pub entry: Entry,
    /// Present exactly in the sealing record.
    pub seal: Option<Seal>,
    /// SHA-256 of the body's bytes.
    pub hash: Digest,
}

/// The body as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Body {
    pub(crate) v: FormatVersion,
    pub(crate) run: RunId,
    pub(crate) seq: u64,
    pub(crate) at_ms: u64,
    pub(crate) prev: Digest,
    pub(crate) event: Event,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seal: Option<Seal>,
}

/// The body, borrowed by its writer.
#[derive(Serialize)]
pub(crate) struct BodyRef<'a> {
    pub(crate) v: FormatVersion,
    pub(crate) run: &'a RunId,
    pub(crate) seq: u64,
    pub(crate) at_ms: u64,
    pub(crate) prev: Digest,
    pub(crate) event: &'a Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seal: Option<Seal>,
}

impl BodyRef<'_> {
    /// The record's line without the newline, and its hash.
    pub(crate) fn write(&self) -> Result<(Vec<u8>, Digest), CanonicalError> {
        Ok(enveloped(&canonical::to_canonical(self)?))
    }
}

/// The line around a body, without the newline, and the body's hash.
pub(crate) fn enveloped(body: &[u8]) -> (Vec<u8>, Digest) {
    let hash = blob_digest(body);
    let line = [HEAD, body, MIDDLE, hash.to_string().as_bytes(), TAIL].concat();
    (line, hash)
}

/// The two parts of a line whose envelope is in order.
pub(crate) struct Envelope<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) recorded: Digest,
    pub(crate) computed: Digest,
}

impl<'a> Envelope<'a> {
    /// Cuts a line open at its fixed places; nothing is parsed but the digest.
    pub(crate) fn open(line: &'a [u8]) -> Result<Self, LineFault> {
        if line.len() > MAX_RECORD_BYTES {
            return Err(LineFault::TooLong { bytes: line.len() });
        }
        let inner = line.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL));
        let parts = inner.and_then(|inner| {
            let (rest, digits) = inner.split_at_checked(inner.len().checked_sub(HASH_DIGITS)?)?;
            let digest = std::str::from_utf8(digits).ok()?.parse().ok()?;
            Some((rest.strip_suffix(MIDDLE)?, digest))
        });
        let (body, recorded) = parts.ok_or(LineFault::Envelope)?;
        Ok(Self { body, recorded, computed: blob_digest(body) })
    }
}

impl Record {
    /// Reads one line (without its newline) and checks everything that a line can prove alone: the
    /// envelope, the hash, the canonical form, the version, the shape. Its place in the chain is
    /// for [`crate::verify_records`].
    ///
    /// # Errors
    /// [`LineFault`]: the first thing that is wrong with the line.
    pub fn parse(line: &[u8]) -> Result<Self, LineFault> {
        let envelope = Envelope::open(line)?;
        if envelope.recorded != envelope.computed {
            return Err(LineFault::Hash {
                recorded: envelope.recorded,
                computed: envelope.computed,
            });
        }
        Self::of_body(envelope.body, envelope.computed)
    }

    pub(crate) fn of_body(bytes: &[u8], hash: Digest) -> Result<Self, LineFault> {
        let canonical = canonical::check(bytes).map_err(LineFault::from);
        let body = canonical.and_then(|()| {
            serde_json::from_slice::<Body>(bytes).map_err(|error| unreadable(bytes, &error))
        });
        let body = match body {
            Err(_) if is_ledger(bytes) => return Err(LineFault::WorkflowLog),
            body => body?,
        };
        body.v.check_readable()?;
        let record = Self {
            version: body.v,
            run: body.run,
            seq: body.seq,
            prev: body.prev,
            entry: Entry { at_ms: body.at_ms, event: body.event },
            seal: body.seal,
            hash,
        };
        record.check_seal_field()?;
        Ok(record)
    }

    /// The `seal` field and the sealing event go together and agree.
    fn check_seal_field(&self) -> Result<(), LineFault> {
        match (&self.entry.event, &self.seal) {
            (Event::Sealed { outcome }, Some(seal)) if *outcome == seal.outcome => Ok(()),
            (Event::Sealed { .. }, Some(_)) => Err(LineFault::SealOutcome),
            (Event::Sealed { .. }, None) => Err(LineFault::SealMissing),
            (_, Some(_)) => Err(LineFault::SealMisplaced),
            (_, None) => Ok(()),
        }
    }
}

/// Says "written by a newer version" rather than "malformed" where the record says so itself.
fn unreadable(bytes: &[u8], error: &serde_json::Error) -> LineFault {
    #[derive(Deserialize)]
    struct VersionOnly {
        v: FormatVersion,
    }
    let version = serde_json::from_slice::<VersionOnly>(bytes).map(|only| only.v);
    match version {
        Ok(version) => match version.check_readable() {
            Err(error) => error.into(),
            Ok(()) if version > FormatVersion::CURRENT => {
                LineFault::Newer { found: version, message: error.to_string() }
            }
            Ok(()) => LineFault::Body { message: error.to_string() },
        },
        Err(_) => LineFault::Body { message: error.to_string() },
    }
}
