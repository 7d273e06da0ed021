//! The original's canonical JSON, and the ids that it makes of it.

use crate::float::python_float;
use sha2::{Digest as _, Sha256};

use super::json::{Object, Value};
use super::text::Text;

/// The id of a thing whose record leaves it empty: kind, version, digest. `None` for what has no
/// canonical form.
pub(super) fn stable_id<const N: usize>(
    kind: &str,
    members: [(&'static str, Value); N],
) -> Option<Text> {
    fingerprint(&object(members)).map(|digest| Text::of(&format!("{kind}_v1_{digest}")))
}

/// The SHA-256 of a value's canonical form, in lower-case hex digits.
pub(super) fn fingerprint(value: &Value) -> Option<String> {
    let mut canonical = Text::new();
    write(value, &mut canonical)?;
    // A lone surrogate has no UTF-8.
    let canonical = canonical.as_str()?;
    Some(hex::encode(Sha256::digest(canonical)))
}

/// An object of these members.
pub(super) fn object<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    let members = members.into_iter().map(|(key, value)| (Text::of(key), value));
    Value::Object(Object::new(members.collect()))
}

/// A string.
pub(super) fn string(text: &str) -> Value {
    Value::Text(Text::of(text))
}

fn write(value: &Value, out: &mut Text) -> Option<()> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Integer(integer) => out.push_str(&integer.to_string()),
        Value::Float(float) if float.is_finite() => out.push_str(&python_float(*float)),
        Value::Float(_) => return None,
        Value::Text(text) => write_text(text, out),
        Value::List(list) => {
            out.push_str("[");
            for (at, item) in list.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write(item, out)?;
            }
            out.push_str("]");
        }
        Value::Object(object) => {
            out.push_str("{");
            for (at, (key, item)) in object.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_text(key, out);
                out.push_str(":");
                write(item, out)?;
            }
            out.push_str("}");
        }
    }
    Some(())
}

fn write_text(text: &Text, out: &mut Text) {
    out.push_str("\"");
    for point in text.points() {
        match point {
            0x22 => out.push_str("\\\""),
            0x5c => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x09 => out.push_str("\\t"),
            0x0a => out.push_str("\\n"),
            0x0c => out.push_str("\\f"),
            0x0d => out.push_str("\\r"),
            0..=0x1f => out.push_str(&format!("\\u{point:04x}")),
            _ => out.push_point(point),
        }
    }
    out.push_str("\"");
}
