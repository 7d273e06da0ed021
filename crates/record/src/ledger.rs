//! The log of a workflow run: the same chain and the same envelope as [`crate::Chain`]'s, around bodies of
//! another kind. What a step is, is the business of whoever writes it; here it is JSON.

use probity_core::{Digest, RunId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use crate::body::{Envelope, GENESIS, enveloped};
use crate::canonical::{self, CanonicalError, MAX_SAFE_INTEGER, NotCanonical, ParseError};
use crate::{FormatVersion, LineFault, VersionError, blob_digest};

/// The longest record that holds its step itself, in bytes: 128 KiB. A longer step is a blob.
pub const MAX_INLINE_BYTES: usize = 128 * 1024;

/// What this build writes.
pub const LEDGER_VERSION: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// What such bodies are told apart by.
const KIND: &str = "workflow";

/// The end of a workflow run's log: all that is needed to read or to write the next record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    run: RunId,
    len: u64,
    head: Digest,
    at_ms: u64,
    /// The newest version among its records.
    version: FormatVersion,
}

/// One finished record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// The record without a newline, as a store takes it.
    pub bytes: Vec<u8>,
    /// What has to be stored with it: a step that is too long for its record.
    pub blob: Option<(Digest, Vec<u8>)>,
}

/// A record that was read from its bytes: canonical, in its place, and its hash is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRecord {
    /// The format version it was written in.
    pub version: FormatVersion,
    /// The run it belongs to.
    pub run: RunId,
    /// 0-based place in the log.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The hash of the record before it; 64 zeros for the first.
    pub prev: Digest,
    /// The step.
    pub step: StepText,
    /// SHA-256 of the body's bytes.
    pub hash: Digest,
}

/// A step as JSON, or where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepText {
    /// Canonical JSON (RFC 8785).
    Inline(Vec<u8>),
    /// The blob of that JSON.
    Blob(Digest),
}

/// The step cannot be the next record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// It holds a number that other readers of JSON would round, or no finite one.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// A newer build wrote the log: appending would mix versions downwards.
    #[error(
        "the log of the workflow run is at version {found}, this build writes {LEDGER_VERSION}; append \
         with a build at least as new"
    )]
    Newer {
        /// The newest version in it.
        found: FormatVersion,
    },
}

impl LedgerError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Canonical(_) => "step_not_canonical",
            Self::Newer { .. } => "ledger_newer",
        }
    }
}

impl Ledger {
    /// The log of a run that has no record yet.
    #[must_use]
    pub const fn new(run: RunId) -> Self {
        Self { run, len: 0, head: GENESIS, at_ms: 0, version: LEDGER_VERSION }
    }

    /// The place behind a record that was read by itself. What stands before it is taken on trust.
    #[must_use]
    pub fn behind(record: &LedgerRecord) -> Self {
        let LedgerRecord { version, run, seq, at_ms, hash, .. } = record.clone();
        let version = version.max(LEDGER_VERSION);
        Self { run, len: seq.saturating_add(1), head: hash, at_ms, version }
    }

    /// Reads the next record (its line without the newline) and moves behind it. On an error the end is
    /// where it was.
    ///
    /// # Errors
    /// [`LineFault`]: the first thing that is wrong with the line, by itself or in its place.
    pub fn read(&mut self, line: &[u8]) -> Result<LedgerRecord, LineFault> {
        let record = LedgerRecord::parse(line)?;
        if record.run != self.run {
            return Err(LineFault::Run { expected: self.run.clone(), found: record.run });
        }
        if record.seq != self.len {
            return Err(LineFault::Seq { expected: self.len, found: record.seq });
        }
        if record.prev != self.head {
            return Err(LineFault::Prev { expected: self.head, found: record.prev });
        }
        self.version = self.version.max(record.version);
        self.step_behind(record.hash, record.at_ms);
        Ok(record)
    }

    /// Writes the next record and moves behind it. Its time is at least that of the record before. On an
    /// error the end is where it was.
    ///
    /// # Errors
    /// [`LedgerError`]: a value without a canonical form, or a log that a newer build wrote.
    pub fn append<S: Serialize + ?Sized>(
        &mut self,
        at_ms: u64,
        step: &S,
    ) -> Result<LedgerLine, LedgerError> {
        if self.version > LEDGER_VERSION {
            return Err(LedgerError::Newer { found: self.version });
        }
        let at_ms = at_ms.max(self.at_ms);
        let (bytes, hash) = self.line(at_ms, Some(step), None)?;
        if bytes.len() <= MAX_INLINE_BYTES {
            self.step_behind(hash, at_ms);
            return Ok(LedgerLine { bytes, blob: None });
        }
        let text = canonical::jcs(step)?;
        let digest = blob_digest(&text);
        let (bytes, hash) = self.line::<S>(at_ms, None, Some(digest))?;
        self.step_behind(hash, at_ms);
        Ok(LedgerLine { bytes, blob: Some((digest, text)) })
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

    /// The time of the last record; 0 before the first.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.at_ms
    }

    fn step_behind(&mut self, hash: Digest, at_ms: u64) {
        self.len = self.len.saturating_add(1);
        self.head = hash;
        self.at_ms = at_ms;
    }

