//! Lines of a file as Python's text mode gives them.

use super::text::Points;
use super::unicode;

/// How many bytes Python decodes at a time.
const PIECE_BYTES: usize = 8192;

/// The lines of a file that is decoded while it is read: a broken byte hides only what lies behind
/// the piece before it.
#[derive(Debug)]
pub(super) struct TextLines<'a> {
    visible: &'a str,
    line: u64,
    is_broken: bool,
}

/// The file holds bytes that are no UTF-8: the original raises a `UnicodeDecodeError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Undecodable;

impl<'a> TextLines<'a> {
    /// Of the bytes of a file.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let (text, is_broken) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (decoded(bytes, &error), true),
        };
        // Whether a return at the end stands alone is only known with the next piece.
        let is_pending = is_broken && text.ends_with('\r');
        let visible = text.get(..text.len() - usize::from(is_pending)).unwrap_or_default();
        Self { visible, line: 0, is_broken }
    }
}

impl<'a> Iterator for TextLines<'a> {
    /// A line that is not empty, with its 1-based number.
    type Item = Result<(u64, &'a str), Undecodable>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let end = memchr::memchr2(b'\n', b'\r', self.visible.as_bytes());
            let (line, rest) = match end.and_then(|end| self.visible.split_at_checked(end)) {
                Some((line, rest)) => (line, behind_break(rest)),
                None if self.is_broken => return Some(Err(Undecodable)),
                None if self.visible.is_empty() => return None,
                None => (self.visible, ""),
            };
            self.visible = rest;
            self.line += 1;
            if !line.is_empty() {
                return Some(Ok((self.line, line)));
            }
        }
    }
}

/// The lines of a text, split wherever Unicode breaks a line; those of white space are left out.
pub(super) fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| unicode::ends_line(u32::from(c)))
        .filter(|line| !Points::over(line.as_bytes()).all(unicode::is_space))
}

fn behind_break(rest: &str) -> &str {
    rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\r', '\n'])).unwrap_or(rest)
}

/// What was decoded when the broken byte came up.
fn decoded<'a>(bytes: &'a [u8], error: &std::str::Utf8Error) -> &'a str {
    let start = error.valid_up_to();
    let is_lead = bytes.get(start).is_some_and(|byte| matches!(byte, 0xc2..=0xf4));
    let breaks_at = match error.error_len() {
        // A sequence that is cut off by the end shows itself only there.
        None => return valid_text(bytes, start),
        Some(len) if is_lead => start + len,
        Some(_) => start,
    };
    valid_text(bytes, start.min(breaks_at / PIECE_BYTES * PIECE_BYTES))
}

/// The first bytes as text, without a sequence that they cut.
fn valid_text(bytes: &[u8], len: usize) -> &str {
    let bytes = bytes.get(..len).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => bytes
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    }
}
