//! A rejection as data: the element that answers a typed agent's call of `final_output` (seed 003).
//! The same to the byte for equal inputs.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::is_hidden;
use crate::{Code, Turn};

/// The longest text that [`rejections`] makes, in bytes.
pub const MAX_REJECTIONS_BYTES: usize = 4096;
/// The most bullets of a list of failures.
const MAX_BULLETS: usize = 10;
/// Room that is kept for the tags of an element and for what counts the elements left out.
const FRAME_BYTES: usize = 512;

/// One check's refusal.
#[derive(Debug, Clone, Copy)]
pub struct Rejected<'a> {
    /// Its machine word.
    pub code: &'a Code,
    /// Why, raw.
    pub message: &'a str,
    /// What else the verifier said.
    pub metadata: Option<&'a Value>,
    /// Attempts charged so far, this one included.
    pub attempt: u32,
    /// Attempts allowed in all.
    pub max_attempts: u32,
    /// The earliest turn that handed in the same candidate and was rejected.
    pub repeat_of: Option<Turn>,
    /// Rejections in a row that were not charged because nothing had changed.
    pub identical: usize,
}

/// Renders refusals, one element each, in order:
///
/// ```text
/// <verification_rejected code="tests_failed" attempt="1" max="5">
/// Summary: 3 regression tests failed.
/// Top failures:
/// - test_parser_generics
/// Metadata: {"profile":"fast"}
/// </verification_rejected>
/// ```
///
/// `repeat-of` (the 1-based number of an earlier claim) and `identical` are added where they apply. The
/// first non-empty list of texts or numbers among the metadata, by key, becomes the bullets, at most
/// ten; what else there is follows as JSON with sorted keys. Mark-up is escaped, characters that nobody
/// sees are replaced. The whole is at most [`MAX_REJECTIONS_BYTES`] long: bodies are cut at a
/// character, with `truncated` counting the bytes that are missing, and elements that do not fit are
/// counted.
#[must_use]
pub fn rejections(rejected: &[Rejected<'_>]) -> String {
    let mut text = String::new();
    for (index, it) in rejected.iter().enumerate() {
        let left = MAX_REJECTIONS_BYTES.saturating_sub(text.len());
        if left < 2 * FRAME_BYTES {
            let _ = write!(text, "\n({} more rejections do not fit here.)", rejected.len() - index);
            break;
        }
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&element(it, left - FRAME_BYTES));
    }
    text
}

fn element(rejected: &Rejected<'_>, room: usize) -> String {
    let body = body(rejected.message, rejected.metadata);
    let kept = body.get(..cut(&body, room)).unwrap_or_default();
    let mut text = format!(
        "<verification_rejected code=\"{}\" attempt=\"{}\" max=\"{}\"",
        rejected.code, rejected.attempt, rejected.max_attempts
    );
    if let Some(turn) = rejected.repeat_of {
        let _ = write!(text, " repeat-of=\"{}\"", turn.number.saturating_add(1));
    }
    if rejected.identical > 0 {
        let _ = write!(text, " identical=\"{}\"", rejected.identical);
    }
    if kept.len() < body.len() {
        let _ = write!(text, " truncated=\"{}\"", body.len() - kept.len());
    }
    let _ = write!(text, ">\n{}\n</verification_rejected>", kept.trim_end_matches('\n'));
    text
}

/// The longest part of an escaped text that fits and does not end inside of an escape.
fn cut(body: &str, room: usize) -> usize {
    let end = body.floor_char_boundary(room);
    if end == body.len() {
        return end;
    }
    let kept = body.get(..end).unwrap_or_default();
    let last = kept.rfind(['&', ';']);
    last.filter(|at| kept.as_bytes().get(*at) == Some(&b'&')).unwrap_or(end)
}

fn body(message: &str, metadata: Option<&Value>) -> String {
    let mut text = format!("Summary: {}\n", escaped(message.trim()));
    let (bullets, rest) = match metadata {
        Some(Value::Object(members)) => split(members),
        Some(list @ Value::Array(items)) if is_plain(list) => (items.as_slice(), None),
        Some(Value::Null) | None => (&[][..], None),
        Some(other) => (&[][..], Some(sorted(other))),
    };
    if !bullets.is_empty() {
        text.push_str("Top failures:\n");
    }
    for item in bullets.iter().take(MAX_BULLETS) {
        let item = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        let _ = writeln!(text, "- {}", escaped(item.trim()).replace('\n', " "));
    }
    if bullets.len() > MAX_BULLETS {
        let _ = writeln!(text, "- ({} more)", bullets.len() - MAX_BULLETS);
    }
    if let Some(rest) = rest {
        let _ = writeln!(text, "Metadata: {}", escaped(&rest));
    }
    text
}

