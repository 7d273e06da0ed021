//! The hash that names a candidate: SHA-256 of what Python's `json.dumps(value, sort_keys=True,
//! separators=(',', ':'), ensure_ascii=True)` prints.
//!
//! This is *not* the canonical JSON of records. It keeps `1.0` apart from `1`, prints non-ASCII
//! text as `\uXXXX`, sorts keys by code point, and lays out floats as Python does, so that a hash
//! equals the one that a Python host computed for the same value. Two limits: an integer beyond 64
//! bits reaches a `serde_json::Value` as a float and is hashed as one, and a lone surrogate cannot
//! be read at all.

use probity_core::{Claim, Digest};
use serde_json::{Map, Number, Value};

use crate::blob_digest;
use crate::canonical::Decimal;

/// The candidate hash of a value.
#[must_use]
pub fn candidate_hash(value: &Value) -> Digest {
    blob_digest(candidate_text(value).as_bytes())
}

/// The candidate hash of a claim.
///
/// A typed claim is its `output`. An untyped one is `{"response": …, "tool_calls": [{"arguments":
/// …, "name": …}, …]}`: what the delegate said and did. The ids of calls and the texts of results
/// are left out, because a repeated claim gets new ids, and results are what the world answered,
/// not what is claimed.
#[must_use]
pub fn claim_candidate(claim: &Claim) -> Digest {
    if let Some(output) = &claim.output {
        return candidate_hash(output);
    }
    let calls = claim.tool_calls.iter().map(|call| {
        Value::Object(Map::from_iter([
            ("name".to_owned(), Value::String(call.name.clone())),
            ("arguments".to_owned(), call.arguments.clone()),
        ]))
    });
    candidate_hash(&Value::Object(Map::from_iter([
        ("response".to_owned(), Value::String(claim.response.clone())),
        ("tool_calls".to_owned(), Value::Array(calls.collect())),
    ])))
}

/// The text that [`candidate_hash`] hashes. All of it is ASCII.
#[must_use]
pub fn candidate_text(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&python_number(number)),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            // The order of UTF-8 bytes is the order of code points.
            members.sort_unstable_by_key(|member| member.0);
            out.push('{');
            for (index, (key, item)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

/// Where the build keeps the text of numbers, `-0` and integers beyond 64 bits look like integers. They
/// are floats in every build.
fn python_number(number: &Number) -> String {
    let is_integer = number.is_u64() || number.as_i64().is_some_and(i64::is_negative);
    match number.as_f64() {
        Some(double) if !is_integer => python_float(double),
        _ => number.to_string(),
    }
}

/// Python's `repr(float)`: an exponent below 1e-4 and from 1e16 on, of at least two digits.
fn python_float(double: f64) -> String {
    let decimal = Decimal::of(double);
    let sign = if decimal.negative { "-" } else { "" };
    if double == 0.0 {
        return format!("{sign}0.0");
    }
    if (-3..=16).contains(&decimal.point) {
        let plain = decimal.plain();
        let fraction = if plain.contains('.') { "" } else { ".0" };
        return format!("{sign}{plain}{fraction}");
    }
    format!("{sign}{}e{:+03}", decimal.mantissa(), decimal.point - 1)
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}
