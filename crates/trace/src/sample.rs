//! Writes sample runs that the auditor accepts: for tests and measurements.
//!
//! The files are those of bijux-canon-reason 0.3.8, to the byte. Every id and hash is made here by
//! plain code that shares nothing with the auditor, so that each can be held against the other.

#![expect(
    clippy::indexing_slicing,
    reason = "JSON objects that were made here; a member that is absent reads as null"
)]

mod bm25;
mod canon;
mod events;
mod plan;
mod reseal;
mod text;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::MemoryFiles;

pub use canon::{canonical, content_id, sha256};
pub use events::{Events, Evidence, Record};
pub use reseal::{reid, reseal};

/// A complete run directory, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRun {
    /// Pairs of a gather and a derive step, at least 1; the trace has nine events for each and six
    /// more. An ending without an answer has one pair, whatever stands here.
    pub pairs: u64,
    /// Bytes of each piece of evidence, at least; it is never shorter than the sentence that is
    /// quoted from it.
    pub text_bytes: usize,
    /// Where the evidence comes from.
    pub retrieval: Retrieval,
    /// How the run ends.
    pub ending: Ending,
    /// Whether texts hold characters beyond ASCII, quotes, backslashes and control characters.
    pub is_unicode: bool,
    /// The seed of the run.
    pub seed: u64,
}

/// Where the evidence comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrieval {
    /// A tool that makes it up; the run has no `provenance` folder.
    Memory,
    /// A ranked search in a corpus that is part of the run.
    Bm25,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With an answer: the first claim is derived, the others are observed; each cites two pieces.
    Answer,
    /// With too little evidence, and no claim.
    Insufficient,
    /// With too little evidence, and one derived claim that is marked insufficient and rejected.
    Marked,
}

impl Default for SampleRun {
    fn default() -> Self {
        Self {
            pairs: 1,
            text_bytes: 75,
            retrieval: Retrieval::Memory,
            ending: Ending::Answer,
            is_unicode: false,
            seed: 0,
        }
    }
}

impl SampleRun {
    /// The run in memory.
    #[must_use]
    pub fn files(&self) -> MemoryFiles {
        let mut files = MemoryFiles::default();
        self.write_to(&mut |path, bytes| {
            files.files.entry(path.to_owned()).or_default().extend_from_slice(bytes);
        });
        files
    }

    /// Writes the run: hands out the path of each file and its bytes, in one piece or several. Pieces
    /// of one path follow each other and are to be appended. The trace and the evidence are made
    /// while they are written; what is held is of the size of the plan and the manifest.
    pub fn write_to(&self, sink: &mut dyn FnMut(&str, &[u8])) {
        let parts = Parts::new(self);
        let mut manifest = BTreeMap::new();
        let mut whole = |path: &str, bytes: &[u8], sink: &mut dyn FnMut(&str, &[u8])| {
            manifest.insert(path.to_owned(), sha256(bytes));
            sink(path, bytes);
        };
        whole("spec.json", parts.spec_text().as_bytes(), sink);
        whole("plan.json", parts.plan_text().as_bytes(), sink);
        for (path, bytes) in parts.provenance_files() {
            whole(&path, &bytes, sink);
        }
        for evidence in Events::new(&parts).flat_map(|record| record.evidence) {
            whole(&evidence.path, evidence.text.as_bytes(), sink);
        }
        let header = parts.header();
        let trace_sha256 = write_trace(&parts, &header, sink);
        whole("fingerprint.txt", format!("{trace_sha256}\n").as_bytes(), sink);
        whole("run_meta.json", line(&parts.run_meta(&header)).as_bytes(), sink);
        whole("verify.json", line(&report()).as_bytes(), sink);
        manifest.insert("trace.jsonl".to_owned(), trace_sha256);
        sink("manifest.json", line(&json!(manifest)).as_bytes());
    }

    /// What the run is made of, for a caller that writes the trace piece by piece: see [`Events`].
    #[must_use]
    pub fn parts(&self) -> Parts {
        Parts::new(self)
    }
}

/// What a run is made of, besides its events and its evidence.
#[derive(Debug, Clone)]
pub struct Parts {
    run: SampleRun,
    spec: Value,
    plan: plan::Plan,
    library: Option<bm25::Library>,
    runtime: Value,
}

