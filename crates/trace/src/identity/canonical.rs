//! The canonical text of a value: what ids are computed over.
//!
//! Keys in code-point order, no blanks, minimal escapes, floats as Python's `repr` writes them. Only
//! a text that is not canonical as it stands needs this.

use crate::float::python_float;
use std::fmt::Write as _;

use crate::tape::{Kind, Value};

/// The canonical text. Of equal keys the last one counts, as it does for the source system.
pub(crate) fn canonical(value: Value) -> String {
    canonical_without(value, &[])
}

/// The canonical text of an object without some of its members.
pub(crate) fn canonical_without(value: Value, left_out: &[&str]) -> String {
    let mut text = String::with_capacity(value.raw().len());
    write_value(value, left_out, &mut text);
    text
}

/// Whether the canonical text of a value is this one.
pub(crate) fn is_canonically(value: Value, text: &str) -> bool {
    value.raw() == text || canonical(value) == text
}

/// The canonical text of a string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len().saturating_add(2));
    write_text(text, &mut quoted);
    quoted
}

/// A tape is at most 64 levels deep, and so is this.
fn write_value(value: Value, left_out: &[&str], into: &mut String) {
    match value.kind() {
        Kind::Null | Kind::Bool => into.push_str(value.raw()),
        Kind::Integer => into.push_str(if value.raw() == "-0" { "0" } else { value.raw() }),
        Kind::Float => into.push_str(&python_float(value.number().unwrap_or_default())),
        Kind::Text => write_text(&value.text().unwrap_or_default(), into),
        Kind::List => {
            into.push('[');
            for (at, item) in value.items().enumerate() {
                separate(at, into);
                write_value(item, &[], into);
            }
            into.push(']');
        }
        Kind::Object => write_object(value, left_out, into),
    }
}

fn write_object(value: Value, left_out: &[&str], into: &mut String) {
    let mut members: Vec<_> = value.members().map(|member| (member.key(), member.value)).collect();
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    let is_overruled = |at: usize, key: &str| {
        members.get(at.saturating_add(1)).is_some_and(|(next, _)| next == key)
    };
    let counts = |(at, (key, _)): &(usize, &(_, Value))| {
        let key: &std::borrow::Cow<str> = key;
        !is_overruled(*at, key) && !left_out.contains(&key.as_ref())
    };
    into.push('{');
    for (written, (_, (key, member))) in members.iter().enumerate().filter(counts).enumerate() {
        separate(written, into);
        write_text(key, into);
        into.push(':');
        write_value(*member, &[], into);
    }
    into.push('}');
}

fn separate(at: usize, into: &mut String) {
    if at > 0 {
        into.push(',');
    }
}

fn write_text(text: &str, into: &mut String) {
    into.push('"');
    for character in text.chars() {
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\u{8}' => into.push_str("\\b"),
            '\u{c}' => into.push_str("\\f"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // Writing to a string cannot fail.
                let _ = write!(into, "\\u{:04x}", u32::from(character));
            }
            _ => into.push(character),
        }
    }
    into.push('"');
}

#[cfg(test)]
mod tests {
    use crate::tape::Tape;

    use super::*;

    fn of(text: &str) -> String {
        let mut tape = Tape::default();
        tape.read(text).expect("JSON");
        canonical(tape.root(text))
    }

    #[test]
    fn a_text_that_is_canonical_stays() {
        for text in [
            "null",
            "true",
            "-7",
            "9007199254740991",
            "0.0",
            "0.7",
            "1.0",
            "1.381748",
            "1e-05",
            "0.0001",
            "1e+16",
            "1e+22",
            "1234567890123456.0",
            "1.5e-07",
            "5e-324",
            "1.7976931348623157e+308",
            "\"\"",
            "\"a\u{7f}/\u{2028}\\u0000\\n\"",
            "[]",
            "{}",
            "[1,[2,{}],\"3\"]",
            "{\"a\":1,\"b\":{\"\":[]},\"é\":2,\"\u{ff5e}\":3,\"😀\":4}",
        ] {
            assert_eq!(of(text), text);
        }
    }

    #[test]
    fn every_other_text_becomes_canonical() {
        for (text, canonical) in [
            ("{ \"b\" : 1 , \"a\" : [ 1 , 2 ] }", "{\"a\":[1,2],\"b\":1}"),
            ("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"),
            ("\"\\u0041\\/\\u00e9\\u000a\"", "\"A/é\\n\""),
            ("\"\\ud83d\\ude00\"", "\"😀\""),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("1E5", "100000.0"),
            ("1e-5", "1e-05"),
            ("0.00010", "0.0001"),
            ("10000000000000000.0", "1e+16"),
            ("0.1000000000000000055", "0.1"),
        ] {
            assert_eq!(of(text), canonical, "{text}");
        }
    }

    #[test]
    fn members_are_left_out_of_the_outer_object_only() {
        let text = "{\"a\":{\"id\":1},\"id\":2,\"z\":3}";
        let mut tape = Tape::default();
        tape.read(text).expect("JSON");
        assert_eq!(canonical_without(tape.root(text), &["id"]), "{\"a\":{\"id\":1},\"z\":3}");
    }
}
