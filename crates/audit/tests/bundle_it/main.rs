//! Proof bundles from outside: written, read, redacted, damaged, signed, shown.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code; a panic is how a test fails"
)]

mod attest;
mod committed;
mod container;
mod damage;
mod episode;
mod flip;
mod page;
mod redact;
mod round;
mod sample;
mod schema;

use probity_audit::attest::{PublicKey, SigningKey};
use probity_audit::bundle::{BundleInput, BundlePolicy, Inclusion, audit_bundle, write_bundle};
use probity_report::VerificationReport;

use sample::Sample;

/// A key of the tests, as `openssl genpkey -algorithm ed25519` wrote it.
const PRIVATE_PEM: &str = include_str!("../../../../testdata/bundles/key.pem");
/// Its public part, as `openssl pkey -pubout` wrote it.
const PUBLIC_PEM: &str = include_str!("../../../../testdata/bundles/key.pub.pem");

fn signing_key() -> SigningKey {
    SigningKey::from_pem(PRIVATE_PEM).unwrap()
}

fn public_key() -> PublicKey {
    PublicKey::from_pem(PUBLIC_PEM).unwrap()
}

/// The bundle of a sample with all its content.
fn bundle(sample: &Sample, key: Option<&SigningKey>) -> Vec<u8> {
    write(sample, &Inclusion::All, key)
}

fn write(sample: &Sample, inclusion: &Inclusion, key: Option<&SigningKey>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let episode = sample.episode.as_ref();
    let input = BundleInput { log: &sample.log, content: sample, episode, inclusion, key };
    let summary = write_bundle(&input, &mut bytes).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn audit(bytes: &[u8]) -> VerificationReport {
    audit_with(bytes, &BundlePolicy::default())
}

/// With the key of the tests.
fn audit_signed(bytes: &[u8]) -> VerificationReport {
    audit_with(bytes, &BundlePolicy { public_key: Some(public_key()), ..BundlePolicy::default() })
}

fn audit_with(bytes: &[u8], policy: &BundlePolicy) -> VerificationReport {
    audit_bundle(&mut &*bytes, "run.probity", policy)
}

/// The codes of the failures, each once.
fn codes(report: &VerificationReport) -> Vec<&'static str> {
    let mut codes: Vec<&str> = report.failures.iter().map(|failure| failure.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Where text stands in bytes.
fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}
