//! Numbers: their grammar, their range, and the one spelling that is canonical.
//!
//! The source system writes floats as Python's `repr` does: the shortest digits that read back as
//! the same double, a point or an exponent always, the exponent below 1e-4 and from 1e16 on, with a
//! sign and at least two digits.

use crate::float::python_float;

use super::Fault;

/// The greatest integer that a double holds with all its neighbours: 2^53 − 1.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Decimal digits that a double always keeps.
const EXACT_DIGITS: usize = 15;

/// What came of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// The byte behind it.
    pub(super) end: usize,
    /// It has a fraction or an exponent.
    pub(super) is_float: bool,
    pub(super) is_canonical: bool,
}

/// The parts of a number, as they stand.
struct Parts<'t> {
    is_negative: bool,
    whole: &'t [u8],
    fraction: Option<&'t [u8]>,
    has_exponent: bool,
}

/// Reads a number that begins at `at`.
///
/// # Errors
/// The place and the fault.
pub(super) fn read(text: &str, at: usize) -> Result<Number, (usize, Fault)> {
    let bytes = text.as_bytes().get(at..).unwrap_or_default();
    let mut rest = bytes;
    let here = |rest: &[u8]| at.saturating_add(bytes.len().saturating_sub(rest.len()));
    let is_negative = eat(&mut rest, b"-");
    if is_negative && matches!(rest.first(), Some(b'I' | b'N')) {
        return Err((at, Fault::Number));
    }
    let whole = digits(&mut rest);
    if whole.is_empty() || (whole.len() > 1 && whole.first() == Some(&b'0')) {
        return Err((at, Fault::Syntax("a number")));
    }
    let mut parts = Parts { is_negative, whole, fraction: None, has_exponent: false };
    if eat(&mut rest, b".") {
        parts.fraction = Some(digits(&mut rest));
        if parts.fraction.is_some_and(<[u8]>::is_empty) {
            return Err((here(rest), Fault::Syntax("a digit")));
        }
    }
    if eat(&mut rest, b"eE") {
        parts.has_exponent = true;
        let _ = eat(&mut rest, b"+-");
        if digits(&mut rest).is_empty() {
            return Err((here(rest), Fault::Syntax("a digit")));
        }
    }
    let end = here(rest);
    let is_float = parts.fraction.is_some() || parts.has_exponent;
    let raw = text.get(at..end).unwrap_or_default();
    let is_canonical = match is_float {
        true => float(raw, &parts),
        false => integer(raw, &parts),
    };
    let is_canonical = is_canonical.ok_or((at, Fault::Number))?;
    Ok(Number { end, is_float, is_canonical })
}

/// Whether an integer is spelled canonically; `None` beyond ±(2^53 − 1).
fn integer(raw: &str, parts: &Parts) -> Option<bool> {
    if parts.whole.len() > EXACT_DIGITS {
        let magnitude: u64 = raw.trim_start_matches('-').parse().ok()?;
        (magnitude <= MAX_SAFE).then_some(())?;
    }
    Some(!(parts.is_negative && parts.whole == b"0"))
}

/// Whether a float is spelled canonically; `None` if no double holds it.
fn float(raw: &str, parts: &Parts) -> Option<bool> {
    if is_plainly_canonical(parts) {
        return Some(true);
    }
    let value: f64 = raw.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(python_float(value) == raw)
}

/// Whether a float is canonical beyond doubt: few digits, no exponent, no idle zero. Such digits
/// read back as they are, and no shorter ones do.
fn is_plainly_canonical(parts: &Parts) -> bool {
    let Some(fraction) = parts.fraction else { return false };
    let is_short = parts.whole.len().saturating_add(fraction.len()) <= EXACT_DIGITS;
    let is_tight = fraction == b"0" || fraction.last() != Some(&b'0');
    let whole_is_zero = parts.whole == b"0";
    // Below 1e-4 the canonical spelling has an exponent; a negative zero has no sign.
    let is_small = whole_is_zero && fraction.iter().take(4).all(|digit| *digit == b'0');
    is_short && is_tight && !parts.has_exponent && (!is_small || is_zero(parts, fraction))
}

fn is_zero(parts: &Parts, fraction: &[u8]) -> bool {
    !parts.is_negative && fraction == b"0"
}

fn eat(rest: &mut &[u8], any_of: &[u8]) -> bool {
    match rest.split_first() {
        Some((byte, tail)) if any_of.contains(byte) => {
            *rest = tail;
            true
        }
        _ => false,
    }
}

fn digits<'t>(rest: &mut &'t [u8]) -> &'t [u8] {
    let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, tail) = rest.split_at(length);
    *rest = tail;
    digits
}
