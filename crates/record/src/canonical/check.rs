//! Whether bytes are already the one canonical spelling, in one pass and without building a value.

use std::cmp::Ordering;

use super::{MAX_DEPTH, MAX_SAFE_INTEGER};

/// The bytes are not canonical JSON of the records' profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not canonical at byte {offset}: {what}")]
pub struct NotCanonical {
    /// 0-based offset of the first byte that breaks the form.
    pub offset: usize,
    /// What was expected or found there.
    pub what: &'static str,
}

/// Whether the bytes are exactly what [`super::to_canonical`] writes for the value they hold.
#[must_use]
pub fn is_canonical(bytes: &[u8]) -> bool {
    check(bytes).is_ok()
}

/// Checks that the bytes are exactly what [`super::to_canonical`] writes for the value they hold.
///
/// # Errors
/// [`NotCanonical`] at the first byte that breaks the form.
pub fn check(bytes: &[u8]) -> Result<(), NotCanonical> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| NotCanonical { offset: error.valid_up_to(), what: "invalid UTF-8" })?;
    let mut scan = Scan { text, bytes, at: 0 };
    scan.value(0)?;
    if scan.at < bytes.len() { Err(scan.broken("text after the value")) } else { Ok(()) }
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn broken(&self, what: &'static str) -> NotCanonical {
        NotCanonical { offset: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NotCanonical> {
        if self.accept(byte) { Ok(()) } else { Err(self.broken(what)) }
    }

    fn word(&mut self, word: &'static str) -> Result<(), NotCanonical> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.broken("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), NotCanonical> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.integer(),
            _ => Err(self.broken("expected a value")),
        }
    }

    fn open(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        if depth >= MAX_DEPTH {
            return Err(self.broken("nested too deep"));
        }
        self.at += 1;
        Ok(depth + 1)
    }

    fn array(&mut self, depth: usize) -> Result<(), NotCanonical> {
        let depth = self.open(depth)?;
        if self.accept(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if self.accept(b']') {
                return Ok(());
            }
            self.expect(b',', "expected `,` or `]` without blanks")?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), NotCanonical> {
        let depth = self.open(depth)?;
        if self.accept(b'}') {
            return Ok(());
        }
        let mut last: Option<&str> = None;
        loop {
            let start = self.at;
            let key = self.string()?;
            if last.is_some_and(|last| key_order(last, key) != Ordering::Less) {
                return Err(NotCanonical { offset: start, what: "key out of order or repeated" });
            }
            last = Some(key);
            self.expect(b':', "expected `:` without blanks")?;
            self.value(depth)?;
            if self.accept(b'}') {
                return Ok(());
            }
            self.expect(b',', "expected `,` or `}` without blanks")?;
        }
    }

    /// Reads a string and gives its raw inside, escapes and all.
    fn string(&mut self) -> Result<&'a str, NotCanonical> {
        self.expect(b'"', "expected a string")?;
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(self.broken("unterminated string")),
                Some(b'"') => break,
                Some(0x00..=0x1f) => return Err(self.broken("raw control character")),
                Some(b'\\') => self.escape()?,
                Some(_) => self.at += 1,
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(raw)
    }

    /// The escapes that the writer uses, and no others.
    fn escape(&mut self) -> Result<(), NotCanonical> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += match rest {
            [_, b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [_, b'u', b'0', b'0', high, low, ..] if control_by_number(*high, *low) => 6,
            _ => return Err(self.broken("an escape that is not the shortest form")),
        };
        Ok(())
    }

    fn integer(&mut self) -> Result<(), NotCanonical> {
        let start = self.at;
        let negative = self.accept(b'-');
        let digits = self.at;
        let mut magnitude: u64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            magnitude = magnitude.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let count = self.at - digits;
        let leading_zero = self.bytes.get(digits) == Some(&b'0');
        let what = match count {
            0 => "a sign without digits",
            _ if leading_zero && count > 1 => "a leading zero",
            _ if leading_zero && negative => "negative zero",
            _ if magnitude > MAX_SAFE_INTEGER => "an integer beyond ±(2^53 − 1)",
            _ => return Ok(()),
        };
        Err(NotCanonical { offset: start, what })
    }
}

/// Control characters without a short escape: all below 0x20 except `\b \t \n \f \r`.
fn control_by_number(high: u8, low: u8) -> bool {
    match high {
        b'0' => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        b'1' => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// UTF-16 order of two raw keys whose escapes are canonical.
fn key_order(a: &str, b: &str) -> Ordering {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii() && byte != b'\\');
    if plain(a) && plain(b) {
        return a.cmp(b);
    }
    unescape(a).encode_utf16().cmp(unescape(b).encode_utf16())
}

/// Undoes the writer's own escapes; the scan has checked that there are no others.
fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        text.push(if c == '\\' { escaped(&mut chars) } else { c });
    }
    text
}

fn escaped(chars: &mut std::str::Chars<'_>) -> char {
    match chars.next() {
        Some('b') => '\u{8}',
        Some('t') => '\t',
        Some('n') => '\n',
        Some('f') => '\u{c}',
        Some('r') => '\r',
        Some('u') => {
            let code = chars.take(4).filter_map(|c| c.to_digit(16)).fold(0, |sum, d| sum * 16 + d);
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        Some(other) => other,
        None => '\\',
    }
}