    fn line<S: Serialize + ?Sized>(
        &self,
        at_ms: u64,
        step: Option<&S>,
        step_blob: Option<Digest>,
    ) -> Result<(Vec<u8>, Digest), CanonicalError> {
        let (run, seq, prev, v) = (&self.run, self.len, self.head, LEDGER_VERSION);
        let body = BodyRef { at_ms, kind: KIND, prev, run, seq, step, step_blob, v };
        Ok(enveloped(&canonical::jcs(&body)?))
    }
}

impl LedgerRecord {
    /// Reads one line (without its newline) and checks everything that a line can prove alone. Its place
    /// is for [`Ledger::read`].
    ///
    /// # Errors
    /// [`LineFault`]: the first thing that is wrong with the line.
    pub fn parse(line: &[u8]) -> Result<Self, LineFault> {
        let Envelope { body: bytes, recorded, computed } = Envelope::open(line)?;
        if recorded != computed {
            return Err(LineFault::Hash { recorded, computed });
        }
        check_jcs(bytes)?;
        let body: Body<'_> =
            serde_json::from_slice(bytes).map_err(|error| unreadable(bytes, &error))?;
        check_version(body.v)?;
        let step = match (body.step, body.step_blob) {
            _ if body.kind != KIND => return Err(malformed("another kind of log")),
            (Some(step), None) => StepText::Inline(step.get().as_bytes().to_vec()),
            (None, Some(digest)) => StepText::Blob(digest),
            _ => return Err(malformed("it must hold either `step` or `step_blob`")),
        };
        let Body { v: version, run, seq, at_ms, prev, .. } = body;
        Ok(Self { version, run, seq, at_ms, prev, step, hash: computed })
    }
}

/// Reads the text of a step, so that writing it again gives the same text.
///
/// # Errors
/// [`ParseError`]: it is no JSON, has a key twice, or is nested deeper than 127 levels.
pub fn read_step(text: &[u8]) -> Result<Value, ParseError> {
    let mut value = canonical::parse_ijson(text)?;
    as_doubles(&mut value);
    Ok(value)
}

/// Whether a body is of a workflow run's log, by its own word.
pub(crate) fn is_ledger(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Only {
        kind: String,
    }
    serde_json::from_slice::<Only>(body).is_ok_and(|only| only.kind == KIND)
}

/// The body as it is read. The step stays text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    at_ms: u64,
    kind: String,
    prev: Digest,
    run: RunId,
    seq: u64,
    #[serde(borrow, default, deserialize_with = "even_null")]
    step: Option<&'a RawValue>,
    #[serde(default)]
    step_blob: Option<Digest>,
    v: FormatVersion,
}

/// A step that is `null` is a step.
fn even_null<'de, D: serde::Deserializer<'de>>(
    reader: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(reader).map(Some)
}

/// The body, borrowed by its writer.
#[derive(Serialize)]
struct BodyRef<'a, S: Serialize + ?Sized> {
    at_ms: u64,
    kind: &'static str,
    prev: Digest,
    run: &'a RunId,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_blob: Option<Digest>,
    v: FormatVersion,
}

/// As [`canonical::check`], but with all numbers that RFC 8785 has: so by writing the body again.
fn check_jcs(body: &[u8]) -> Result<(), LineFault> {
    let value = read_step(body).map_err(|error| malformed(&error.to_string()))?;
    let again = canonical::jcs(&value).map_err(|error| malformed(&error.to_string()))?;
    if again == body {
        return Ok(());
    }
    let offset = again.iter().zip(body).take_while(|(a, b)| a == b).count();
    Err(NotCanonical { offset, what: "not as RFC 8785 spells it" }.into())
}

/// Whole numbers beyond those that every reader holds are doubles: RFC 8785 spells both alike.
fn as_doubles(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            if magnitude.is_some_and(|magnitude| magnitude > MAX_SAFE_INTEGER)
                && let Some(double) = number.as_f64().and_then(Number::from_f64)
            {
                *number = double;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_doubles),
        Value::Object(members) => members.values_mut().for_each(as_doubles),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn check_version(v: FormatVersion) -> Result<(), LineFault> {
    match v.major == LEDGER_VERSION.major {
        true => Ok(()),
        false => Err(VersionError::Unreadable { found: v }.into()),
    }
}

/// Says what it is instead, or that a newer build wrote it, where the body says so itself.
fn unreadable(body: &[u8], error: &serde_json::Error) -> LineFault {
    #[derive(Deserialize)]
    struct Only {
        v: FormatVersion,
        #[serde(default)]
        kind: Option<String>,
        #[serde(default)]
        event: Option<serde::de::IgnoredAny>,
    }
    match serde_json::from_slice::<Only>(body) {
        Ok(Only { kind: None, event: Some(_), .. }) => LineFault::DelegationLog,
        Ok(Only { v, .. }) => match check_version(v) {
            Err(fault) => fault,
            Ok(()) if v > LEDGER_VERSION => {
                LineFault::Newer { found: v, message: error.to_string() }
            }
            Ok(()) => malformed(&error.to_string()),
        },
        Err(_) => malformed(&error.to_string()),
    }
}

fn malformed(message: &str) -> LineFault {
    LineFault::Body { message: message.to_owned() }
}
