//! The corpus of a run, with all that is derived from it.

use std::collections::HashMap;

use probity_report::{Failures, Place, Rule};

use crate::identity::quoted;
use crate::scene::Scene;
use crate::seal::document::tell_unread;
use crate::tape::Tape;

use super::chunk::{self, Chunk};
use super::corpus::{self, Cut, Document};
use super::index;
use super::line::Lines;
use super::parameters::Parameters;
use super::search::Postings;

pub(super) const CORPUS: &str = "provenance/corpus.jsonl";
pub(super) const CHUNKS: &str = "provenance/chunks.jsonl";
pub(super) const INDEX: &str = "provenance/index/bm25_index.json";

/// The most chunks of a corpus: what is kept of one is below 100 bytes.
const MAX_CHUNKS: usize = 1 << 22;

/// The most bytes of all chunks together: chunks overlap, so a small corpus can have large ones.
const MAX_CHUNK_BYTES: u64 = 4 << 30;

pub(super) static MISSING: Rule = Rule::error(
    "trace_provenance_missing",
    super::CHECK,
    "a provenance file that the trace speaks of is not there",
);
pub(super) static SHA256: Rule = Rule::error(
    "trace_provenance_sha256",
    super::CHECK,
    "a provenance file with another SHA-256 than the trace gives it",
);
pub(super) static LIMIT: Rule = Rule::limit(
    "trace_provenance_limit",
    super::CHECK,
    "a corpus that gives more than is looked at",
);

/// Documents without their texts, chunks in order, and who holds which word.
#[derive(Debug)]
pub(super) struct Library {
    parameters: Parameters,
    documents: Vec<Document>,
    /// The last document of each name: its labels are the ones that results have.
    labels: HashMap<String, u32>,
    chunks: Vec<Chunk>,
    /// Places in `chunks`, by digest, span and name of the document.
    by_digest: Vec<u32>,
    /// Words by chunk; `None` where the index could not be read.
    pub(super) postings: Option<Postings>,
}

impl Library {
    /// Reads corpus, chunks and index. `None` where the corpus cannot be read; all is told.
    pub(super) fn read(scene: &Scene, declared: &str, failures: &mut Failures) -> Option<Self> {
        let parameters = Parameters::read(scene, declared, failures)?;
        let mut library = Self {
            parameters,
            documents: Vec::new(),
            labels: HashMap::new(),
            chunks: Vec::new(),
            by_digest: Vec::new(),
            postings: None,
        };
        library.read_corpus(scene, failures)?;
        library.order();
        if let Some(lines) = open(scene, CHUNKS, failures) {
            chunk::check(&library, lines, failures);
        }
        library.postings = index::check(&library, &library.parameters, scene, failures);
        Some(library)
    }

    pub(super) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// All chunks, in order.
    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The chunks with these bytes.
    pub(super) fn chunks_of(&self, digest: [u8; 32]) -> impl Iterator<Item = Chunk> {
        let digest_at = |at: &u32| self.chunk(*at).map(|chunk| chunk.digest);
        let start = self.by_digest.partition_point(|at| digest_at(at) < Some(digest));
        self.by_digest
            .iter()
            .skip(start)
            .filter_map(|at| self.chunk(*at))
            .take_while(move |chunk| chunk.digest == digest)
    }

