//! Canonical JSON and the names that are hashed from it.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The canonical text of a value: keys in code-point order, no blanks, Python's spelling of floats.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// `<kind>_v1_` and the hash of the canonical text.
#[must_use]
pub fn content_id(kind: &str, value: &Value) -> String {
    format!("{kind}_v1_{}", sha256(canonical(value).as_bytes()))
}

/// SHA-256 in lower-case hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(is) => text.push_str(if *is { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            // Whether a build keeps the text of large integers or not.
            Some(float) if number.as_i64().is_none() && number.as_u64().is_none() => {
                text.push_str(&repr(float));
            }
            _ => text.push_str(&number.to_string()),
        },
        Value::String(string) => quote(string, text),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (at, (key, item)) in members.into_iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                quote(key, text);
                text.push(':');
                write(item, text);
            }
            text.push('}');
        }
    }
}

fn quote(string: &str, text: &mut String) {
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..='\u{1f}' => text.push_str(&format!("\\u{:04x}", c as u32)),
            _ => text.push(c),
        }
    }
    text.push('"');
}

/// A float as Python spells it: the shortest digits that read back as the same number.
fn repr(float: f64) -> String {
    if float == 0.0 {
        return "0.0".to_owned();
    }
    let short = format!("{float:e}");
    let places = short.split('e').next().unwrap_or_default().trim_start_matches('-').len();
    // Of two that are as near, the even one.
    let even = format!("{float:.*e}", places.saturating_sub(2));
    let text = if even.parse() == Ok(float) { even } else { short };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let behind = i32::try_from(places.saturating_sub(2)).unwrap_or_default() - exponent;
        let plain = format!("{float:.*}", usize::try_from(behind.max(0)).unwrap_or_default());
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