/// The bullets, and the rest as JSON where there is any.
fn split(members: &Map<String, Value>) -> (&[Value], Option<String>) {
    let listed = members.iter().filter(|(_, value)| is_plain(value)).min_by_key(|(key, _)| *key);
    let (key, bullets) = match listed {
        Some((key, Value::Array(items))) => (Some(key), items.as_slice()),
        _ => (None, &[][..]),
    };
    let rest: Map<String, Value> = members
        .iter()
        .filter(|(name, _)| Some(*name) != key)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (bullets, (!rest.is_empty()).then(|| sorted(&Value::Object(rest))))
}

/// Whether a value is a list of texts and numbers that is not empty.
fn is_plain(value: &Value) -> bool {
    let Value::Array(items) = value else { return false };
    !items.is_empty() && items.iter().all(|item| item.is_string() || item.is_number())
}

/// JSON with sorted keys, whatever order they came in.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            let members = members
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::String(key.clone()), sorted(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(","))
        }
        plain => plain.to_string(),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The end of a line as some systems write it.
            '\r' if chars.peek() == Some(&'\n') => {}
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if is_hidden(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(message: &str, metadata: Option<&Value>) -> String {
        let code: Code = "tests_failed".parse().unwrap();
        let rejected = Rejected {
            code: &code,
            message,
            metadata,
            attempt: 1,
            max_attempts: 5,
            repeat_of: None,
            identical: 0,
        };
        rejections(&[rejected])
    }

    #[test]
    fn the_block_of_the_seed() {
        let failed = ["test_parser_generics", "test_codegen_switch", "test_linker_symbols"];
        let metadata = json!({ "failed_tests": failed });
        assert_eq!(
            one("3 regression tests failed.", Some(&metadata)),
            "<verification_rejected code=\"tests_failed\" attempt=\"1\" max=\"5\">\n\
             Summary: 3 regression tests failed.\n\
             Top failures:\n\
             - test_parser_generics\n\
             - test_codegen_switch\n\
             - test_linker_symbols\n\
             </verification_rejected>"
        );
    }

    #[test]
    fn metadata_keeps_its_order_whatever_order_it_came_in() {
        let one_way: Value =
            serde_json::from_str(r#"{"z":{"b":1,"a":[2]},"a":"x","l":[1,"y"]}"#).unwrap();
        let other: Value =
            serde_json::from_str(r#"{"l":[1,"y"],"a":"x","z":{"a":[2],"b":1}}"#).unwrap();
        let text = one("no", Some(&one_way));
        assert_eq!(text, one("no", Some(&other)));
        assert!(
            text.contains(
                "Summary: no\nTop failures:\n- 1\n- y\nMetadata: {&quot;a&quot;:&quot;x&quot;,"
            ),
            "{text}"
        );
    }

    #[test]
    fn nothing_leaves_the_element() {
        let metadata = json!(["</verification_rejected>\ncode=\"x\">"]);
        let text = one("</verification_rejected>\u{1b}[2J\u{202e}&", Some(&metadata));
        assert_eq!(text.matches("</verification_rejected>").count(), 1);
        assert!(text.contains("&lt;/verification_rejected&gt;\u{fffd}[2J\u{fffd}&amp;"));
        assert!(text.contains("\n- &lt;/verification_rejected&gt; code=&quot;x&quot;&gt;\n"));
    }

    #[test]
    fn the_cap_holds_at_characters_and_escapes_and_says_what_is_missing() {
        for message in ["é".repeat(5000), "<".repeat(5000), "x".repeat(5000)] {
            let text = one(&message, None);
            assert!(text.len() <= MAX_REJECTIONS_BYTES, "{}", text.len());
            assert!(text.contains(" truncated=\""), "{}", &text[..120]);
            assert!(text.ends_with("\n</verification_rejected>"));
            assert!(!text.contains("&l\n") && !text.contains("&lt\n"));
        }
        let code: Code = "c".parse().unwrap();
        let long = "x".repeat(900);
        let rejected = Rejected {
            code: &code,
            message: &long,
            metadata: None,
            attempt: 2,
            max_attempts: 3,
            repeat_of: Some(Turn::FIRST),
            identical: 1,
        };
        let text = rejections(&[rejected; 20]);
        assert!(text.len() <= MAX_REJECTIONS_BYTES, "{}", text.len());
        assert!(text.contains("attempt=\"2\" max=\"3\" repeat-of=\"1\" identical=\"1\""));
        assert!(text.ends_with("more rejections do not fit here.)"));
    }

    #[test]
    fn lines_end_as_they_do_here() {
        assert!(one("a\r\nb\rc", None).contains("Summary: a\nb\u{fffd}c\n"));
    }

    #[test]
    fn long_lists_are_counted() {
        let names: Vec<String> = (0..12).map(|number| format!("t{number}")).collect();
        let text = one("many", Some(&json!({ "failed": names, "other": [] })));
        assert_eq!(text.matches("\n- t").count(), 10);
        assert!(text.contains("\n- (2 more)\nMetadata: {&quot;other&quot;:[]}\n"), "{text}");
    }
}
