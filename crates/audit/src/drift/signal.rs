//! A drift signal as it is published, and the audit of one.

use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

use super::{DriftSeverity, DriftType, Fingerprint, PatchType};
use crate::auditor::shown;
use crate::document::{Node, Unreadable, read};
use crate::finding::{Finding, Findings};
use crate::report::{DocumentKind, DriftNote, EpisodeReport};
use crate::shape::{DRIFT, time};
use crate::vocabulary::{self, DRIFT_SIGNS};

/// A drift signal. The contract is the published one of seed 001's system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriftSignal {
    /// Its name. Not empty.
    pub drift_id: String,
    /// The episode that departs. Not empty.
    pub episode_id: String,
    /// What departs.
    pub drift_type: DriftType,
    /// How strongly.
    pub severity: DriftSeverity,
    /// When it was detected, RFC 3339.
    pub detected_at: String,
    /// What shows it.
    pub evidence_refs: Vec<String>,
    /// What to change.
    pub recommended_patch_type: PatchType,
    /// What makes it the same as another one.
    pub fingerprint: Fingerprint,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// The bytes are no drift signal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a drift signal: {}", crate::finding::first(.findings))]
pub struct DriftSignalError {
    /// Why; at least one is an error.
    pub findings: Vec<Finding>,
}

impl DriftSignal {
    /// Reads one signal, strictly.
    ///
    /// # Errors
    /// [`DriftSignalError`] with everything that was found.
    pub fn parse(bytes: &[u8]) -> Result<Self, DriftSignalError> {
        let report = verify_drift(bytes, "");
        let refused = |findings| DriftSignalError { findings };
        if report.verdict == crate::Acceptance::Rejected {
            return Err(refused(report.findings));
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let mut findings = Findings::default();
            findings.add(&crate::rule::DOCUMENT_SYNTAX, "", error.to_string());
            refused(findings.into_list())
        })
    }

    /// Raises the severity by what the signal comes to in its series.
    #[must_use]
    pub fn escalated(mut self, recurrence: super::Recurrence) -> Self {
        self.severity = self.severity.max(recurrence.severity);
        self
    }

    /// When it was detected, in milliseconds since the Unix epoch; `None` for a text that is no time
    /// or lies before the epoch.
    #[must_use]
    pub fn detected_at_ms(&self) -> Option<u64> {
        time(&self.detected_at).and_then(to_ms)
    }
}

/// Audits one drift signal.
#[must_use]
pub fn verify_drift(bytes: &[u8], source: &str) -> EpisodeReport {
    let mut findings = Findings::default();
    let document = match read(bytes) {
        Ok(document) => document,
        Err(Unreadable { rule, message }) => {
            findings.add(rule, "", message);
            return EpisodeReport::of(DocumentKind::Unknown, source, findings);
        }
    };
    document.tell(&mut findings);
    audit(&document.node, source, findings)
}

/// Audits a signal that was read.
pub(crate) fn audit(node: &Node, source: &str, mut findings: Findings) -> EpisodeReport {
    vocabulary::shape(node, &DRIFT, DRIFT_SIGNS, &mut findings);
    let mut report = EpisodeReport::of(DocumentKind::Drift, source, findings);
    let name = ["driftId", "ds_id"].iter().find_map(|key| node.get(key)?.text());
    report.episode_id = name.map(shown);
    report.drift.extend(note_of(node));
    report
}

/// What counts of a signal, also of one in another vocabulary, so that its recurrence is seen.
fn note_of(node: &Node) -> Option<DriftNote> {
    let fingerprint = node.get("fingerprint")?;
    let key = fingerprint.text().or_else(|| fingerprint.get("key")?.text())?;
    let version = match fingerprint.get("version") {
        Some(Node::Text(version)) => version.clone().into_owned(),
        Some(Node::Number(version)) => (*version).to_owned(),
        _ => String::new(),
    };
    let word = |names: &[&str]| names.iter().find_map(|name| node.get(name)?.text());
    let at = word(&["detectedAt", "observedAt"]).and_then(time);
    Some(DriftNote {
        drift_type: word(&["driftType", "type"]).and_then(known),
        severity: word(&["severity"]).and_then(known),
        fingerprint: Fingerprint { key: shown(key), version: shown(&version) },
        recommended_patch_type: word(&["recommendedPatchType"]).and_then(known),
        detected_at_ms: at.and_then(to_ms),
    })
}

fn known<T: for<'de> Deserialize<'de>>(word: &str) -> Option<T> {
    let word = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(word);
    T::deserialize(word).ok()
}

/// Milliseconds since the Unix epoch.
pub(crate) fn to_ms(at: OffsetDateTime) -> Option<u64> {
    u64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
}

/// RFC 3339 in UTC with milliseconds; `None` beyond the year 9999.
pub(crate) fn from_ms(at_ms: u64) -> Option<String> {
    let nanos = i128::from(at_ms) * 1_000_000;
    let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?;
    at.to_offset(UtcOffset::UTC).format(&Rfc3339).ok()
}
