//! The marker of a citation.

use std::fmt;

/// The longest evidence id that a marker can name.
pub const MAX_ID_BYTES: usize = 256;

/// The largest offset of a marker: 2^53 − 1, what every JSON reader keeps exactly.
pub const MAX_OFFSET: u64 = (1 << 53) - 1;

/// How a marker begins.
pub(crate) const PREFIX: &str = "[evidence:";

/// `[evidence:ID:START-END:SHA]`: a piece of evidence, bytes of it, and their SHA-256.
///
/// `ID` has 1 to [`MAX_ID_BYTES`] bytes and none of `:` `[` `]`, white space or controls. Offsets are
/// ASCII decimals without leading zeros, at most [`MAX_OFFSET`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Marker<'a> {
    /// The evidence.
    pub id: &'a str,
    /// The first byte.
    pub start: u64,
    /// The byte behind the last; above `start`.
    pub end: u64,
    /// SHA-256 of these bytes: 64 lower-case hex digits.
    pub sha256: &'a str,
}

/// What keeps a text that looks like a marker from being one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Malformation {
    /// It does not begin with `[evidence:` to the byte: another case, blanks, other letters.
    Opening,
    /// There is no `]` behind it on the same line.
    Unclosed,
    /// It has not exactly an id, a span and a hash.
    Parts,
    /// The id is empty, too long, or holds what an id cannot.
    Id,
    /// An offset is no ASCII decimal, has a leading zero, or is too large.
    Offset,
    /// The span is empty or reversed.
    Span,
    /// The hash is not 64 lower-case hex digits.
    Hash,
}

impl Malformation {
    /// Every malformation.
    pub const ALL: [Self; 7] = [
        Self::Opening,
        Self::Unclosed,
        Self::Parts,
        Self::Id,
        Self::Offset,
        Self::Span,
        Self::Hash,
    ];

    /// What is wrong, for people.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Opening => "it does not begin with `[evidence:`",
            Self::Unclosed => "there is no `]` behind it on its line",
            Self::Parts => "it is not `[evidence:ID:START-END:SHA]`",
            Self::Id => "the id is empty, too long, or holds a blank or a bracket",
            Self::Offset => "an offset is no plain decimal below 2^53",
            Self::Span => "the span is empty or reversed",
            Self::Hash => "the hash is not 64 lower-case hex digits",
        }
    }
}

impl<'a> Marker<'a> {
    /// Reads what stands between `[evidence:` and `]`.
    pub(crate) fn parse(inner: &'a str) -> Result<Self, Malformation> {
        let mut parts = inner.split(':');
        let (Some(id), Some(span), Some(sha256), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Malformation::Parts);
        };
        if !is_id(id) {
            return Err(Malformation::Id);
        }
        let (start, end) = span.split_once('-').ok_or(Malformation::Offset)?;
        let (start, end) = (offset(start)?, offset(end)?);
        if start >= end {
            return Err(Malformation::Span);
        }
        match is_hash(sha256) {
            true => Ok(Self { id, start, end, sha256 }),
            false => Err(Malformation::Hash),
        }
    }
}

impl fmt::Display for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, start, end, sha256 } = self;
        write!(f, "{PREFIX}{id}:{start}-{end}:{sha256}]")
    }
}

/// Whether a marker can name this id.
pub(crate) fn is_id(id: &str) -> bool {
    let is_barred = |c: char| matches!(c, ':' | '[' | ']') || c.is_whitespace() || c.is_control();
    (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(is_barred)
}

fn offset(text: &str) -> Result<u64, Malformation> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit())
        && (1..=16).contains(&text.len())
        && (text == "0" || !text.starts_with('0'));
    let value = text.parse().ok().filter(|value| is_plain && *value <= MAX_OFFSET);
    value.ok_or(Malformation::Offset)
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
