//! Text as Python holds it: code points, lone surrogates among them.

use std::borrow::Cow;

use super::unicode;

/// A string of code points in the generalised UTF-8 that also spells surrogates. The order of the
/// bytes is the order of the code points.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Text(Vec<u8>);

impl Text {
    /// Of UTF-8.
    pub(super) fn of(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// Of bytes of another text, cut between code points.
    pub(super) fn of_part(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// Without any character.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds UTF-8.
    pub(super) fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds another text.
    pub(super) fn push(&mut self, text: &Self) {
        self.0.extend_from_slice(&text.0);
    }

    /// Adds one code point; what is none becomes U+FFFD.
    pub(super) fn push_point(&mut self, point: u32) {
        if let Some(c) = char::from_u32(point) {
            self.0.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else if let Ok(low) = u16::try_from(point) {
            let bits = |shift: u32| u8::try_from((low >> shift) & 0x3f).unwrap_or(0);
            self.0.extend_from_slice(&[0xed, 0x80 | bits(6), 0x80 | bits(0)]);
        } else {
            self.push_str("\u{fffd}");
        }
    }

    /// The text, where it holds no surrogate.
    pub(super) fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// For people: a surrogate shows as U+FFFD.
    pub(super) fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Whether it has no character.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many code points it has.
    pub(super) fn len_points(&self) -> usize {
        self.0.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
    }

    /// Its code points.
    pub(super) fn points(&self) -> Points<'_> {
        Points(&self.0)
    }

    /// As Python's `repr` spells it.
    pub(super) fn push_repr(&mut self, text: &Self) {
        let has = |wanted: u8| text.0.contains(&wanted);
        let quote = if has(b'\'') && !has(b'"') { '"' } else { '\'' };
        self.push_point(u32::from(quote));
        for point in text.points() {
            match point {
                0x5c => self.push_str("\\\\"),
                0x0a => self.push_str("\\n"),
                0x0d => self.push_str("\\r"),
                0x09 => self.push_str("\\t"),
                _ if point == u32::from(quote) => {
                    self.push_str("\\");
                    self.push_point(point);
                }
                _ if unicode::is_printable(point) => self.push_point(point),
                0..=0xff => self.push_str(&format!("\\x{point:02x}")),
                0x100..=0xffff => self.push_str(&format!("\\u{point:04x}")),
                _ => self.push_str(&format!("\\U{point:08x}")),
            }
        }
        self.push_point(u32::from(quote));
    }
}

/// Iterates over code points.
#[derive(Debug, Clone)]
pub(super) struct Points<'a>(&'a [u8]);

impl<'a> Points<'a> {
    /// Over bytes of a text, from the first byte of a code point on.
    pub(super) const fn over(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// What is still to come.
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.0
    }
}

impl Iterator for Points<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first()?;
        let (mut point, more) = match first {
            0..=0x7f => (u32::from(*first), 0),
            0x80..=0xdf => (u32::from(first & 0x1f), 1),
            0xe0..=0xef => (u32::from(first & 0x0f), 2),
            0xf0..=0xff => (u32::from(first & 0x07), 3),
        };
        let (tail, rest) = rest.split_at_checked(more).unwrap_or((rest, &[]));
        for byte in tail {
            point = point << 6 | u32::from(byte & 0x3f);
        }
        self.0 = rest;
        Some(point)
    }
}
