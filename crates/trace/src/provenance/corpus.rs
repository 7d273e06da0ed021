//! The corpus: one document on each line, in any JSON; and how it is cut into chunks.

use probity_report::{Failures, Rule};
use sha2::{Digest as _, Sha256};

use crate::seal::document::{Desk, Form};
use crate::tape::{Kind, Tape, Value};

use super::chunk::Chunk;
use super::library::{CORPUS, LIMIT};
use super::line::Line;

pub(super) static EMPTY: Rule = Rule::error(
    "trace_corpus_document",
    super::CHECK,
    "a document of the corpus without a name or without a text",
);

/// The longest name of a document: every chunk is named by it.
const MAX_NAME_BYTES: usize = 4 << 10;

/// A document, without its text.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) sha256: [u8; 32],
    pub(super) title: Option<String>,
    pub(super) source: Option<String>,
}

/// How documents are cut: in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    chars: usize,
    step: usize,
}

impl Cut {
    /// The source system corrects sizes that would not end.
    pub(super) fn new(chunk_chars: u64, overlap_chars: u64) -> Self {
        let size = |chars: u64| usize::try_from(chars).unwrap_or(usize::MAX);
        let chars = size(chunk_chars).max(1);
        let overlap = match size(overlap_chars) {
            overlap if overlap >= chars => chars / 4,
            overlap => overlap,
        };
        Self { chars, step: chars.saturating_sub(overlap).max(1) }
    }

    /// The chunks of a text, as ranges of bytes, and the bytes they hold together.
    pub(super) fn ranges(self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        // Where each chunk starts, and where each ends, both walk over the text once.
        let mut starts = text.char_indices().map(|(at, _)| at).step_by(self.step);
        let mut ends = text.char_indices().map(|(at, _)| at).skip(self.chars);
        let mut is_over = false;
        let mut is_first = true;
        let (length, skipped) = (text.len(), self.step.saturating_sub(1));
        std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let start = starts.next()?;
            let end = if is_first { ends.next() } else { ends.nth(skipped) };
            is_first = false;
            is_over = end.is_none();
            Some((start, end.unwrap_or(length)))
        })
    }
}

/// A line of the corpus as it was read.
pub(super) struct Entry {
    pub(super) document: Document,
    pub(super) text: String,
}

/// Reads the documents of a line: none if it is blank. `None` if one is none.
///
/// A carriage return ends a line for the source system too.
pub(super) fn read(line: &Line, tape: &mut Tape, failures: &mut Failures) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut offset = line.offset;
    for text in line.text.split_inclusive(['\r', '\n']) {
        let trimmed = text.trim_matches(is_blank);
        if !trimmed.is_empty() {
            let blank = text.len().saturating_sub(text.trim_start_matches(is_blank).len());
            let start = offset.saturating_add(blank as u64);
            let mut desk = Desk::line(CORPUS, line.number, start, failures);
            entries.push(document(&mut desk, tape, trimmed)?);
        }
        offset = offset.saturating_add(text.len() as u64);
    }
    Some(entries)
}

fn document(desk: &mut Desk, tape: &mut Tape, text: &str) -> Option<Entry> {
    let root = desk.read(tape, text, Form::Free)?;
    desk.one_of(root, format_args!(""), &[Kind::Object])?;
    let mut needed = |key: &str| {
        let found = root.get(key).and_then(Value::text);
        if found.as_ref().is_none_or(|text| text.trim_matches(is_blank).is_empty()) {
            desk.add(&EMPTY, root, format_args!("/{key}"), format!("`{key}` has no text"));
            return None;
        }
        found
    };
    let id = needed("doc_id")?;
    if id.len() > MAX_NAME_BYTES {
        desk.add(&LIMIT, root, format_args!("/doc_id"), "a longer name than is read");
        return None;
    }
    let text = needed("text")?.into_owned();
    let label = |key: &str| root.get(key).and_then(Value::text).map(|text| text.into_owned());
    Some(Entry {
        document: Document {
            id: id.trim_matches(is_blank).to_owned(),
            sha256: Sha256::digest(&text).into(),
            title: label("title"),
            source: label("source"),
        },
        text,
    })
}

/// The chunk of a text.
pub(super) fn chunk(document: u32, text: &str, (start, end): (usize, usize)) -> Chunk {
    let bytes = text.get(start..end).unwrap_or_default();
    Chunk { document, start: start as u64, end: end as u64, digest: Sha256::digest(bytes).into() }
}

/// What Python strips from a text.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, chars: u64, overlap: u64) -> Vec<&str> {
        Cut::new(chars, overlap).ranges(text).map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        for (text, chars, overlap, chunks) in [
            ("", 4, 1, &[][..]),
            ("abc", 4, 1, &["abc"]),
            ("abcd", 4, 1, &["abcd"]),
            ("abcde", 4, 1, &["abcd", "de"]),
            ("abcdefg", 4, 1, &["abcd", "defg"]),
            ("abcdefgh", 4, 1, &["abcd", "defg", "gh"]),
            ("aéb水", 2, 1, &["aé", "éb", "b水"]),
            // An overlap that would not end is a quarter.
            ("abcdefgh", 4, 9, &["abcd", "defg", "gh"]),
            ("abc", 0, 0, &["a", "b", "c"]),
            ("abc", 1, 1, &["a", "b", "c"]),
        ] {
            assert_eq!(cut(text, chars, overlap), chunks, "{text} {chars} {overlap}");
        }
    }
}
