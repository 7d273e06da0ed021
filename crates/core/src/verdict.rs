//! What a verifier decided, and the other thing that can happen to it: a fault.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::strict::no_fields;
use crate::{Code, Digest, Evidence};

/// The four verdicts. Only `Pass` opens the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The world is as claimed.
    Pass,
    /// It is not; the delegate is told and may try again. Counts as an attempt.
    Revise,
    /// It is not, and another attempt is not wanted. Counts as an attempt.
    Fail,
    /// Ground truth could not be read, or answered too late. Gates like `Fail`, but is no statement
    /// about the delegate: it is not counted and the delegate is not told.
    Inconclusive,
}

/// A verifier's decision with its grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The decision.
    pub kind: VerdictKind,
    /// Stable machine word, such as `file_missing`.
    pub code: Code,
    /// Text for the delegate and for people. Never enters an event.
    pub reason: String,
    /// Keys of the criteria that were looked at; keys only.
    pub criteria: Vec<Code>,
    /// How sure the verifier is, in basis points (0 to 10 000). `None` where it is a matter of fact.
    pub confidence_bp: Option<u16>,
    /// What was observed.
    pub evidence: Vec<Evidence>,
    /// What else the verifier says of a refusal, for the delegate and for machines. Content, as the
    /// reason is.
    pub metadata: Option<Value>,
    /// The value that replaces a typed agent's output on a pass.
    pub output: Option<Value>,
}

impl Verdict {
    /// A verdict with no grounds yet.
    #[must_use]
    pub fn new(kind: VerdictKind, code: Code, reason: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            reason: reason.into(),
            criteria: Vec::new(),
            confidence_bp: None,
            evidence: Vec::new(),
            metadata: None,
            output: None,
        }
    }

    /// A pass with code `ok` and no reason.
    #[must_use]
    pub fn pass() -> Self {
        Self::new(VerdictKind::Pass, Code::slug("ok"), "")
    }

    /// A revise verdict.
    #[must_use]
    pub fn revise(code: &str, reason: impl Into<String>) -> Self {
        Self::new(VerdictKind::Revise, Code::slug(code), reason)
    }

    /// A fail verdict.
    #[must_use]
    pub fn fail(code: &str, reason: impl Into<String>) -> Self {
        Self::new(VerdictKind::Fail, Code::slug(code), reason)
    }

    /// An inconclusive verdict.
    #[must_use]
    pub fn inconclusive(code: &str, reason: impl Into<String>) -> Self {
        Self::new(VerdictKind::Inconclusive, Code::slug(code), reason)
    }

    /// Adds one observation.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}

/// The verifier itself broke. There is no verdict, nothing is counted, the delegate is not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// Stable machine word, such as `script_syntax`; each has a page in `docs/codes/`.
    pub code: Code,
    /// What broke and what to do about it.
    pub message: String,
    /// Where: file, line and call stack of a script, the program of an external verifier.
    pub location: Option<String>,
}

impl Fault {
    /// A fault without a location.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: Code::slug(code), message: message.into(), location: None }
    }

    /// Adds where it broke.
    #[must_use]
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }
}

/// What one run of one check came to, without content: this is what events hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case", deny_unknown_fields)]
pub enum Finding {
    /// The verifier decided.
    Verdict {
        /// The decision.
        verdict: VerdictKind,
        /// Its machine word.
        code: Code,
        /// Blob of the reason text; absent when the reason is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Digest>,
        /// Keys of the criteria.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<Code>,
        /// Basis points, 0 to 10 000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence_bp: Option<u16>,
        /// Blob of the evidence list; absent when it is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<Digest>,
        /// Blob of what else the verifier said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Digest>,
        /// Blob of the replacement output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Digest>,
    },
    /// The verifier broke.
    Fault {
        /// The fault's machine word.
        code: Code,
        /// Blob of message and location.
        detail: Digest,
    },
    /// The check's condition did not apply to this claim. Never a pass.
    #[serde(deserialize_with = "no_fields")]
    NotApplicable,
}

impl Finding {
    /// The verdict, if there is one.
    #[must_use]
    pub const fn verdict(&self) -> Option<VerdictKind> {
        match self {
            Self::Verdict { verdict, .. } => Some(*verdict),
            Self::Fault { .. } | Self::NotApplicable => None,
        }
    }
}
