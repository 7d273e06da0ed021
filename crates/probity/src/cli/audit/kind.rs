//! What a file is, by its first bytes.

use std::path::Path;

/// Bytes that are looked at.
pub(super) const MAX_HEAD_BYTES: usize = 1 << 16;

/// Where the container of a bundle says what it is, and what it says there.
const CONTAINER: (usize, &[u8]) = (257, b"ustar");

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A proof bundle.
    Bundle,
    /// A run log: one record a line.
    RunLog,
    /// A reasoning trace without its folder.
    Trace,
    /// One JSON document a line.
    Lines,
    /// One JSON document, or an array of them.
    Document,
    /// None of these.
    Unknown,
}

impl FileKind {
    /// By what a file begins with, at most [`MAX_HEAD_BYTES`] of it. A damaged record is still told
    /// as what it was where its name or its other lines say so.
    pub(super) fn of(head: &[u8], path: Option<&Path>) -> Self {
        let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str());
        let (at, magic) = CONTAINER;
        if head.get(at..).is_some_and(|rest| rest.starts_with(magic)) || ending == Some("probity") {
            return Self::Bundle;
        }
        if head.split(|byte| *byte == b'\n').any(is_record) {
            return Self::RunLog;
        }
        let text = head.trim_ascii_start();
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if is_trace(first) {
            return Self::Trace;
        }
        if matches!(ending, Some("jsonl" | "ndjson")) {
            return Self::Lines;
        }
        match text.first() {
            // Without a name to go by, a value that ends with its line is one of a list of lines.
            Some(b'{') if ending.is_none() && is_value(first) => Self::Lines,
            Some(b'{' | b'[') => Self::Document,
            _ if ending == Some("json") => Self::Document,
            _ => Self::Unknown,
        }
    }
}

/// Whether a line begins or ends as a record does; a torn or edited one does one of the two.
fn is_record(line: &[u8]) -> bool {
    const HASH_DIGITS: usize = 64;
    let has_hash = || {
        let rest = line.strip_suffix(b"\"}")?;
        let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(HASH_DIGITS)?)?;
        Some(rest.ends_with(b",\"hash\":\"") && hash.iter().all(u8::is_ascii_hexdigit))
    };
    line.starts_with(b"{\"body\":{") || has_hash().unwrap_or(false)
}

fn is_trace(line: &[u8]) -> bool {
    let is_at = |window: &[u8]| window == b"\"trace_header\"";
    line.starts_with(b"{") && line.windows(14).any(is_at)
}

fn is_value(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_bytes_and_a_damaged_one_by_the_rest() {
        let mut container = vec![b'm'; 600];
        container.splice(257..262, *b"ustar");
        let hash = format!("x,\"hash\":\"{}\"}}\n", "0".repeat(64));
        let table: [(&[u8], Option<&str>, FileKind); 17] = [
            (&container, None, FileKind::Bundle),
            (&container, Some("a.json"), FileKind::Bundle),
            (b"{}", Some("a.probity"), FileKind::Bundle),
            (b"{\"body\":{\"v\":\"1.0\"", None, FileKind::RunLog),
            (b"{\"bodx\":{}}\n{\"body\":{\"v\"", Some("a.jsonl"), FileKind::RunLog),
            (hash.as_bytes(), Some("a.jsonl"), FileKind::RunLog),
            (b"{\"id\":1,\"record\":\"trace_header\"}\n{", None, FileKind::Trace),
            (b"{}\n{}\n", Some("a.jsonl"), FileKind::Lines),
            (b"torn", Some("a.ndjson"), FileKind::Lines),
            (b"\n{}\n{}\n", None, FileKind::Lines),
            (b"{\n  \"a\": 1\n}\n", None, FileKind::Document),
            (b"[{}]", None, FileKind::Document),
            (b"{}\n", Some("a.json"), FileKind::Document),
            (b"", Some("a.json"), FileKind::Document),
            (b"", None, FileKind::Unknown),
            (b"hello", Some("a.txt"), FileKind::Unknown),
            (b"\x1f\x8b\x08", None, FileKind::Unknown),
        ];
        for (head, path, expected) in table {
            let found = FileKind::of(head, path.map(Path::new));
            assert_eq!(found, expected, "{path:?} {}", head.escape_ascii());
        }
    }
}
