//! The verifier turn (RFC 0090): a critic's verdict on what a worker left, before it is taken over.

use probity_core::{Code, RunId, VerdictKind};
use serde::{Deserialize, Serialize};

/// A verdict that a critic gave. Nothing of what it checked is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// The critic.
    pub agent: String,
    /// The child run whose outputs were checked.
    pub target: RunId,
    /// SHA-256 of the canonical JSON (RFC 8785) of what was checked, 64 hex digits. Only what has this
    /// digest may be taken over.
    pub candidate: String,
    /// The verdict.
    pub verdict: Judgement,
    /// The keys of what was checked, sorted, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Code>,
    /// How sure the critic is of its verdict, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// The verdicts of the wire: a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// It may be taken over.
    Pass,
    /// It may not.
    Fail,
    /// It may not; another turn may mend it.
    Revise,
}

impl From<VerdictKind> for Judgement {
    /// What could not be decided is not taken over.
    fn from(kind: VerdictKind) -> Self {
        match kind {
            VerdictKind::Pass => Self::Pass,
            VerdictKind::Revise => Self::Revise,
            VerdictKind::Fail | VerdictKind::Inconclusive => Self::Fail,
        }
    }
}
