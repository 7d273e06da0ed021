//! One citation, held against the bytes of its evidence.

use sha2::{Digest as _, Sha256};

use crate::statement::states_something;
use crate::{Fault, Marker, unescape};

/// The bytes that a marker cites, if they are what it says. Time and memory grow with the span, not
/// with the evidence.
///
/// # Errors
/// [`Fault::OutOfBounds`], [`Fault::SplitCharacter`], [`Fault::NotUtf8`], [`Fault::HashMismatch`].
pub fn cited<'e>(marker: &Marker, evidence: &'e [u8]) -> Result<&'e str, Fault> {
    let len = evidence.len() as u64;
    let slice = span(marker).and_then(|(start, end)| evidence.get(start..end));
    let Some(slice) = slice.filter(|slice| !slice.is_empty()) else {
        return Err(Fault::OutOfBounds { end: marker.end, len });
    };
    let cuts = |at: u64| usize::try_from(at).is_ok_and(|at| is_inside_character(evidence, at));
    if cuts(marker.start) || cuts(marker.end) {
        return Err(Fault::SplitCharacter);
    }
    let text = std::str::from_utf8(slice).map_err(|_| Fault::NotUtf8)?;
    let actual = hex::encode(Sha256::digest(slice));
    match actual == marker.sha256 {
        true => Ok(text),
        false => Err(Fault::HashMismatch { actual }),
    }
}

/// Holds the text before a marker against the bytes that the marker cites, to the byte.
///
/// # Errors
/// [`Fault::Unmarked`] where the text ends with the quote and says something before it; else
/// [`Fault::QuoteDiffers`].
pub fn quoted(text: &str, cited: &str) -> Result<(), Fault> {
    let quote = unescape(text);
    match quote.strip_suffix(cited).filter(|_| !cited.is_empty()) {
        Some("") => Ok(()),
        Some(before) if states_something(before) => Err(Fault::Unmarked),
        _ => Err(Fault::QuoteDiffers),
    }
}

/// Whether the bytes of a marker in another piece of evidence hash as the marker says.
pub(crate) fn hashes_in(marker: &Marker, evidence: &[u8]) -> bool {
    let slice = span(marker).and_then(|(start, end)| evidence.get(start..end));
    slice.is_some_and(|slice| hex::encode(Sha256::digest(slice)) == marker.sha256)
}

fn span(marker: &Marker) -> Option<(usize, usize)> {
    Some((usize::try_from(marker.start).ok()?, usize::try_from(marker.end).ok()?))
}

/// Whether a byte continues a character of UTF-8.
fn is_inside_character(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}
