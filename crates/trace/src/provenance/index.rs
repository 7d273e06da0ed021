//! The index: the chunks with their texts, and how often each word stands in which.

use std::collections::BTreeMap;

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use crate::FileError;
use crate::scene::Scene;
use crate::seal::document::{Desk, Form, text_of};
use crate::tape::{Kind, Tape, Value};

use super::chunk::Chunk;
use super::library::{INDEX, Library, MISSING, SHA256};
use super::parameters::Parameters;
use super::search::{Postings, words};

/// The largest index that is read; it takes a few times as much while it is.
const MAX_BYTES: u64 = 256 << 20;

pub(super) static DIFFERS: Rule = Rule::error(
    "trace_index_differs",
    super::CHECK,
    "an index that is not the one that the corpus gives",
);

pub(super) static ABSENT: Rule = Rule::withheld(
    "trace_index_absent",
    super::CHECK,
    "an index that was not kept, so that no search can be repeated",
);

/// Holds the index against the corpus, and gives who holds which word.
pub(super) fn check(
    library: &Library,
    parameters: &Parameters,
    scene: &Scene,
    failures: &mut Failures,
) -> Option<Postings> {
    if parameters.is_lazy && matches!(scene.files.open(INDEX), Err(FileError::Missing)) {
        // An index that was made for one search only.
        failures.add(&ABSENT, Place::file(INDEX), ABSENT.finds);
        return None;
    }
    let text = text_of(scene.files, INDEX, MAX_BYTES, &MISSING, failures)?;
    let found: [u8; 32] = Sha256::digest(&text).into();
    if found != parameters.index_sha256 {
        let right = hex::encode(parameters.index_sha256);
        failures.differs(&SHA256, Place::file(INDEX), right, hex::encode(found));
    }
    let mut tape = Tape::default();
    let mut desk = Desk::new(INDEX, failures);
    let root = desk.read(&mut tape, &text, Form::Canonical)?;
    let keys = [
        "avgdl",
        "chunk_chars",
        "chunks",
        "corpus_sha256",
        "df",
        "doc_tf",
        "max_chunks",
        "max_docs",
        "overlap_chars",
        "schema_version",
    ];
    let [average, chars, chunks, corpus, df, tf, max_chunks, max_docs, overlap, version] =
        desk.members(root, format_args!(""), keys)?;
    check_settings(&mut desk, parameters, [chars, corpus, max_chunks, max_docs, overlap, version]);
    for (value, key) in [(chunks, "chunks"), (tf, "doc_tf")] {
        desk.one_of(value, format_args!("/{key}"), &[Kind::List])?;
        let (found, right) = (value.items().count(), library.chunks().len());
        if found != right {
            desk.differs(&DIFFERS, value, format_args!("/{key}"), right, found);
            return None;
        }
    }
    let mut postings = Postings::default();
    for (at, ((chunk, counts), right)) in
        chunks.items().zip(tf.items()).zip(library.chunks()).enumerate()
    {
        let terms = check_chunk(&mut desk, library, at, chunk, *right)?;
        if !is_counts(counts, &terms) && !desk.is_only_counted(&DIFFERS) {
            let right = serde_json::to_string(&terms).unwrap_or_default();
            desk.differs(&DIFFERS, counts, format_args!("/doc_tf/{at}"), right, counts.raw());
        }
        postings.add(terms);
    }
    check_frequencies(&mut desk, df, &postings);
    if average.number() != Some(postings.average()) {
        let right = postings.average();
        desk.differs(&DIFFERS, average, format_args!("/avgdl"), right, average.raw());
    }
    postings.order(library);
    Some(postings)
}

/// Holds what the index says of how it was made against the account of the retrieval.
fn check_settings(desk: &mut Desk, parameters: &Parameters, found: [Value; 6]) {
    let corpus_sha256 = format!("\"{}\"", hex::encode(parameters.corpus_sha256));
    let right = [
        ("chunk_chars", parameters.chunk_chars.to_string()),
        ("corpus_sha256", corpus_sha256),
        ("max_chunks", parameters.max_chunks.clone()),
        ("max_docs", parameters.max_docs.clone()),
        ("overlap_chars", parameters.overlap_chars.to_string()),
        ("schema_version", "1".to_owned()),
    ];
    for (value, (key, right)) in found.into_iter().zip(right) {
        if value.raw() != right {
            desk.differs(&DIFFERS, value, format_args!("/{key}"), right, value.raw());
        }
    }
}

/// Holds a chunk of the index against the one that the corpus gives; its words with their counts.
fn check_chunk(
    desk: &mut Desk,
    library: &Library,
    at: usize,
    chunk: Value,
    right: Chunk,
) -> Option<BTreeMap<String, u64>> {
    let keys =
        ["chunk_id", "doc_id", "doc_sha256", "end_byte", "source", "start_byte", "text", "title"];
    let members = desk.members(chunk, format_args!("/chunks/{at}"), keys)?;
    let [id, name, of, end, source, start, text, title] = members;
    let document = library.document(right)?;
    let right_id = hex::encode(right.digest);
    let right_of = hex::encode(document.sha256);
    let is_text = |value: Value, right: Option<&str>| value.text().as_deref() == right;
    let is_label = |value: Value, right: Option<&str>| {
        is_text(value, right) && (right.is_some() || value.is_null())
    };
    let words_of = text.text().unwrap_or_default();
    let digest: [u8; 32] = Sha256::digest(words_of.as_bytes()).into();
    let checks = [
        (id, "chunk_id", is_text(id, Some(&right_id))),
        (name, "doc_id", is_text(name, Some(&document.id))),
        (of, "doc_sha256", is_text(of, Some(&right_of))),
        (end, "end_byte", end.natural() == Some(right.end)),
        (source, "source", is_label(source, document.source.as_deref())),
        (start, "start_byte", start.natural() == Some(right.start)),
        (text, "text", digest == right.digest && text.kind() == Kind::Text),
        (title, "title", is_label(title, document.title.as_deref())),
    ];
    for (value, key, is_right) in checks {
        if !is_right && !desk.is_only_counted(&DIFFERS) {
            let row = library.row(right);
            desk.differs(&DIFFERS, value, format_args!("/chunks/{at}/{key}"), row, value.raw());
        }
    }
    let mut terms = BTreeMap::new();
    for word in words(&words_of) {
        let count: &mut u64 = terms.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    Some(terms)
}

/// Whether an object is this map. Keys are in order in a canonical text; another order is told there.
fn is_counts(found: Value, right: &BTreeMap<String, u64>) -> bool {
    let mut members = found.members();
    found.kind() == Kind::Object
        && right.iter().all(|(word, count)| {
            let member = members.next();
            member.is_some_and(|member| member.is(word) && member.value.natural() == Some(*count))
        })
        && members.next().is_none()
}

fn check_frequencies(desk: &mut Desk, df: Value, postings: &Postings) {
    let right: BTreeMap<String, u64> =
        postings.frequencies().map(|(word, count)| (word.to_owned(), count)).collect();
    if !is_counts(df, &right) {
        desk.add(&DIFFERS, df, format_args!("/df"), "the words are not in so many chunks");
    }
}
