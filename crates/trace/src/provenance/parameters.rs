//! How the corpus was cut and searched.

use probity_report::{Failures, Rule};
use sha2::{Digest as _, Sha256};

use crate::identity::{canonical, quoted};
use crate::scene::Scene;
use crate::seal::document::Desk;
use crate::tape::{Kind, Tape, Value};

use super::copy::FILE;
use super::library::{CHUNKS, CORPUS, INDEX};

pub(super) static CONFIG: Rule = Rule::error(
    "trace_provenance_config",
    super::CHECK,
    "a hash of the retrieval's parameters that is not theirs",
);
pub(super) static CONSTRAINT: Rule = Rule::error(
    "trace_provenance_constraint",
    super::CHECK,
    "a parameter of the retrieval that is not the one the problem asks for",
);

/// The keys of an account of a retrieval.
const KEYS: [&str; 17] = [
    "b",
    "chunk_chars",
    "chunks_path",
    "config_sha256",
    "corpus_max_bytes",
    "corpus_path",
    "corpus_sha256",
    "index_path",
    "index_sha256",
    "k1",
    "lazy_index",
    "max_chunks",
    "max_docs",
    "overlap_chars",
    "parallel_scoring",
    "schema_version",
    "tokenizer",
];

/// Those of them that are hashed as the configuration.
const CONFIGURED: [&str; 10] = [
    "b",
    "chunk_chars",
    "corpus_max_bytes",
    "k1",
    "lazy_index",
    "max_chunks",
    "max_docs",
    "overlap_chars",
    "parallel_scoring",
    "tokenizer",
];

/// Key here, key among the constraints of a problem, what holds without one.
const ASKED: [(&str, &str, f64); 4] = [
    ("chunk_chars", "chunk_chars", 800.0),
    ("overlap_chars", "overlap_chars", 120.0),
    ("k1", "bm25_k1", 1.2),
    ("b", "bm25_b", 0.75),
];

/// What is needed of an account.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    pub(super) chunk_chars: u64,
    pub(super) overlap_chars: u64,
    pub(super) k1: f64,
    pub(super) b: f64,
    pub(super) corpus_sha256: [u8; 32],
    pub(super) index_sha256: [u8; 32],
    pub(super) max_chunks: String,
    pub(super) max_docs: String,
    pub(super) is_lazy: bool,
}

impl Parameters {
    /// Reads an account: canonical text.
    pub(super) fn read(scene: &Scene, declared: &str, failures: &mut Failures) -> Option<Self> {
        let mut tape = Tape::default();
        // The text was made here from a value that was read.
        tape.read(declared).ok()?;
        let root = tape.root(declared);
        let mut desk = Desk::new(FILE, failures);
        let members = desk.members(root, format_args!(""), KEYS)?;
        let get = |key: &str| root.get(key).unwrap_or(root);
        let number = [Kind::Integer, Kind::Float];
        let count = [Kind::Integer, Kind::Null];
        for (value, key) in members.into_iter().zip(KEYS) {
            let at = format_args!("/{key}");
            match key {
                "b" | "k1" => desk.one_of(value, at, &number)?,
                "corpus_max_bytes" | "max_chunks" | "max_docs" => {
                    desk.one_of(value, at, &count)?;
                }
                "lazy_index" | "parallel_scoring" => desk.one_of(value, at, &[Kind::Bool])?,
                "chunks_path" => desk.exactly(value, at, &quoted(CHUNKS))?,
                "corpus_path" => desk.exactly(value, at, &quoted(CORPUS))?,
                "index_path" => desk.exactly(value, at, &quoted(INDEX))?,
                "tokenizer" => desk.exactly(value, at, "\"unicode_word\"")?,
                "schema_version" => desk.exactly(value, at, "1")?,
                _ => {}
            }
        }
        check_config(&mut desk, root);
        check_constraints(scene, &mut desk, root);
        let whole = |desk: &mut Desk, key| desk.natural(get(key), format_args!("/{key}"));
        let digest = |desk: &mut Desk, key| desk.digest(get(key), format_args!("/{key}"));
        Some(Self {
            chunk_chars: whole(&mut desk, "chunk_chars")?,
            overlap_chars: whole(&mut desk, "overlap_chars")?,
            k1: get("k1").number()?,
            b: get("b").number()?,
            corpus_sha256: digest(&mut desk, "corpus_sha256")?,
            index_sha256: digest(&mut desk, "index_sha256")?,
            max_chunks: get("max_chunks").raw().to_owned(),
            max_docs: get("max_docs").raw().to_owned(),
            is_lazy: get("lazy_index").bool()?,
        })
    }
}

fn check_config(desk: &mut Desk, root: Value) {
    let members: Vec<String> = CONFIGURED
        .iter()
        .filter_map(|key| Some(format!("\"{key}\":{}", canonical(root.get(key)?))))
        .collect();
    let right = hex::encode(Sha256::digest(format!("{{{}}}", members.join(","))));
    if let Some(found) = root.get("config_sha256")
        && found.text().as_deref() != Some(&right)
    {
        desk.differs(&CONFIG, found, format_args!("/config_sha256"), right, found.raw());
    }
}

/// What the problem asks for. A constraint that is no number is left to the source system to read.
fn check_constraints(scene: &Scene, desk: &mut Desk, root: Value) {
    let Some(spec) = scene.spec else { return };
    let mut tape = Tape::default();
    if tape.read(&spec.constraints).is_err() {
        return;
    }
    let constraints = tape.root(&spec.constraints);
    for (key, constraint, default) in ASKED {
        let asked = match constraints.get(constraint) {
            None => Some(default),
            Some(asked) if asked.is_null() => Some(default),
            Some(asked) => asked.number(),
        };
        let asked = if key.ends_with("_chars") { asked.map(f64::trunc) } else { asked };
        let found = root.get(key);
        if let (Some(asked), Some(found)) = (asked, found)
            && found.number() != Some(asked)
        {
            desk.differs(&CONSTRAINT, found, format_args!("/{key}"), asked, found.raw());
        }
    }
}
