//! Writing a citation: a quote, a blank, a marker.
//!
//! A quote that holds text which looks like a marker is written with one more backslash behind the
//! bracket: `[evidence` becomes `[\evidence`, `[\evidence` becomes `[\\evidence`. Nothing else changes.

use std::borrow::Cow;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::marker::is_id;
use crate::opening::{Opening, openings};
use crate::{MAX_OFFSET, Marker};

/// Why bytes cannot be cited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Uncitable {
    /// No marker can name the id.
    #[error("no marker can name this id")]
    Id,
    /// The span is empty, reversed, or ends behind the evidence.
    #[error("the span is empty or not within the evidence")]
    Span,
    /// The span cuts a character, or holds bytes that are no UTF-8.
    #[error("the span holds no whole characters of UTF-8")]
    NotText,
}

/// A citation as it stands in a text: the quote, a blank, the marker.
///
/// # Errors
/// [`Uncitable`].
pub fn cite(id: &str, evidence: &[u8], bytes: Range<usize>) -> Result<String, Uncitable> {
    if !is_id(id) {
        return Err(Uncitable::Id);
    }
    let cited = evidence.get(bytes.clone()).filter(|cited| !cited.is_empty());
    let cited = cited.ok_or(Uncitable::Span)?;
    let quote = std::str::from_utf8(cited).map_err(|_| Uncitable::NotText)?;
    let (start, end) = (bytes.start as u64, bytes.end as u64);
    if end > MAX_OFFSET {
        return Err(Uncitable::Span);
    }
    let sha256 = hex::encode(Sha256::digest(cited));
    let marker = Marker { id, start, end, sha256: &sha256 };
    Ok(format!("{} {marker}", escape(quote)))
}

/// Text as it stands in a quote: nothing in it is taken for a marker.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    rewrite(text, |out, opening| {
        out.push_str(text.get(opening.at.start..opening.backslashes.start).unwrap_or_default());
        out.push('\\');
        opening.backslashes.start
    })
}

/// What a quote stands for. The inverse of [`escape`]; a marker in it stays one.
#[must_use]
pub fn unescape(text: &str) -> Cow<'_, str> {
    rewrite(text, |out, opening| {
        out.push_str(text.get(opening.at.start..opening.backslashes.start).unwrap_or_default());
        match opening.backslashes.is_empty() {
            true => opening.backslashes.start,
            // A backslash is one byte.
            false => opening.backslashes.start.saturating_add(1),
        }
    })
}

/// Copies a text; at each opening, `write` writes its beginning and says where the copy goes on.
fn rewrite(text: &str, write: impl Fn(&mut String, &Opening) -> usize) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for opening in openings(text, 0) {
        out.push_str(text.get(copied..opening.at.start).unwrap_or_default());
        copied = write(&mut out, &opening);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}
