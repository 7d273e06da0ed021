//! The auditor of a bundle.

use std::io::Read;

use probity_record::{RunRecords, canonical, read_jsonl};
use probity_report::{Draft, Failures, Place, SubjectKind, VerificationReport};

use super::manifest::{ContentState, Proof, read_canonical};
use super::open::Opened;
use super::rule::{self, CONTAINER, CONTENT, DIGESTS, EPISODE, SIGNATURE};
use super::{BLOBS, LOG, MANIFEST, STATEMENT, named};
use crate::attest::{Envelope, PAYLOAD_TYPE, PublicKey, Statement};
use crate::log::{self, LogPolicy};

/// Under what a bundle is audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundlePolicy {
    /// Whose signature is asked for. It comes from whoever audits, never from the bundle. Given, an
    /// unsigned bundle is an error.
    pub public_key: Option<PublicKey>,
    /// An unsigned bundle is an error even without a key. A signed one comes to integrity only at
    /// best then, because nobody checked the signature.
    pub require_signature: bool,
    /// Whether content may be missing. If not, that is an error; if so, the bundle comes to integrity
    /// only at best.
    pub allow_redacted: bool,
}

impl Default for BundlePolicy {
    fn default() -> Self {
        Self { public_key: None, require_signature: false, allow_redacted: true }
    }
}

/// Audits a bundle: container, manifest, every digest, the log, the episode, the statement and its
/// signature. Reads the source to its end or to the first thing that makes the rest unreadable.
/// Whatever is wrong is a finding.
#[must_use]
pub fn audit_bundle(
    source: &mut dyn Read,
    name: &str,
    policy: &BundlePolicy,
) -> VerificationReport {
    let mut failures = Failures::new();
    match Opened::read(source, &mut failures) {
        Ok(opened) => opened_draft(&opened, name, policy, failures).finish(),
        Err(refusal) => {
            refusal.tell(&mut failures);
            let mut draft = Draft::new(SubjectKind::Bundle, name, &checks(policy, false));
            for check in checks(policy, false).into_iter().filter(|check| *check != CONTAINER) {
                draft.skip(check);
            }
            draft.failures = failures;
            draft.finish()
        }
    }
}

fn opened_draft(opened: &Opened, name: &str, policy: &BundlePolicy, found: Failures) -> Draft {
    let proof = &opened.manifest.proof;
    let has_episode = opened.entry(super::EPISODE).is_some();
    let mut draft = Draft::new(SubjectKind::Bundle, name, &checks(policy, has_episode));
    draft.failures = found;
    let log = opened.entry(LOG).unwrap_or_default();
    let records = read_jsonl(log).ok();
    if let Some(records) = &records {
        hold_manifest(proof, records, &mut draft.failures);
    } else {
        draft.skip(rule::MANIFEST);
        draft.skip(rule::STATEMENT);
    }
    tell_content(opened, policy, &mut draft);
    let is_checked = check_statement(opened, records.as_ref(), policy, &mut draft.failures);
    if !is_checked {
        draft.skip(SIGNATURE);
    }
    super::episode::check(opened, records.as_ref(), &mut draft.failures);
    count(opened, policy, &mut draft);
    log::audit_within(log, LOG, opened, &LogPolicy::default(), &mut draft);
    draft
}

/// The checks of a bundle. One that nobody asked for is not listed: it did not pass.
fn checks(policy: &BundlePolicy, has_episode: bool) -> Vec<&'static str> {
    let mut checks = vec![CONTAINER, rule::MANIFEST, DIGESTS, rule::STATEMENT];
    if policy.require_signature || policy.public_key.is_some() {
        checks.push(SIGNATURE);
    }
    if has_episode {
        checks.push(EPISODE);
    }
    // The log of a bundle is sealed and its content is asked for, whatever the policy.
    checks.extend(LogPolicy::default().checks());
    checks
}

/// What the manifest repeats of the log.
fn hold_manifest(proof: &Proof, records: &RunRecords, failures: &mut Failures) {
    let outcome = records.seal.map_or_else(|| "none".to_owned(), |seal| seal.outcome.to_string());
    let said = [
        ("/proof/run", records.run.to_string(), proof.run.to_string()),
        ("/proof/outcome", outcome, proof.outcome.to_string()),
        ("/proof/events", records.entries.len().to_string(), proof.events.to_string()),
        ("/proof/head", records.head.to_string(), proof.head.to_string()),
    ];
    for (pointer, expected, found) in said {
        if expected != found {
            let place = Place::file(MANIFEST).pointer(pointer);
            failures.differs(&rule::MANIFEST_DIFFERS, place, expected, found);
        }
    }
    let blobs = named::blobs(&records.entries);
    let listed = proof.content.iter().filter(|named| named.name.starts_with(BLOBS));
    if !listed.map(|named| &named.sha256).eq(&blobs) {
        let place = Place::file(MANIFEST).pointer("/proof/content");
        let message = "other blobs are listed than the log names";
        failures.add(&rule::MANIFEST_DIFFERS, place, message);
    }
}

