//! Strings: where they end, and how they are escaped.

use std::cmp::Ordering;

use super::Fault;

/// What came of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    /// The byte behind the closing quote.
    pub(super) end: usize,
    pub(super) has_escapes: bool,
    /// The first escape that is not the shortest one, or stands for what needs none.
    pub(super) uncanonical: Option<usize>,
}

/// Reads a string whose opening quote is at `at`.
///
/// # Errors
/// The place and the fault.
pub(super) fn read(bytes: &[u8], at: usize) -> Result<Text, (usize, Fault)> {
    let mut text = Text { end: 0, has_escapes: false, uncanonical: None };
    let mut at = at.saturating_add(1);
    loop {
        at = skip_plain(bytes, at);
        match bytes.get(at) {
            Some(b'"') => {
                text.end = at.saturating_add(1);
                return Ok(text);
            }
            Some(b'\\') => {
                text.has_escapes = true;
                let (next, is_canonical) = escape(bytes, at)?;
                if !is_canonical && text.uncanonical.is_none() {
                    text.uncanonical = Some(at);
                }
                at = next;
            }
            Some(_) => return Err((at, Fault::Syntax("an escape for a control character"))),
            None => return Err((at, Fault::Syntax("the end of the string"))),
        }
    }
}

/// The characters of a string whose escapes were checked when it was read.
pub(super) fn unescape(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, escaped) = rest.split_at(at);
        text.push_str(plain);
        let (character, length) = character(escaped.as_bytes());
        text.push(character);
        rest = escaped.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The order of two strings by code point, each given between its quotes.
pub(super) fn compare(a: (&str, bool), b: (&str, bool)) -> Ordering {
    match (a, b) {
        ((a, false), (b, false)) => a.as_bytes().cmp(b.as_bytes()),
        ((a, _), (b, _)) => unescape(a).as_bytes().cmp(unescape(b).as_bytes()),
    }
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The next quote, backslash or control character; the end if there is none.
#[inline]
fn skip_plain(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    let rest = bytes.get(at..).unwrap_or_default();
    let (words, tail) = rest.as_chunks::<8>();
    for word in words {
        let found = stops(u64::from_le_bytes(*word));
        if found != 0 {
            return at.saturating_add((found.trailing_zeros() / 8) as usize);
        }
        at = at.saturating_add(8);
    }
    let ends = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    at.saturating_add(tail.iter().position(ends).unwrap_or(tail.len()))
}

/// The high bit of every byte that is a quote, a backslash or a control character. Bits above the
/// lowest one may be wrong (a borrow ran into them), and nobody looks at them.
#[inline]
const fn stops(word: u64) -> u64 {
    let quote = word ^ (LOW * b'"' as u64);
    let slash = word ^ (LOW * b'\\' as u64);
    let is_quote = quote.wrapping_sub(LOW) & !quote;
    let is_slash = slash.wrapping_sub(LOW) & !slash;
    let is_control = word.wrapping_sub(LOW * 0x20) & !word;
    (is_quote | is_slash | is_control) & HIGH
}

/// Checks the escape at `at`: the byte behind it, and whether it is the canonical one.
fn escape(bytes: &[u8], at: usize) -> Result<(usize, bool), (usize, Fault)> {
    let after = at.saturating_add(2);
    match bytes.get(at.saturating_add(1)) {
        Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok((after, true)),
        Some(b'/') => return Ok((after, false)),
        Some(b'u') => {}
        _ => return Err((at, Fault::Syntax("an escape"))),
    }
    let digits = bytes.get(after..after.saturating_add(4)).unwrap_or_default();
    let unit = unit(digits).ok_or((at, Fault::Syntax("four hex digits")))?;
    let end = after.saturating_add(4);
    match unit {
        0xD800..0xDC00 => match low_half(bytes.get(end..).unwrap_or_default()) {
            Some(_) => Ok((end.saturating_add(6), false)),
            None => Err((at, Fault::Surrogate)),
        },
        0xDC00..0xE000 => Err((at, Fault::Surrogate)),
        0x08 | 0x09 | 0x0A | 0x0C | 0x0D => Ok((end, false)),
        0..0x20 => Ok((end, !digits.iter().any(u8::is_ascii_uppercase))),
        _ => Ok((end, false)),
    }
}

/// The character that a checked escape stands for, and the bytes that the escape takes.
fn character(escaped: &[u8]) -> (char, usize) {
    let single = match escaped.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(escaped),
        Some(byte) => char::from(*byte),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (single, 2)
}

fn unicode(escaped: &[u8]) -> (char, usize) {
    let first = escaped.get(2..6).and_then(unit).unwrap_or(0xFFFD);
    let second = escaped.get(6..).and_then(low_half);
    match (first, second) {
        (0xD800..0xDC00, Some(second)) => {
            let code = 0x1_0000 + (((first - 0xD800) << 10) | (second - 0xDC00));
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
    }
}

/// The second half of a surrogate pair, if that is the escape at the front.
fn low_half(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    unit(digits).filter(|unit| (0xDC00..0xE000).contains(unit))
}

/// Four hex digits.
fn unit(digits: &[u8]) -> Option<u32> {
    if digits.len() != 4 {
        return None;
    }
    let add = |sum: u32, byte: &u8| Some(sum << 4 | char::from(*byte).to_digit(16)?);
    digits.iter().try_fold(0, add)
}
