//! Audits from outside: own documents, those of other systems, every rule, every shape.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code; a panic is how a test fails"
)]

mod corpus;
mod drift;
mod list;
mod mutation;
mod mutation_every;
mod mutation_legal;
mod page;
mod projection;
mod reading;
mod reference;
mod rule;
mod seal;
mod shape;

use std::path::PathBuf;

use probity_audit::{EpisodeAuditor, EpisodeReport, Severity};
use probity_policy::{Envelope, Format, Pack};
use serde_json::Value;

/// A document of this crate's own corpus.
fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn value(name: &str) -> Value {
    serde_json::from_slice(&data(name)).unwrap()
}

/// An auditor with the corpus's envelope and pack.
fn auditor() -> EpisodeAuditor {
    with(|_| {}, |_| {})
}

/// The same with changes to both.
fn with(envelope: impl Fn(&mut Value), pack: impl Fn(&mut Value)) -> EpisodeAuditor {
    let mut envelope_value = value("envelope.json");
    envelope(&mut envelope_value);
    let mut pack_value = value("pack.json");
    pack(&mut pack_value);
    pack_value["policyPackHash"] = Value::String(probity_policy::pack_hash(&pack_value).unwrap());
    let envelope = Envelope::parse(&envelope_value.to_string(), Format::Json);
    let pack = Pack::parse(&pack_value.to_string(), Format::Json);
    EpisodeAuditor::new()
        .with_envelope(envelope.unwrap_or_else(|e| panic!("{e}")))
        .with_pack(pack.unwrap_or_else(|e| panic!("{e}")))
}

/// Puts a seal of the usual rule on an episode.
fn sealed(mut episode: Value) -> Value {
    let object = episode.as_object_mut().unwrap();
    let at = object.remove("seal").and_then(|seal| seal.get("sealedAt").cloned());
    let hash = probity_record::candidate_hash(&episode).to_string();
    episode["seal"] = serde_json::json!({
        "sealedAt": at.unwrap_or_else(|| Value::from("2026-03-02T09:15:04Z")),
        "sealHash": hash,
    });
    episode
}

/// Severity and code of every finding, in order.
fn codes(report: &EpisodeReport) -> Vec<String> {
    let weight = |severity| match severity {
        Severity::Error => "!",
        Severity::Warning => "?",
        Severity::Note => ".",
    };
    report.findings.iter().map(|f| format!("{}{}", weight(f.severity), f.code)).collect()
}

/// Type, severity and key of every drift, in order.
fn drifts(report: &EpisodeReport) -> Vec<String> {
    let word = |value: Value| value.as_str().unwrap_or("-").to_owned();
    report
        .drift
        .iter()
        .map(|note| {
            let kind = word(serde_json::to_value(note.drift_type).unwrap());
            let severity = word(serde_json::to_value(note.severity).unwrap());
            format!("{kind} {severity} {}", note.fingerprint.key)
        })
        .collect()
}