/// What was left out: at most one finding for each reason.
fn tell_content(opened: &Opened, policy: &BundlePolicy, draft: &mut Draft) {
    let items = &opened.manifest.content;
    let reasons = [
        (ContentState::Redacted, &rule::REDACTED, "redacted"),
        (ContentState::Absent, &rule::ABSENT, "absent"),
    ];
    for (state, withheld, word) in reasons {
        let count = items.iter().filter(|item| item.state == state).count();
        if count == 0 {
            continue;
        }
        let rule = if policy.allow_redacted { withheld } else { &rule::NOT_REDACTED };
        let message = format!(
            "{count} of {} items of content are {word}: integrity proved, grounding not re-checked",
            items.len()
        );
        draft.failures.add(rule, Place::file(MANIFEST).pointer("/content"), message);
        draft.skip(CONTENT);
    }
}

/// Holds the statement against the bundle and its signature against the key. Whether the signature
/// was looked at as far as was asked for.
fn check_statement(
    opened: &Opened,
    records: Option<&RunRecords>,
    policy: &BundlePolicy,
    failures: &mut Failures,
) -> bool {
    let bytes = opened.entry(STATEMENT).unwrap_or_default();
    let envelope: Envelope = match read_canonical(bytes, STATEMENT, &rule::STATEMENT_SHAPE) {
        Ok(envelope) => envelope,
        Err(refusal) => {
            refusal.tell(failures);
            return false;
        }
    };
    let payload = match envelope.payload() {
        Some(payload) if envelope.is_spelled() => payload,
        _ => {
            let message = "payload or signature is not spelled as one, or there are several";
            failures.add(&rule::STATEMENT_SHAPE, Place::file(STATEMENT), message);
            return false;
        }
    };
    if let Some(expected) = expected_payload(opened, records)
        && (expected != payload || envelope.payload_type != PAYLOAD_TYPE)
    {
        let message = "the statement is not about this log and this content";
        failures.add(&rule::STATEMENT_DIFFERS, Place::file(STATEMENT).pointer("/payload"), message);
    }
    check_signature(&envelope, policy, failures)
}

/// The one statement that this bundle can carry.
fn expected_payload(opened: &Opened, records: Option<&RunRecords>) -> Option<Vec<u8>> {
    let log = opened.manifest.log()?.sha256;
    let proof = opened.manifest.proof.digest().ok()?;
    canonical::to_canonical(&Statement::of(records?, log, proof)?).ok()
}

fn check_signature(envelope: &Envelope, policy: &BundlePolicy, failures: &mut Failures) -> bool {
    let place = Place::file(STATEMENT).pointer("/signatures");
    let Some(signature) = envelope.signatures.first() else {
        let is_asked = policy.require_signature || policy.public_key.is_some();
        let rule = if is_asked { &rule::SIGNATURE_MISSING } else { &rule::UNSIGNED };
        failures.add(rule, place, "the statement is not signed: anyone could have written it");
        return true;
    };
    let Some(key) = &policy.public_key else {
        let message = "the statement is signed; no public key was given, so the signature was not \
                       checked";
        failures.add(&rule::UNANCHORED, place, message);
        return false;
    };
    if !envelope.is_signed_by(key) {
        let expected = format!("a signature of the key {}", key.id());
        let found = format!("one that names the key {}", signature.keyid);
        failures.differs(&rule::SIGNATURE_WRONG, place.pointer("/signatures/0"), expected, found);
    }
    true
}

fn count(opened: &Opened, policy: &BundlePolicy, draft: &mut Draft) {
    let items = &opened.manifest.content;
    let of = |state| items.iter().filter(|item| item.state == state).count() as u64;
    let bytes = opened.entries.values().map(|bytes| bytes.len() as u64);
    draft.metrics.insert("bundle_entries", opened.entries.len().saturating_add(1) as u64);
    draft.metrics.insert("bundle_bytes", bytes.fold(0, u64::saturating_add));
    draft.metrics.insert("content_included", of(ContentState::Included));
    draft.metrics.insert("content_redacted", of(ContentState::Redacted));
    draft.metrics.insert("content_absent", of(ContentState::Absent));
    draft.binds.insert("manifest", opened.digest.to_string());
    if let Ok(proof) = opened.manifest.proof.digest() {
        draft.binds.insert("proof", proof.to_string());
    }
    if let Some(key) = &policy.public_key {
        draft.binds.insert("public_key", key.id().to_string());
    }
    let policy = [
        ("require_signature", policy.require_signature),
        ("allow_redacted", policy.allow_redacted),
    ];
    for (name, value) in policy {
        draft.binds.insert(name, value.to_string());
    }
}
