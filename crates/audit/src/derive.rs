//! What follows from an episode's findings: how it reads, and which drift it shows.

use probity_core::Step;

use crate::drift::{
    DriftSeverity, DriftType, Fingerprint, NonPass, PatchType, verify_patch, verify_severity,
};
use crate::facts::Facts;
use crate::finding::Findings;
use crate::report::{DriftNote, Reading, SealState};
use crate::rule;

/// How an episode reads where it may not be taken at its word.
pub(crate) fn reading(facts: Facts, findings: &Findings) -> Option<Reading> {
    let read = |verification, reason, outcome| Some(Reading { verification, reason, outcome });
    match facts.result() {
        Some("pass") if findings.has(&rule::VERIFY_TOO_LATE) => {
            read("inconclusive", "timeout", "fail")
        }
        Some("pass") if has_no_method(findings) => read("inconclusive", "no_method", "fail"),
        Some("pass") if findings.has(&rule::STALE_NOT_ABSTAINED) => read("pass", "stale", "fail"),
        Some("fail") if findings.has(&rule::OUTCOME_UNVERIFIED) => read("fail", "fail", "fail"),
        Some("inconclusive") if findings.has(&rule::OUTCOME_UNVERIFIED) => {
            read("inconclusive", "inconclusive", "fail")
        }
        Some("na") if findings.has(&rule::REQUIRED_NA) => read("inconclusive", "not_run", "fail"),
        Some("na") if findings.has(&rule::BYPASSED_NOTHING) => read("na", "blocked", "abstain"),
        _ => None,
    }
}

fn has_no_method(findings: &Findings) -> bool {
    [&rule::METHOD_PLACEHOLDER, &rule::METHOD_MISSING, &rule::METHOD_UNKNOWN]
        .into_iter()
        .any(|rule| findings.has(rule))
}

/// Every drift that an episode shows; none hides another.
pub(crate) fn drift(
    facts: Facts,
    findings: &Findings,
    reads_as: Option<&Reading>,
    seal: Option<&SealState>,
) -> Vec<DriftNote> {
    let class = facts.decision_type().unwrap_or_default();
    let mut notes = Vec::new();
    let of = |drift_type: DriftType, severity, reason: &str| {
        let fingerprint = Fingerprint::new(class, drift_type, &[reason]);
        note(drift_type, severity, drift_type.patch(), fingerprint)
    };
    if findings.has(&rule::DEADLINE_EXCEEDED) {
        notes.push(of(DriftType::Time, DriftSeverity::Yellow, "deadline"));
    } else if findings.has(&rule::STAGE_OVER_BUDGET) {
        notes.push(of(DriftType::Time, DriftSeverity::Green, "stage_budget"));
    }
    if findings.has(&rule::STALE_NOT_ABSTAINED) {
        notes.push(of(DriftType::Freshness, DriftSeverity::Red, "stale_acted"));
    } else if findings.has(&rule::CONTEXT_STALE) {
        notes.push(of(DriftType::Freshness, DriftSeverity::Yellow, "stale"));
    }
    match facts.step().or_else(|| facts.fallback_step()) {
        Some(step @ (Step::CacheBundle | Step::SmallModel | Step::RulesOnly)) => {
            notes.push(of(DriftType::Fallback, DriftSeverity::Green, step.as_str()));
        }
        Some(step @ (Step::Hitl | Step::Abstain)) => {
            notes.push(of(DriftType::Fallback, DriftSeverity::Yellow, step.as_str()));
        }
        Some(Step::Bypass) | None => {}
    }
    let has_step = [facts.step(), facts.fallback_step()].contains(&Some(Step::Bypass));
    if has_step || facts.outcome() == Some("bypassed") {
        let reason = if facts.has_acted() { "unsafe_action" } else { "blocked_action" };
        notes.push(of(DriftType::Bypass, DriftSeverity::Red, reason));
    }
    notes.extend(verify(facts, reads_as));
    if seal.is_some_and(|seal| !seal.matches) {
        let fingerprint = Fingerprint::verify(class, "seal", "mismatch");
        let (red, patch) = (DriftSeverity::Red, PatchType::ManualReview);
        notes.push(note(DriftType::Verify, red, patch, fingerprint));
    }
    if findings.has(&rule::OUTCOME_UNVERIFIED) {
        notes.push(of(DriftType::Outcome, DriftSeverity::Yellow, "unverified"));
    }
    if findings.has(&rule::LIMIT_EXCEEDED) {
        notes.push(of(DriftType::Fanout, DriftSeverity::Yellow, "limit"));
    }
    notes
}

/// The drift of a verification that did not pass.
fn verify(facts: Facts, reads_as: Option<&Reading>) -> Option<DriftNote> {
    let result = reads_as.map(|reading| reading.verification).or_else(|| facts.result())?;
    let stated = facts.text(&["verification", "details", "reason"]);
    let reason = reads_as.map(|reading| reading.reason).or(stated).filter(|word| is_word(word));
    let (why, default) = match (result, reason) {
        ("fail", _) => (NonPass::Fail, "fail"),
        ("inconclusive", Some("timeout")) => (NonPass::Timeout, "timeout"),
        ("inconclusive", _) => (NonPass::Inconclusive, "inconclusive"),
        _ => return None,
    };
    let mut methods: Vec<&str> = facts.methods().collect();
    if methods.is_empty() {
        methods.push("none");
    }
    let class = facts.decision_type().unwrap_or_default();
    let key = Fingerprint::verify(class, &methods.join("+"), reason.unwrap_or(default));
    let tier = facts.tier();
    Some(note(DriftType::Verify, verify_severity(why, tier), verify_patch(why, tier), key))
}

/// Reasons become part of a key, so only closed words do: no measurement, no name of a run.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

const fn note(
    drift_type: DriftType,
    severity: DriftSeverity,
    patch: PatchType,
    fingerprint: Fingerprint,
) -> DriftNote {
    DriftNote {
        drift_type: Some(drift_type),
        severity: Some(severity),
        fingerprint,
        recommended_patch_type: Some(patch),
        detected_at_ms: None,
    }
}
