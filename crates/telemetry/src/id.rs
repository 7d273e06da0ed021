//! Names of traces and spans, drawn from the run and the place in its log: whoever reads the same log
//! gives the same trace.

use std::fmt;
use std::str::FromStr;

use probity_core::RunId;
use sha2::{Digest as _, Sha256};

/// A trace. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId([u8; 16]);

/// A span. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId([u8; 8]);

/// A span of somebody else's trace, as the header `traceparent` of W3C Trace Context names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace that the run is part of.
    pub trace: TraceId,
    /// The span above.
    pub span: SpanId,
    /// Whether that trace is recorded.
    pub is_sampled: bool,
}

/// The text is not a `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a `traceparent`: it is `00-`, 32 and 16 digits of lower-case hex, and 2 of flags")]
pub struct TraceParentError;

impl TraceId {
    /// The trace of a run that is nobody's child.
    #[must_use]
    pub fn of(run: &RunId) -> Self {
        let digest = Sha256::digest(format!("probity.trace\0{run}"));
        Self(never_zero(first(&digest)))
    }

    /// As bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl SpanId {
    /// The span that begins with record `seq` of a run in this role.
    #[must_use]
    pub fn of(run: &RunId, role: &str, seq: u64) -> Self {
        let digest = Sha256::digest(format!("probity.span\0{run}\0{role}\0{seq}"));
        Self(never_zero(first(&digest)))
    }

    /// As bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let mut parts = text.trim().split('-');
        let mut part = |len: usize| {
            let part = parts.next().filter(|part| part.len() == len && is_lower_hex(part));
            part.ok_or(TraceParentError)
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        // A later version may say more behind what this one knows.
        if version == "ff" || (version == "00" && parts.next().is_some()) {
            return Err(TraceParentError);
        }
        let trace: [u8; 16] = bytes(trace).ok_or(TraceParentError)?;
        let span: [u8; 8] = bytes(span).ok_or(TraceParentError)?;
        let [flags] = bytes::<1>(flags).ok_or(TraceParentError)?;
        if trace == [0; 16] || span == [0; 8] {
            return Err(TraceParentError);
        }
        Ok(Self { trace: TraceId(trace), span: SpanId(span), is_sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace, self.span)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// All zeros name nothing on the wire.
fn never_zero<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    if bytes == [0; N]
        && let Some(last) = bytes.last_mut()
    {
        *last = 1;
    }
    bytes
}

fn first<const N: usize>(digest: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(digest).for_each(|(to, from)| *to = *from);
    bytes
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}
