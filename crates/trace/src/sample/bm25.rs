//! A corpus, its chunks and its index, and a search in them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::canon::{canonical, sha256};
use super::text::{Passage, filler, passage};
use super::{SampleRun, line, plan};

const K1: f64 = 1.2;
const B: f64 = 0.75;
const OVERLAP_CHARS: usize = 40;

/// A corpus with all that is derived from it.
#[derive(Debug, Clone)]
pub(super) struct Library {
    corpus: String,
    chunks: Vec<Chunk>,
    index: String,
    provenance: Value,
    average: f64,
}

#[derive(Debug, Clone)]
struct Chunk {
    doc_id: String,
    title: String,
    doc_sha256: String,
    start: usize,
    text: String,
    digest: String,
    terms: BTreeMap<String, u64>,
    length: u64,
}

impl Library {
    /// Two documents for each pair. What is asked for stands behind the first chunk of each.
    pub(super) fn new(run: &SampleRun) -> Self {
        let mut corpus = String::new();
        let mut chunks = Vec::new();
        let chunk_chars = run.text_bytes.max(120).saturating_add(OVERLAP_CHARS);
        for (pair, side) in (0..run.pairs).flat_map(|pair| [(pair, 0), (pair, 1)]) {
            let before = filler(run.is_unicode, chunk_chars.saturating_sub(1));
            let text = format!("{before} {}", passage(run, pair, side).text);
            let doc_id = format!("d{pair}-{side}");
            let title = format!("Of stones, {pair}");
            corpus += &format!(
                "{{\"doc_id\": \"{doc_id}\", \"title\": \"{title}\", \"source\": \"sample\", \"text\": {}}}\n",
                canonical(&json!(text))
            );
            chunks.extend(cut(&doc_id, &title, &text, chunk_chars));
        }
        chunks.sort_by(|a, b| (&a.doc_id, a.start).cmp(&(&b.doc_id, b.start)));
        let length: u64 = chunks.iter().map(|chunk| chunk.length).sum();
        #[expect(clippy::cast_precision_loss, reason = "a sample has far fewer than 2^53 words")]
        let average = length as f64 / chunks.len() as f64;
        let index = index(&chunks, average, chunk_chars, &sha256(corpus.as_bytes()));
        let provenance = provenance(chunk_chars, &corpus, &index);
        Self { corpus, chunks, index, provenance, average }
    }

    pub(super) fn provenance(&self) -> &Value {
        &self.provenance
    }

    /// What the tool's own name is hashed from.
    pub(super) fn config(&self) -> Value {
        let mut config = json!({"name": "retrieve", "backend": "bm25-chunked"});
        let keys = [
            "corpus_sha256",
            "chunk_chars",
            "overlap_chars",
            "k1",
            "b",
            "schema_version",
            "max_chunks",
            "max_docs",
            "parallel_scoring",
            "lazy_index",
            "corpus_max_bytes",
        ];
        for key in keys {
            config[key] = self.provenance[key].clone();
        }
        config
    }

    pub(super) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let chunk = |chunk: &Chunk| {
            line(&json!({
                "chunk_id": chunk.digest,
                "chunk_sha256": chunk.digest,
                "doc_id": chunk.doc_id,
                "doc_sha256": chunk.doc_sha256,
                "end_byte": chunk.end(),
                "start_byte": chunk.start,
            }))
        };
        let chunks: String = self.chunks.iter().map(chunk).collect();
        let file =
            |name: &str, text: &str| (format!("provenance/{name}"), text.as_bytes().to_vec());
        vec![
            file("chunks.jsonl", &chunks),
            file("corpus.jsonl", &self.corpus),
            file("index/bm25_index.json", &self.index),
            file("retrieval_provenance.json", &line(&self.provenance)),
        ]
    }

    /// What the tool finds for a pair: the entry in its result, and the passage.
    pub(super) fn search(&self, run: &SampleRun, pair: u64) -> Vec<(Value, Passage)> {
        let term = format!("basalt{pair}");
        let mut found: Vec<(f64, &Chunk)> =
            self.chunks.iter().map(|chunk| (self.score(chunk, &term), chunk)).collect();
        found.sort_by(|(a, chunk), (b, other)| {
            b.total_cmp(a)
                .then_with(|| (&chunk.doc_id, &chunk.digest).cmp(&(&other.doc_id, &other.digest)))
        });
        let top_k = usize::try_from(plan::per_pair(run)).unwrap_or_default();
        let entry = |(score, chunk): (f64, &Chunk)| {
            let span = json!([chunk.start, chunk.end()]);
            let result = json!({
                "chunk_id": chunk.digest,
                "chunk_sha256": chunk.digest,
                "chunk_span": span,
                "doc_id": chunk.doc_id,
                "doc_sha256": chunk.doc_sha256,
                "score": score,
                "source": "sample",
                "span": span,
                "text": chunk.text,
                "title": chunk.title,
                "uri": format!("corpus://{}#{}-{}", chunk.doc_id, chunk.start, chunk.end()),
            });
            let side = u64::from(chunk.doc_id.ends_with("-1"));
            let quoted = passage(run, pair, side);
            let quote = quoted.text.get(quoted.quote).unwrap_or_default();
            let start = chunk.text.find(quote).unwrap_or_default();
            let quote = start..start.saturating_add(quote.len());
            (result, Passage { text: chunk.text.clone(), quote })
        };
        found.into_iter().take(top_k).map(entry).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a sample has far fewer than 2^53 words")]
    fn score(&self, chunk: &Chunk, term: &str) -> f64 {
        let count = chunk.terms.get(term).copied().unwrap_or_default() as f64;
        if count == 0.0 {
            return 0.0;
        }
        let all = self.chunks.len() as f64;
        let with = self.chunks.iter().filter(|chunk| chunk.terms.contains_key(term)).count() as f64;
        let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        let norm = K1 * (1.0 - B + B * (chunk.length as f64 / self.average));
        let score = rarity * ((count * (K1 + 1.0)) / (count + norm));
        format!("{score:.6}").parse().unwrap_or_default()
    }
}

