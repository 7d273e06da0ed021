//! Doubles as text: the shortest digits that read back the same, laid out as each rule asks.

use serde_json::{Map, Number, Value};

/// The key under which serde_json hands a number over as text. It does so in every build in which some
/// crate asks for its `arbitrary_precision`, as the script language does.
pub(super) const SPELLED: &str = "$serde_json::private::Number";

/// The number that a map of one member spells: so serde_json hands numbers over in builds in which it
/// keeps their text. `None` for every other map.
#[must_use]
pub fn spelled(map: &Map<String, Value>) -> Option<Number> {
    match map.get(SPELLED) {
        Some(Value::String(text)) if map.len() == 1 => text.parse().ok(),
        _ => None,
    }
}

/// The shortest decimal digits of a finite double: `0.d1d2d3… × 10^point`.
pub(crate) struct Decimal {
    /// Whether the sign bit is set.
    pub(crate) negative: bool,
    /// The digits, without leading or trailing zeros; `0` for zero.
    pub(crate) digits: String,
    /// Where the decimal point stands, counted from the first digit.
    pub(crate) point: i32,
}

impl Decimal {
    /// Takes a finite double apart.
    pub(crate) fn of(double: f64) -> Self {
        let text = shortest(double.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
        Self { negative: double.is_sign_negative(), digits, point: exponent + 1 }
    }

    /// The digits as they stand without an exponent: `1200`, `1.2`, `0.0012`.
    pub(crate) fn plain(&self) -> String {
        let count = i32::try_from(self.digits.len()).unwrap_or(i32::MAX);
        if self.point <= 0 {
            return format!("0.{}{}", zeros(-self.point), self.digits);
        }
        if self.point >= count {
            return format!("{}{}", self.digits, zeros(self.point - count));
        }
        let split = usize::try_from(self.point).unwrap_or(0);
        let (whole, fraction) = self.digits.split_at_checked(split).unwrap_or((&self.digits, ""));
        format!("{whole}.{fraction}")
    }

    /// The digits before an exponent: `1`, `1.25`.
    pub(crate) fn mantissa(&self) -> String {
        match self.digits.split_at_checked(1) {
            Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}"),
            _ => self.digits.clone(),
        }
    }
}

/// `Number::toString` of ECMAScript, which RFC 8785 asks for. The double is finite.
pub(super) fn es6(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let decimal = Decimal::of(double);
    let sign = if decimal.negative { "-" } else { "" };
    if (-5..=21).contains(&decimal.point) {
        return format!("{sign}{}", decimal.plain());
    }
    format!("{sign}{}e{:+}", decimal.mantissa(), decimal.point - 1)
}

/// Whether the double is exactly that integer in magnitude. Compared by digits, because a cast of
/// a large double would itself round.
pub(super) fn holds(double: f64, magnitude: u64) -> bool {
    format!("{:.0}", double.abs()) == magnitude.to_string()
}

/// The shortest digits that read back the same, as `d.ddde±n`. Where two are equally close,
/// ECMAScript and Python take the even one; `{:e}` takes the upper one, while a stated precision
/// rounds to even.
fn shortest(double: f64) -> String {
    let text = format!("{double:e}");
    let places = text.split_once('e').map_or(0, |(mantissa, _)| mantissa.len().saturating_sub(2));
    let even = format!("{double:.places$e}");
    // Beside a power of two the closest of that length may belong to the neighbour.
    if even.parse() == Ok(double) { even } else { text }
}

fn zeros(count: i32) -> String {
    "0".repeat(usize::try_from(count).unwrap_or(0))
}
