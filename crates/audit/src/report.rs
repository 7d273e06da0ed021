//! The report on one document.

use serde::{Deserialize, Serialize};

use crate::drift::{DriftSeverity, DriftType, Fingerprint, PatchType};
use crate::finding::{Finding, Findings};

/// What an audit of one document came to. Equal bytes and equal auditors give equal reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EpisodeReport {
    /// What the document is, by its shape.
    pub kind: DocumentKind,
    /// Its own name: `episodeId`, `driftId`, `decisionType` or `policyPackId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode_id: Option<String>,
    /// Where the bytes came from, as the caller named it.
    pub source: String,
    /// 1-based line of a file with one document per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// 0-based place in an array of documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The seal, where the document has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<SealState>,
    /// What an episode comes to under the rules of this system, where that differs from what it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_as: Option<Reading>,
    /// How the episode departs from its envelope; for a drift signal, the signal itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<DriftNote>,
    /// What was found, in the order of the checks.
    pub findings: Vec<Finding>,
    /// Rejected if any finding is an error.
    pub verdict: Acceptance,
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// A sealed record of one decision.
    Episode,
    /// A drift signal.
    Drift,
    /// A decision envelope.
    Envelope,
    /// A policy pack.
    Pack,
    /// Nothing that is known here.
    Unknown,
}

/// Whether a document may be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// No finding is an error.
    Accepted,
    /// At least one is.
    Rejected,
}

/// A seal held against the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SealState {
    /// The rule by which it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<SealRule>,
    /// Whether it matches by any rule.
    pub matches: bool,
    /// What the seal says.
    pub expected: String,
    /// What the bytes give: by the rule that matches, else by [`SealRule::Sorted`].
    pub found: String,
}

/// How the digest of a seal is computed. Always SHA-256 in lower-case hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SealRule {
    /// Over the episode without `seal`, as Python's `json.dumps` prints it with sorted keys and
    /// without blanks. What episodes of this system are sealed by.
    Sorted,
    /// Over the episode without `seal` by RFC 8785.
    Jcs,
    /// As [`SealRule::Sorted`], with `"seal": {}` in its place.
    SealPresent,
}

/// What an episode comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// The verification, as it must be read.
    pub verification: &'static str,
    /// Why.
    pub reason: &'static str,
    /// The outcome, as it must be read.
    pub outcome: &'static str,
}

/// A drift signal without the names and times that an auditor cannot give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftNote {
    /// What departs. Absent where a signal uses another vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_type: Option<DriftType>,
    /// How strongly. Absent where a signal uses another vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<DriftSeverity>,
    /// What makes it the same as another one.
    pub fingerprint: Fingerprint,
    /// What to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended_patch_type: Option<PatchType>,
    /// When it was detected, in milliseconds since the Unix epoch. Absent for what an audit derives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detected_at_ms: Option<u64>,
}

impl EpisodeReport {
    /// A report with nothing in it but findings.
    pub(crate) fn of(kind: DocumentKind, source: &str, findings: Findings) -> Self {
        let verdict =
            if findings.is_accepted() { Acceptance::Accepted } else { Acceptance::Rejected };
        Self {
            kind,
            episode_id: None,
            source: source.to_owned(),
            line: None,
            index: None,
            seal: None,
            reads_as: None,
            drift: Vec::new(),
            findings: findings.into_list(),
            verdict,
        }
    }

    /// Whether a finding with this code is among the findings.
    #[must_use]
    pub fn has(&self, finding_code: &str) -> bool {
        self.findings.iter().any(|finding| finding.code == finding_code)
    }
}
