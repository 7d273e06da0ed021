//! The canonical form of seed 001's system: what Python's `json.dumps(value, sort_keys=True,
//! separators=(",", ":"))` prints. Pack hashes and the seals of that system's episodes are taken
//! over it.
//!
//! Keys in the order of their code points, everything beyond printable ASCII as `\uXXXX`, floats as
//! Python's `repr` prints them, integers as they are. It is not RFC 8785: `1.0` and `1` differ here.
//!
//! Integers beyond 64 bits are exact only in a build in which serde_json keeps a number's text; in
//! others they were read as floats, and a hash over them does not match.

use std::io::Write;

use probity_record::canonical::{MAX_DEPTH, spelled};
use serde_json::{Map, Number, Value};

/// The value has no such form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SortedJsonError {
    /// Arrays and objects nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH}; flatten the value")]
    TooDeep,
    /// A number beyond the range of a double.
    #[error("a number is beyond the range of a double; write it as text")]
    NotFinite,
}

/// The canonical bytes of a value.
///
/// # Errors
/// [`SortedJsonError`] when the value has no such form.
pub fn python_canonical(value: &Value) -> Result<Vec<u8>, SortedJsonError> {
    python_canonical_without(value, "")
}

/// The canonical bytes of an object as if it had no member of that name at its top; empty leaves
/// nothing out. Hashes that are part of what they cover are taken so.
///
/// # Errors
/// [`SortedJsonError`] when the value has no such form.
pub fn python_canonical_without(value: &Value, member: &str) -> Result<Vec<u8>, SortedJsonError> {
    let mut out = Vec::with_capacity(2048);
    write_python_canonical(&mut out, value, member)?;
    Ok(out)
}

/// As [`python_canonical_without`], appended to a buffer that may be used again.
///
/// # Errors
/// [`SortedJsonError`] when the value has no such form; the buffer then holds a part of it.
pub fn write_python_canonical(
    out: &mut Vec<u8>,
    value: &Value,
    member: &str,
) -> Result<(), SortedJsonError> {
    match value {
        Value::Object(map) => write_object(out, map, member, 0),
        value => write_value(out, value, 0),
    }
}

fn write_value(out: &mut Vec<u8>, value: &Value, depth: usize) -> Result<(), SortedJsonError> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number)?,
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            let depth = deeper(depth)?;
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, item, depth)?;
            }
            out.push(b']');
        }
        Value::Object(map) => write_object(out, map, "", depth)?,
    }
    Ok(())
}

fn write_object(
    out: &mut Vec<u8>,
    map: &Map<String, Value>,
    without: &str,
    depth: usize,
) -> Result<(), SortedJsonError> {
    if let Some(number) = spelled(map) {
        return write_number(out, &number);
    }
    let depth = deeper(depth)?;
    // A map keeps its keys sorted, unless some crate of the build asks for the order of insertion.
    if map.keys().is_sorted() {
        return write_members(out, map.iter(), without, depth);
    }
    let mut members: Vec<(&String, &Value)> = map.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    write_members(out, members.into_iter(), without, depth)
}

fn write_members<'a>(
    out: &mut Vec<u8>,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    without: &str,
    depth: usize,
) -> Result<(), SortedJsonError> {
    out.push(b'{');
    let mut is_first = true;
    for (key, item) in members.filter(|(key, _)| without.is_empty() || *key != without) {
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        write_string(out, key);
        out.push(b':');
        write_value(out, item, depth)?;
    }
    out.push(b'}');
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, SortedJsonError> {
    if depth >= MAX_DEPTH { Err(SortedJsonError::TooDeep) } else { Ok(depth + 1) }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_plain(byte)) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut chars = tail.chars();
        if let Some(c) = chars.next() {
            write_escape(out, c);
        }
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}

/// Printable ASCII but the two that JSON escapes. Each other byte begins a character that is
/// escaped, so a cut there is at a character's start.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn write_escape(out: &mut Vec<u8>, c: char) {
    let short: &[u8] = match c {
        '"' => b"\\\"",
        '\\' => b"\\\\",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\u{8}' => b"\\b",
        '\u{c}' => b"\\f",
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(b"\\u");
                for shift in [12, 8, 4, 0] {
                    out.extend(HEX.get(usize::from((*unit >> shift) & 15)));
                }
            }
            return;
        }
    };
    out.extend_from_slice(short);
}

fn write_number(out: &mut Vec<u8>, number: &Number) -> Result<(), SortedJsonError> {
    let start = out.len();
    if !number.is_f64() {
        push(out, format_args!("{number}"));
        if out.get(start..) == Some(b"-0") {
            out.remove(start);
        }
        return Ok(());
    }
    let double = number.as_f64().filter(|double| double.is_finite());
    write_float(out, double.ok_or(SortedJsonError::NotFinite)?);
    Ok(())
}

/// `repr` of a finite float: the shortest digits that read back the same, with an exponent below
/// 1e-4 and from 1e16 on.
fn write_float(out: &mut Vec<u8>, double: f64) {
    if double.is_sign_negative() {
        out.push(b'-');
    }
    let text = Shortest::of(double.abs());
    let (digits, exponent) = (text.digits(), text.exponent);
    let (first, rest) = digits.split_at(digits.len().min(1));
    match exponent {
        -4..0 => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', usize::try_from(-exponent - 1).unwrap_or(0)));
            out.extend_from_slice(digits);
        }
        0..16 => {
            let whole = usize::try_from(exponent).unwrap_or(0) + 1;
            let (head, tail) = digits.split_at(whole.min(digits.len()));
            out.extend_from_slice(head);
            out.extend(std::iter::repeat_n(b'0', whole - head.len()));
            out.push(b'.');
            out.extend_from_slice(if tail.is_empty() { b"0" } else { tail });
        }
        _ => {
            out.extend_from_slice(first);
            if !rest.is_empty() {
                out.push(b'.');
                out.extend_from_slice(rest);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            push(out, format_args!("e{sign}{:02}", exponent.unsigned_abs()));
        }
    }
}

/// Digits of a double without their point, on the stack.
struct Shortest {
    digits: [u8; 32],
    count: usize,
    exponent: i32,
}

impl Shortest {
    /// Takes a finite, non-negative double apart. Where two texts of the same length are equally
    /// close, Python takes the even digit; `{:e}` takes the upper one, while a stated precision
    /// rounds to even.
    fn of(double: f64) -> Self {
        let (upper, _) = Self::read(format_args!("{double:e}"));
        let places = upper.count.saturating_sub(1);
        let (even, value) = Self::read(format_args!("{double:.places$e}"));
        // Beside a power of two the closest of that length may belong to the neighbour.
        if value == Some(double) { even } else { upper }
    }

    fn read(text: std::fmt::Arguments<'_>) -> (Self, Option<f64>) {
        let mut buffer = [0; 40];
        let mut free = &mut buffer[..];
        // At most 17 digits, a point and an exponent of four characters: it fits.
        let _ = free.write_fmt(text);
        let used = 40 - free.len();
        let text = std::str::from_utf8(buffer.get(..used).unwrap_or_default()).unwrap_or_default();
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut this = Self { digits: [0; 32], count: 0, exponent: exponent.parse().unwrap_or(0) };
        for (slot, digit) in this.digits.iter_mut().zip(mantissa.bytes().filter(|b| *b != b'.')) {
            *slot = digit;
            this.count += 1;
        }
        (this, text.parse().ok())
    }

    fn digits(&self) -> &[u8] {
        self.digits.get(..self.count).unwrap_or_default()
    }
}

/// Writing to a buffer in memory cannot fail.
fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
