//! Numbers as Python and its model library read and write them.

use std::cmp::Ordering;
use std::fmt;

use super::text::Text;
use super::unicode;

/// The most digits that Python turns into an integer, or an integer into.
const MAX_DIGITS: usize = 4300;

/// An integer of any size, bounded by [`MAX_DIGITS`] where it comes from text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Integer(Repr);

/// Only what does not fit the first is the second, so that equal numbers are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    Large { is_negative: bool, digits: Box<str> },
}

impl Integer {
    /// Of decimal ASCII digits, leading zeros allowed.
    fn of_digits(is_negative: bool, digits: &str) -> Self {
        let digits = digits.trim_start_matches('0');
        let small = match digits {
            "" => Ok(0),
            _ if is_negative => format!("-{digits}").parse(),
            _ => digits.parse(),
        };
        Self(match small {
            Ok(small) => Repr::Small(small),
            Err(_) => Repr::Large { is_negative, digits: digits.into() },
        })
    }

    /// Of a JSON number without fraction; `None` beyond the digits that Python takes.
    pub(super) fn of_json(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        Self::of_plain(digits.len() < text.len(), digits)
    }

    /// The whole part of a finite number.
    pub(super) fn of_float(float: f64) -> Option<Self> {
        let digits = float.is_finite().then(|| format!("{:.0}", float.trunc().abs()))?;
        Some(Self::of_digits(float < 0.0, &digits))
    }

    /// As `int(text)` reads it; `None` for what it refuses.
    pub(super) fn of_text(text: &Text) -> Option<Self> {
        let mut plain = String::new();
        for point in text.points() {
            match unicode::digit(point) {
                Some(digit) => plain.push(char::from(b'0' + digit)),
                // Of the ASCII controls, only those that C takes for blanks are taken off.
                None if point > 0x7f && unicode::is_space(point) => plain.push(' '),
                None => plain.push(char::from_u32(point).filter(char::is_ascii)?),
            }
        }
        let plain = plain.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
        let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
        Self::of_plain(plain.starts_with('-'), &without_underscores(unsigned)?)
    }

    /// As the model library reads an integer out of a string; `None` for what it refuses.
    pub(super) fn of_lax_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let whole = match unsigned.split_once('.') {
            Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
            Some(_) => return None,
            None => unsigned,
        };
        if !whole.starts_with('0') {
            return Self::of_plain(text.starts_with('-'), &without_underscores(whole)?);
        }
        // Behind a leading zero, zeros and underscores may stand in any order; then, where no minus
        // went before, another sign.
        let trimmed = whole.trim_start_matches(['0', '_']);
        let rest = without_underscores(trimmed)?;
        match rest.strip_prefix('-').filter(|_| !text.starts_with('-')) {
            Some("0") => Some(0_i64.into()),
            Some(digits) if !digits.starts_with('0') => Self::of_plain(true, digits),
            Some(_) => None,
            None if rest.is_empty() => whole.ends_with('0').then(|| 0_i64.into()),
            None => Self::of_plain(text.starts_with('-'), &rest),
        }
    }

    /// Of decimal ASCII digits, if it is nothing else.
    fn of_plain(is_negative: bool, digits: &str) -> Option<Self> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && digits.len() <= MAX_DIGITS).then(|| Self::of_digits(is_negative, digits))
    }

    /// As the model library reads an integer out of a number with a fraction.
    pub(super) fn of_lax_float(float: f64) -> Option<Self> {
        // 2^63, which is refused on both sides.
        const BOUND: f64 = 9_223_372_036_854_775_808.0;
        let is_taken = float.is_finite() && float.fract() == 0.0 && float.abs() < BOUND;
        is_taken.then(|| Self::of_float(float)).flatten()
    }

    /// The number, where a machine word holds it.
    pub(super) const fn small(&self) -> Option<i64> {
        match self.0 {
            Repr::Small(small) => Some(small),
            Repr::Large { .. } => None,
        }
    }

    /// The nearest number of 64 bits; infinite beyond.
    pub(super) fn to_float(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

impl From<i64> for Integer {
    fn from(small: i64) -> Self {
        Self(Repr::Small(small))
    }
}

impl From<usize> for Integer {
    fn from(count: usize) -> Self {
        Self::of_digits(false, &count.to_string())
    }
}

impl Ord for Integer {
    fn cmp(&self, other: &Self) -> Ordering {
        let is_below = |large_is_negative: bool| match large_is_negative {
            true => Ordering::Less,
            false => Ordering::Greater,
        };
        match (&self.0, &other.0) {
            (Repr::Small(a), Repr::Small(b)) => a.cmp(b),
            (Repr::Large { is_negative, .. }, Repr::Small(_)) => is_below(*is_negative),
            (Repr::Small(_), Repr::Large { is_negative, .. }) => is_below(*is_negative).reverse(),
            (
                Repr::Large { is_negative: a_negative, digits: a },
                Repr::Large { is_negative: b_negative, digits: b },
            ) => match (a_negative, b_negative) {
                (true, true) => (b.len(), b).cmp(&(a.len(), a)),
                (false, false) => (a.len(), a).cmp(&(b.len(), b)),
                (a_negative, _) => is_below(*a_negative),
            },
        }
    }
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(small) => small.fmt(f),
            Repr::Large { is_negative: true, digits } => write!(f, "-{digits}"),
            Repr::Large { is_negative: false, digits } => f.write_str(digits),
        }
    }
}

/// As the model library reads a float out of a string; `None` for what it refuses.
pub(super) fn lax_float(text: &str) -> Option<f64> {
    if let Ok(float) = text.trim().parse() {
        return Some(float);
    }
    // The second try is made without taking white space off.
    without_underscores(text)?.parse().ok()
}

/// The text without underscores, each of which must stand between two other characters.
fn without_underscores(text: &str) -> Option<String> {
    let is_misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!is_misplaced).then(|| text.replace('_', ""))
}
