//! Citation markers, found as the original finds them.

use super::number::Integer;
use super::text::{Points, Text};
use super::unicode;

/// One citation: a marker in a statement, or what a support would be cited as.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Citation {
    pub(super) evidence_id: Text,
    pub(super) start: Integer,
    pub(super) end: Integer,
    pub(super) sha256: Text,
}

/// An offset has more digits than Python turns into an integer: a `ValueError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyDigits;

const OPENING: &[u8] = b"[evidence:";

/// Every marker of a statement, from left to right.
///
/// # Errors
/// [`TooManyDigits`] if an offset of any of them is too long.
pub(super) fn markers(statement: &Text) -> Result<Vec<Citation>, TooManyDigits> {
    let mut found = Vec::new();
    let mut rest = statement.bytes();
    while let Some(at) = memchr::memmem::find(rest, OPENING) {
        rest = rest.get(at + OPENING.len()..).unwrap_or_default();
        if let Some((parts, behind)) = parts(rest) {
            found.push(parts.read()?);
            rest = behind;
        }
    }
    Ok(found)
}

impl Citation {
    /// The marker as it should stand in the statement.
    pub(super) fn push_marker(&self, out: &mut Text) {
        out.push_str("[evidence:");
        out.push(&self.evidence_id);
        out.push_str(&format!(":{}-{}:", self.start, self.end));
        out.push(&self.sha256);
        out.push_str("]");
    }
}

/// A marker in its parts.
struct Parts<'a> {
    id: &'a [u8],
    start: &'a [u8],
    end: &'a [u8],
    sha256: &'a [u8],
}

impl Parts<'_> {
    fn read(&self) -> Result<Citation, TooManyDigits> {
        let number = |bytes| Integer::of_text(&Text::of_part(bytes)).ok_or(TooManyDigits);
        Ok(Citation {
            start: number(self.start)?,
            end: number(self.end)?,
            evidence_id: Text::of_part(self.id),
            sha256: Text::of_part(self.sha256),
        })
    }
}

/// What follows the opening of a marker, and what follows the marker.
fn parts(rest: &[u8]) -> Option<(Parts<'_>, &[u8])> {
    let (id, rest) = rest.split_at_checked(memchr::memchr2(b':', b']', rest)?)?;
    let (start, rest) = digits(rest.strip_prefix(b":")?);
    let (end, rest) = digits(rest.strip_prefix(b"-")?);
    let (sha256, rest) = rest.strip_prefix(b":")?.split_at_checked(64)?;
    let rest = rest.strip_prefix(b"]")?;
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_marker = !id.is_empty() && !start.is_empty() && !end.is_empty();
    (is_marker && sha256.iter().all(is_hex)).then_some((Parts { id, start, end, sha256 }, rest))
}

/// The decimal digits, of any script, at the start.
fn digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut points = Points::over(bytes);
    let mut rest = bytes;
    while points.next().is_some_and(|point| unicode::digit(point).is_some()) {
        rest = points.rest();
    }
    bytes.split_at_checked(bytes.len() - rest.len()).unwrap_or((&[], bytes))
}