impl Parts {
    fn new(run: &SampleRun) -> Self {
        let mut run = run.clone();
        run.pairs = if run.ending == Ending::Answer { run.pairs.max(1) } else { 1 };
        let library = (run.retrieval == Retrieval::Bm25).then(|| bm25::Library::new(&run));
        let spec = plan::spec(&run, library.as_ref());
        let runtime = plan::runtime(library.as_ref());
        let plan = plan::Plan::new(&run, &spec);
        Self { run, spec, plan, library, runtime }
    }

    /// The first record of the trace. Makes every event once, to know their hash.
    #[must_use]
    pub fn header(&self) -> Value {
        let mut events = Events::new(self);
        let mut hash = Sha256::new();
        hash.update(b"{\"canonicalization_version\":1,\"events\":[");
        for (at, record) in events.by_ref().enumerate() {
            hash.update(if at == 0 { "" } else { "," });
            hash.update(&record.event);
        }
        let evidence_order = json!(events.evidence_ids());
        let mut metadata = json!({
            "invariant_checksum": self.plan.checksum(&evidence_order, &self.runtime),
            "reasoning_policy": {"min_supports_per_claim": plan::MIN_SUPPORTS},
            "run_meta": {"mode": "live", "runtime_kind": self.runtime["kind"], "seed": self.run.seed},
            "runtime_fingerprint": sha256(canonical(&self.runtime).as_bytes()),
        });
        if let Some(reasoning) = events.reasoning() {
            metadata["reasoning_trace"] = reasoning;
        }
        if let Some(library) = &self.library {
            metadata["retrieval_provenance"] = library.provenance().clone();
        }
        let rest = json!({
            "fingerprint_algo": "sha256",
            "metadata": metadata,
            "plan_id": self.plan.id(),
            "runtime_protocol_version": 1,
            "schema_version": 1,
            "spec_id": self.spec["id"],
        });
        hash.update("],");
        hash.update(canonical(&rest).trim_start_matches('{'));
        let mut header = rest;
        header["canonicalization_version"] = json!(1);
        header["id"] = json!(format!("trace_v1_{}", hex::encode(hash.finalize())));
        header["record"] = json!("trace_header");
        header
    }

    fn spec_text(&self) -> String {
        line(&self.spec)
    }

    fn plan_text(&self) -> String {
        self.plan.text()
    }

    fn provenance_files(&self) -> Vec<(String, Vec<u8>)> {
        self.library.as_ref().map(bm25::Library::files).unwrap_or_default()
    }

    fn run_meta(&self, header: &Value) -> Value {
        let runtime = &self.runtime;
        let fingerprint = header["metadata"]["runtime_fingerprint"].clone();
        let named = json!({
            "preset": plan::PRESET,
            "runtime_fingerprint": fingerprint,
            "seed": self.run.seed,
            "spec_id": self.spec["id"],
        });
        json!({
            "invariant_checksum": header["metadata"]["invariant_checksum"],
            "plan_id": self.plan.id(),
            "preset": plan::PRESET,
            "producer_version": "0.3.8",
            "run_id": content_id("run", &named),
            "runtime": {"kind": runtime["kind"], "mode": runtime["mode"]},
            "runtime_descriptor": runtime,
            "runtime_fingerprint": fingerprint,
            "schema_version": 1,
            "seed": self.run.seed,
            "spec_id": self.spec["id"],
            "trace_id": header["id"],
        })
    }
}

/// Writes the trace and says what it hashes to.
fn write_trace(parts: &Parts, header: &Value, sink: &mut dyn FnMut(&str, &[u8])) -> String {
    let mut hash = Sha256::new();
    let mut put = |text: &str| {
        hash.update(text);
        sink("trace.jsonl", text.as_bytes());
    };
    put(&line(header));
    for record in Events::new(parts) {
        put(&record.line());
    }
    hex::encode(hash.finalize())
}

/// The canonical text of a value, as a line.
fn line(value: &Value) -> String {
    let mut text = canonical(value);
    text.push('\n');
    text
}

/// The report that the source system leaves with a run: all of its checks passed.
fn report() -> Value {
    let check = |name: &&str| json!({"details": null, "metrics": {}, "name": name, "passed": true});
    let checks: Vec<Value> = crate::compat::CHECKS.iter().map(check).collect();
    let sealed = json!({"checks": checks, "failures": []});
    json!({
        "checks": checks,
        "failures": [],
        "id": sha256(canonical(&sealed).as_bytes()),
        "summary_metrics": {"checks_failed": 0.0, "checks_total": 10.0, "failures": 0.0},
        "trace_id": null,
    })
}
