//! JSON values that must be somewhere in a document.

use serde_json::Value;

use super::first_words;
use super::tally::Tally;

/// Judges `pointer` and `equals` on a document. `code` is that of a difference.
pub(super) fn judge(
    what: &str,
    code: &'static str,
    document: &Value,
    pointer: Option<&str>,
    equals: Option<&Value>,
    tally: &mut Tally,
) {
    let place = match pointer {
        Some("") | None => what.to_owned(),
        Some(pointer) => format!("{what} at `{pointer}`"),
    };
    let found = document.pointer(pointer.unwrap_or_default());
    if pointer.is_some() {
        tally.key("pointer");
    }
    if equals.is_some() {
        tally.key("equals");
    }
    match (found, equals) {
        (None, _) => tally.miss(code, format!("{place} has no value")),
        (Some(found), Some(expected)) if !same(found, expected) => {
            let (seen, wanted) = (found.to_string(), expected.to_string());
            let reason = format!(
                "{place} is {}, expected {}",
                first_words(&seen, 80),
                first_words(&wanted, 80)
            );
            tally.miss(code, reason);
        }
        _ => {}
    }
}

/// Equality of JSON values; numbers by value, so `1` equals `1.0`.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (whole(one) == whole(other) && one.as_f64() == other.as_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|found| same(value, found)))
        }
        (one, other) => one == other,
    }
}

/// The number as an integer, where it has no fraction and a float holds it without loss.
fn whole(number: &serde_json::Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let float = number.as_f64()?;
        // Beyond 2^53 a float names no single integer.
        let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
        exact.then(|| format!("{float:.0}").parse().ok()).flatten()
    })
}
