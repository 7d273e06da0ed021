//! The seal: every file of the run directory is listed with its hash, and no other is there.

mod checksum;
pub(crate) mod document;
mod folder;
mod manifest;
mod meta;
mod report;

use std::collections::HashMap;

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use crate::RunFiles;
use crate::identity::Key;
use crate::model::TRACE;
use crate::read::UNREADABLE;
use crate::scene::Scene;

pub(crate) use checksum::Checksum;
pub(crate) use manifest::MANIFEST;

static ID: Rule =
    Rule::error("trace_id_trace", "content_ids", "a trace whose id is not that of its content");
static FINGERPRINT: Rule =
    Rule::error("trace_fingerprint", "seal", "a fingerprint that is not that of the trace");
static MISSING: Rule =
    Rule::error("trace_seal_missing", "seal", "a file that every sealed run has is not there");

/// What is found of the seal, and of the shape of every document beside trace and plan.
pub(crate) static RULES: &[&Rule] = &[
    &ID,
    &FINGERPRINT,
    &MISSING,
    &folder::NOT_REGULAR,
    &folder::TOO_MANY,
    &folder::UNLISTED,
    &folder::AFTER_SEAL,
    &manifest::HASH,
    &manifest::PATH,
    &manifest::ABSENT,
    &manifest::CORE_UNLISTED,
    &meta::RUN_ID,
    &meta::RUNTIME,
    &meta::CHECKSUM,
    &meta::DIFFERS,
    &meta::PRESET,
    &report::DIFFERS,
    &report::FAILED,
    &document::SYNTAX,
    &document::NUMBER,
    &document::LIMIT,
    &document::KEY_TWICE,
    &document::KEY_UNKNOWN,
    &document::KEY_MISSING,
    &document::TYPE,
    &document::VALUE,
    &document::UNCANONICAL,
];

const FINGERPRINT_FILE: &str = "fingerprint.txt";

/// What the stream learnt of the trace file, for the seal to compare.
#[derive(Debug, Clone, Default)]
pub(crate) struct TraceSums {
    /// SHA-256 of the file, lower-case hex.
    pub(crate) file_sha256: String,
    /// The trace's id, recomputed over header and events as they stand; empty if they cannot be.
    pub(crate) trace_id: String,
    /// The evidence in the order of its registration.
    pub(crate) checksum: Checksum,
    /// Hashes of files that were read already, so that they are not read again.
    pub(crate) known: Known,
}

/// SHA-256 of files that were read whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    by_path: HashMap<Box<str>, [u8; 32]>,
    /// Of evidence, by its id: the path is that of the id.
    evidence: HashMap<Key, [u8; 32]>,
}

impl Known {
    /// Remembers a file. Of two that name one path the first is kept: the manifest knows one too.
    pub(crate) fn insert(&mut self, path: &str, sha256: [u8; 32]) {
        self.by_path.entry(path.into()).or_insert(sha256);
    }

    /// Remembers the evidence: the file of each is `evidence/<id>.txt`.
    pub(crate) fn insert_evidence(&mut self, by_id: HashMap<Key, [u8; 32]>) {
        self.evidence = by_id;
    }

    /// Reads a file of text again. `None` if it could not be read before, which was told; if it is no
    /// longer what it was, that is told.
    fn read_again(
        &self,
        files: &dyn RunFiles,
        path: &str,
        max_bytes: u64,
        failures: &mut Failures,
    ) -> Option<String> {
        let sha256 = self.get(path)?;
        let mut bytes = Vec::new();
        let error = match files.read(path, max_bytes, &mut bytes) {
            Ok(()) if <[u8; 32]>::from(Sha256::digest(&bytes)) == sha256 => {
                return String::from_utf8(bytes).ok();
            }
            Ok(()) => "it changed while it was audited".to_owned(),
            Err(error) => error.to_string(),
        };
        failures.add(&UNREADABLE, Place::file(path), error);
        None
    }

    fn get(&self, path: &str) -> Option<[u8; 32]> {
        let id = path.strip_prefix("evidence/").and_then(|name| name.strip_suffix(".txt"));
        match id {
            Some(id) => self.evidence.get(&Key::of(id)).copied(),
            None => self.by_path.get(path).copied(),
        }
    }
}

/// Holds the directory against its manifest, fingerprint and run metadata.
///
/// Without a demand for a seal, what is there besides is still held to be files that can be read;
/// manifest, fingerprint and run metadata are not looked at.
pub(crate) fn check(scene: &Scene, mut sums: TraceSums, failures: &mut Failures) {
    let header = scene.header;
    // Without an id of its own the trace has a record that cannot be read, which was told.
    if !header.line.is_empty() && !sums.trace_id.is_empty() && header.id != sums.trace_id {
        let place = Place::file(TRACE).line(1).pointer("/id");
        failures.differs(&ID, place, &sums.trace_id, &header.id);
    }
    let entries = folder::list(scene.files, failures);
    if !scene.policy.seal {
        return;
    }
    // The manifest comes last: it is held against the bytes that the others were read from.
    check_fingerprint(scene, &mut sums, failures);
    meta::check(scene, &mut sums, failures);
    report::check(scene.files, &mut sums.known, failures);
    manifest::check(scene.files, &sums, &entries, failures);
}

fn check_fingerprint(scene: &Scene, sums: &mut TraceSums, failures: &mut Failures) {
    const MAX_BYTES: u64 = 4096;
    let file = FINGERPRINT_FILE;
    let Some(text) = document::text_of(scene.files, file, MAX_BYTES, &MISSING, failures) else {
        return;
    };
    sums.known.insert(file, Sha256::digest(&text).into());
    if text.strip_suffix('\n') != Some(sums.file_sha256.as_str()) {
        let right = format!("{}\\n", sums.file_sha256);
        failures.differs(&FINGERPRINT, Place::file(file), right, text);
    }
}
