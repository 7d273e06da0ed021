//! Run logs, bundles, episodes and signatures.

use std::sync::LazyLock;

use probity_audit::attest::{Envelope, PublicKey, SigningKey};
use probity_audit::{
    BundlePolicy, EpisodeAuditor, Inclusion, LogAuditor, LogPolicy, NoContent, audit_bundle,
    redact_bundle,
};
use probity_report::Verdict;

use super::Target;
use crate::seed;

pub(super) const TARGETS: [Target; 4] = [
    Target::new("episode", episode, || {
        seed::texts(&["{\"episodeId\":\"e\",\"seal\":{\"sealHash\":\"\"}}"])
    }),
    Target::new("run_log", run_log, || seed::files_named("testdata/records", ".jsonl")),
    Target::new("bundle", bundle, || seed::files("testdata/bundles/1.0")),
    Target::new("signature", signature, signatures),
];

/// Inputs of the museum: the only ones that may be valid.
static LOGS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| seed::files_named("testdata/records", ".jsonl"));
static BUNDLES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| seed::files("testdata/bundles/1.0"));
static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_seed(&[7; 32]));

/// An episode, a drift signal, an envelope, a pack, or a list of them. Read twice, it says the same.
fn episode(bytes: &[u8]) {
    let read = || EpisodeAuditor::new().document(bytes, "episode");
    assert_eq!(format!("{:?}", read()), format!("{:?}", read()));
}

/// An exported run log. Valid only if it is a sample: nobody finds a second log under a seal by
/// trying.
fn run_log(bytes: &[u8]) {
    let policy = LogPolicy { stands_alone: true, ..LogPolicy::default() };
    let report = LogAuditor::new(&NoContent).with_policy(policy).jsonl(bytes, "log");
    if report.verdict == Verdict::Valid {
        assert!(LOGS.iter().any(|sample| sample == bytes), "a log that nobody wrote");
    }
}

/// A proof bundle, and the same without its content.
fn bundle(bytes: &[u8]) {
    let mut source = bytes;
    let report = audit_bundle(&mut source, "bundle", &BundlePolicy::default());
    if report.verdict == Verdict::Valid {
        assert!(BUNDLES.iter().any(|sample| sample == bytes), "a bundle that nobody wrote");
    }
    let mut source = bytes;
    let _ = redact_bundle(&mut source, &Inclusion::Nothing, &mut std::io::sink());
}

/// What [`signature`] signs.
const STATEMENT: &[u8] = br#"{"_type":"https://in-toto.io/Statement/v1","subject":[]}"#;

/// A DSSE envelope, and keys in PEM: signed is what was signed, in its one spelling, and nothing else.
fn signature(bytes: &[u8]) {
    if let Ok(envelope) = serde_json::from_slice::<Envelope>(bytes)
        && envelope.is_spelled()
        && envelope.is_signed_by(&KEY.public())
    {
        assert_eq!(envelope, Envelope::wrap(STATEMENT, Some(&KEY)), "a signature that nobody gave");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(key) = SigningKey::from_pem(text) {
        let signed = key.sign(STATEMENT);
        assert!(key.public().verifies(STATEMENT, &signed));
        assert!(!key.public().verifies(b"else", &signed));
    }
    if let Ok(key) = PublicKey::from_pem(text) {
        assert!(!key.verifies(STATEMENT, &[0; 64]), "a signature of nothing");
    }
}

fn signatures() -> Vec<Vec<u8>> {
    let wrap = |key| serde_json::to_vec(&Envelope::wrap(STATEMENT, key)).unwrap_or_default();
    let mut seeds = vec![wrap(Some(&*KEY)), wrap(None)];
    seeds.extend(seed::files_named("testdata/bundles", ".pem"));
    seeds
}