    /// The chunk with these bytes that a source names.
    pub(super) fn find(&self, digest: [u8; 32], uri: &str) -> Option<Chunk> {
        let (name, place) = uri.strip_prefix("corpus://")?.rsplit_once('#')?;
        let (start, end) = place.split_once('-')?;
        let span: (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
        let key = |at: &u32| self.chunk(*at).map(|chunk| self.key(chunk));
        let first = self.by_digest.partition_point(|at| key(at) < Some((digest, span, name)));
        let found = self.chunk(*self.by_digest.get(first)?)?;
        let is_right = self.key(found) == (digest, span, name) && self.uri(found) == uri;
        is_right.then_some(found)
    }

    /// What a chunk is found by.
    fn key(&self, chunk: Chunk) -> ([u8; 32], (u64, u64), &str) {
        let name = self.document(chunk).map_or("", |document| &document.id);
        (chunk.digest, chunk.span(), name)
    }

    pub(super) fn chunk(&self, at: u32) -> Option<Chunk> {
        self.chunks.get(at as usize).copied()
    }

    pub(super) fn document(&self, chunk: Chunk) -> Option<&Document> {
        self.documents.get(chunk.document as usize)
    }

    /// The document whose labels stand in results for a chunk.
    pub(super) fn labelled(&self, chunk: Chunk) -> Option<&Document> {
        let at = self.labels.get(&self.document(chunk)?.id)?;
        self.documents.get(*at as usize)
    }

    /// Where a chunk comes from, as results and evidence name it.
    pub(super) fn uri(&self, chunk: Chunk) -> String {
        let name = self.document(chunk).map_or("", |document| &document.id);
        format!("corpus://{name}#{}-{}", chunk.start, chunk.end)
    }

    /// The line that a chunk has in the table.
    pub(super) fn row(&self, chunk: Chunk) -> String {
        let id = hex::encode(chunk.digest);
        let document = self.document(chunk);
        let name = document.map_or("", |document| &document.id);
        let of = document.map_or([0; 32], |document| document.sha256);
        format!(
            "{{\"chunk_id\":\"{id}\",\"chunk_sha256\":\"{id}\",\"doc_id\":{},\"doc_sha256\":\"{}\",\
             \"end_byte\":{},\"start_byte\":{}}}",
            quoted(name),
            hex::encode(of),
            chunk.end,
            chunk.start
        )
    }

    fn read_corpus(&mut self, scene: &Scene, failures: &mut Failures) -> Option<()> {
        let cut = Cut::new(self.parameters.chunk_chars, self.parameters.overlap_chars);
        let mut lines = open(scene, CORPUS, failures)?;
        let mut tape = Tape::default();
        let mut bytes = 0_u64;
        while let Some(line) = lines.next(failures)? {
            for entry in corpus::read(&line, &mut tape, failures)? {
                let at = u32::try_from(self.documents.len()).ok()?;
                for range in cut.ranges(&entry.text) {
                    let chunk = corpus::chunk(at, &entry.text, range);
                    bytes = bytes.saturating_add(chunk.end.saturating_sub(chunk.start));
                    self.chunks.push(chunk);
                    if bytes > MAX_CHUNK_BYTES || self.chunks.len() > MAX_CHUNKS {
                        failures.add(&LIMIT, Place::file(CORPUS).line(line.number), LIMIT.finds);
                        return None;
                    }
                }
                self.labels.insert(entry.document.id.clone(), at);
                self.documents.push(entry.document);
            }
        }
        let (found, right) = (lines.sha256(), self.parameters.corpus_sha256);
        if found != right {
            failures.differs(&SHA256, Place::file(CORPUS), hex::encode(right), hex::encode(found));
        }
        Some(())
    }

    /// Puts the chunks in the order of the table.
    fn order(&mut self) {
        let documents = &self.documents;
        let name = |chunk: &Chunk| documents.get(chunk.document as usize).map(|of| &of.id);
        self.chunks.sort_by(|a, b| {
            (name(a), a.start, a.end, a.digest).cmp(&(name(b), b.start, b.end, b.digest))
        });
        let mut by_digest: Vec<u32> =
            (0..u32::try_from(self.chunks.len()).unwrap_or(u32::MAX)).collect();
        let key = |at: &u32| self.chunk(*at).map(|chunk| self.key(chunk));
        by_digest.sort_by(|a, b| key(a).cmp(&key(b)));
        self.by_digest = by_digest;
    }
}

/// The lines of a file. One that is not there, or cannot be opened, is told.
fn open<'f>(scene: &Scene<'f>, path: &'f str, failures: &mut Failures) -> Option<Lines<'f>> {
    match scene.files.open(path) {
        Ok(file) => Some(Lines::new(path, file)),
        Err(error) => {
            tell_unread(path, &error, &MISSING, failures);
            None
        }
    }
}
