//! The table of chunks: one on each line, in the order of documents and places.

use probity_report::{Failures, Place, Rule};

use crate::seal::document::{Desk, Form};
use crate::tape::Tape;

use super::library::{CHUNKS, Library};
use super::line::{Line, Lines};

pub(super) static SLICE: Rule = Rule::error(
    "trace_chunk_slice",
    super::CHECK,
    "a chunk that is not the stated slice of the stated document",
)
.under("INV-EVD-001");
pub(super) static ORDER: Rule =
    Rule::error("trace_chunk_order", super::CHECK, "a chunk twice, or out of its order");
pub(super) static LEFT_OUT: Rule =
    Rule::error("trace_chunk_left_out", super::CHECK, "a chunk of the corpus that is not listed");

/// A slice of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Place of the document in the library.
    pub(super) document: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    /// SHA-256 of its bytes: its name.
    pub(super) digest: [u8; 32],
}

impl Chunk {
    /// Bytes of the document: `[start, end)`.
    pub(super) const fn span(self) -> (u64, u64) {
        (self.start, self.end)
    }
}

/// Holds `chunks.jsonl` against the chunks that the corpus gives.
pub(super) fn check(library: &Library, mut lines: Lines, failures: &mut Failures) {
    let mut tape = Tape::default();
    let mut right = library.chunks().iter();
    let mut is_told = false;
    loop {
        let line = match lines.next(failures) {
            None => return,
            Some(None) => break,
            Some(Some(line)) => line,
        };
        let right = right.next();
        // Behind the first one that is out of place all are; one finding says it.
        if !is_told {
            is_told = !is_right(library, &mut tape, right, &line, failures);
        }
    }
    let left = right.count();
    if left > 0 && !is_told {
        let text = format!("{left} chunks are not listed");
        failures.add(&LEFT_OUT, Place::file(CHUNKS), text);
    }
}

fn is_right(
    library: &Library,
    tape: &mut Tape,
    right: Option<&Chunk>,
    line: &Line,
    failures: &mut Failures,
) -> bool {
    let mut desk = Desk::line(CHUNKS, line.number, line.offset, failures);
    let Some(root) = desk.read(tape, line.text, Form::Line) else { return false };
    let keys = ["chunk_id", "chunk_sha256", "doc_id", "doc_sha256", "end_byte", "start_byte"];
    let Some(members) = desk.members(root, format_args!(""), keys) else { return false };
    let [id, sha256, document, document_sha256, end, start] = members;
    let digests = [
        desk.digest(id, format_args!("/chunk_id")),
        desk.digest(sha256, format_args!("/chunk_sha256")),
        desk.digest(document_sha256, format_args!("/doc_sha256")),
    ];
    let name = desk.text(document, format_args!("/doc_id"));
    let start = desk.natural(start, format_args!("/start_byte"));
    let end = desk.natural(end, format_args!("/end_byte"));
    let ([Some(id), Some(sha256), Some(of)], Some(name), Some(start), Some(end)) =
        (digests, name, start, end)
    else {
        return false;
    };
    let is = |chunk: &Chunk| {
        let document = library.document(*chunk);
        chunk.span() == (start, end)
            && chunk.digest == id
            && id == sha256
            && document.is_some_and(|document| document.id == name && document.sha256 == of)
    };
    match right {
        Some(right) if is(right) => return true,
        _ if library.chunks_of(id).any(|chunk| is(&chunk)) => {
            desk.add(&ORDER, root, format_args!(""), ORDER.finds);
        }
        right => {
            let right = right.map_or_else(|| "no line".to_owned(), |right| library.row(*right));
            desk.differs(&SLICE, root, format_args!(""), right, root.raw());
        }
    }
    false
}
