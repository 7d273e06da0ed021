//! Canonical JSON (RFC 8785, "JCS"): one value, one spelling.
//!
//! Two profiles. [`jcs`] is the RFC in full, floats included. [`to_canonical`] is what records use:
//! the same text, but a float, or an integer outside ±(2^53 − 1), is an error that names its place.
//! So a record never depends on how a language prints or rounds a number.

mod check;
mod key;
mod number;
mod parse;
mod writer;

use std::io::Write as _;

use serde::Serialize;
use serde_json::Number;

pub use check::{NotCanonical, check, is_canonical};
pub use number::spelled;
pub use parse::{ParseError, ReadError, parse_ijson, parse_strict, read_once};

pub(crate) use number::Decimal;

/// The deepest nesting of arrays and objects that is read or written. One below the recursion limit
/// of serde_json, so that every reader here draws the line at the same place.
pub const MAX_DEPTH: usize = 127;

/// The largest integer that every JSON reader holds exactly: 2^53 − 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Which numbers are legal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    /// Integers within ±[`MAX_SAFE_INTEGER`].
    Record,
    /// Any finite double; integers that a double holds exactly.
    Jcs,
}

/// A value has no canonical form in the profile asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no canonical form at `{path}`: {problem}")]
pub struct CanonicalError {
    /// JSON pointer to the offending value; empty for the value as a whole.
    pub path: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// Why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A float where the profile allows integers only.
    #[error(
        "`{text}` is not an integer; records hold integers only, so scale it or write it as text"
    )]
    Float {
        /// The number as JSON prints it.
        text: String,
    },
    /// NaN or an infinity: JSON has no such number.
    #[error("not a finite number")]
    NotFinite,
    /// An integer that a reader with doubles would round.
    #[error("`{text}` is beyond ±(2^53 − 1) and would be rounded; write it as text")]
    IntegerRange {
        /// The integer.
        text: String,
    },
    /// The same key twice in one object.
    #[error("key `{key}` occurs twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A map key that is not text.
    #[error("an object key must be text")]
    KeyNotText,
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// The type's own `Serialize` refused.
    #[error("the value refused to be serialised: {message}")]
    Refused {
        /// Its message.
        message: String,
    },
}

impl CanonicalError {
    fn new(problem: Problem) -> Self {
        Self { path: String::new(), problem }
    }

    /// Puts a path segment in front, escaped as a JSON pointer asks.
    fn under(mut self, segment: &str) -> Self {
        self.path = format!("/{}{}", segment.replace('~', "~0").replace('/', "~1"), self.path);
        self
    }
}

/// The canonical text of a value in the records' profile: integers within ±(2^53 − 1), no floats.
///
/// # Errors
/// [`CanonicalError`] naming the place of the first value that the profile refuses.
pub fn to_canonical<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    writer::write(value, Profile::Record)
}

/// The canonical text of a value by RFC 8785, floats printed as ECMAScript prints them.
///
/// # Errors
/// [`CanonicalError`] for NaN, infinities, and integers that a double cannot hold exactly.
pub fn jcs<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    writer::write(value, Profile::Jcs)
}

fn deeper(depth: usize) -> Result<usize, CanonicalError> {
    if depth >= MAX_DEPTH {
        return Err(CanonicalError::new(Problem::TooDeep));
    }
    Ok(depth + 1)
}

/// The RFC's key order: by UTF-16 code units, so an astral character sorts before U+E000.
fn utf16_order(a: &str, b: &str) -> std::cmp::Ordering {
    // Below U+D800 the order of UTF-8 bytes is the same, and most keys are ASCII.
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn write_number(out: &mut Vec<u8>, number: &Number, profile: Profile) -> Result<(), Problem> {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    // Where the build keeps the text of numbers, `-0` reads as an integer. It is the double.
    let is_zero = |magnitude: &u64| *magnitude == 0;
    let is_negative = || number.as_f64().is_some_and(f64::is_sign_negative);
    let magnitude = magnitude.filter(|magnitude| !is_zero(magnitude) || !is_negative());
    match (magnitude, profile) {
        (Some(magnitude), _) if magnitude <= MAX_SAFE_INTEGER => {
            // Writing to a vector cannot fail.
            let _ = write!(out, "{number}");
            Ok(())
        }
        (Some(_), Profile::Record) => Err(Problem::IntegerRange { text: number.to_string() }),
        (None, Profile::Record) => Err(Problem::Float { text: number.to_string() }),
        (Some(magnitude), Profile::Jcs) => {
            let double = number.as_f64().filter(|double| number::holds(*double, magnitude));
            let double =
                double.ok_or_else(|| Problem::IntegerRange { text: number.to_string() })?;
            out.extend_from_slice(number::es6(double).as_bytes());
            Ok(())
        }
        (None, Profile::Jcs) => {
            let double = number.as_f64().filter(|double| double.is_finite());
            out.extend_from_slice(number::es6(double.ok_or(Problem::NotFinite)?).as_bytes());
            Ok(())
        }
    }
}

/// Only what JSON cannot hold is escaped, in its shortest form.
fn write_string(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, byte) in bytes.iter().copied().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(bytes.get(plain..at).unwrap_or_default());
        plain = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            0x0d => out.extend_from_slice(b"\\r"),
            _ => {
                out.extend_from_slice(b"\\u00");
                for nibble in [byte >> 4, byte & 15] {
                    out.extend(HEX.get(usize::from(nibble)));
                }
            }
        }
    }
    out.extend_from_slice(bytes.get(plain..).unwrap_or_default());
    out.push(b'"');
}