impl Chunk {
    fn end(&self) -> usize {
        self.start.saturating_add(self.text.len())
    }
}

fn cut(doc_id: &str, title: &str, text: &str, chunk_chars: usize) -> Vec<Chunk> {
    let letters: Vec<char> = text.chars().collect();
    let doc_sha256 = sha256(text.as_bytes());
    let mut chunks = Vec::new();
    let mut from = 0_usize;
    while from < letters.len() {
        let to = from.saturating_add(chunk_chars).min(letters.len());
        let before: String = letters.iter().take(from).collect();
        let inside: String = letters.iter().take(to).skip(from).collect();
        let words = words(&inside);
        let mut terms = BTreeMap::new();
        for word in &words {
            let count: &mut u64 = terms.entry(word.clone()).or_default();
            *count = count.saturating_add(1);
        }
        chunks.push(Chunk {
            doc_id: doc_id.to_owned(),
            title: title.to_owned(),
            doc_sha256: doc_sha256.clone(),
            start: before.len(),
            digest: sha256(inside.as_bytes()),
            text: inside,
            terms,
            length: words.len() as u64,
        });
        if to == letters.len() {
            break;
        }
        from = from.saturating_add(chunk_chars.saturating_sub(OVERLAP_CHARS));
    }
    chunks
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

fn index(chunks: &[Chunk], average: f64, chunk_chars: usize, corpus_sha256: &str) -> String {
    let entry = |chunk: &Chunk| {
        json!({
            "chunk_id": chunk.digest,
            "doc_id": chunk.doc_id,
            "doc_sha256": chunk.doc_sha256,
            "end_byte": chunk.end(),
            "source": "sample",
            "start_byte": chunk.start,
            "text": chunk.text,
            "title": chunk.title,
        })
    };
    let mut with: BTreeMap<&String, u64> = BTreeMap::new();
    for chunk in chunks {
        for term in chunk.terms.keys().collect::<BTreeSet<_>>() {
            let count = with.entry(term).or_default();
            *count = count.saturating_add(1);
        }
    }
    canonical(&json!({
        "avgdl": average,
        "chunk_chars": chunk_chars,
        "chunks": chunks.iter().map(entry).collect::<Vec<_>>(),
        "corpus_sha256": corpus_sha256,
        "df": with,
        "doc_tf": chunks.iter().map(|chunk| &chunk.terms).collect::<Vec<_>>(),
        "max_chunks": null,
        "max_docs": null,
        "overlap_chars": OVERLAP_CHARS,
        "schema_version": 1,
    }))
}

fn provenance(chunk_chars: usize, corpus: &str, index: &str) -> Value {
    let mut provenance = json!({
        "b": B,
        "chunk_chars": chunk_chars,
        "corpus_max_bytes": null,
        "k1": K1,
        "lazy_index": false,
        "max_chunks": null,
        "max_docs": null,
        "overlap_chars": OVERLAP_CHARS,
        "parallel_scoring": false,
        "tokenizer": "unicode_word",
    });
    let config_sha256 = sha256(canonical(&provenance).as_bytes());
    provenance["chunks_path"] = json!("provenance/chunks.jsonl");
    provenance["config_sha256"] = json!(config_sha256);
    provenance["corpus_path"] = json!("provenance/corpus.jsonl");
    provenance["corpus_sha256"] = json!(sha256(corpus.as_bytes()));
    provenance["index_path"] = json!("provenance/index/bm25_index.json");
    provenance["index_sha256"] = json!(sha256(index.as_bytes()));
    provenance["schema_version"] = json!(1);
    provenance
}
