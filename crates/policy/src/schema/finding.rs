//! What is wrong with a policy document: every finding at once, each with its place.

use std::fmt;

use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The document is refused.
    Error,
    /// The document is taken; it may not do what its author meant.
    Warning,
}

/// One thing that is wrong, or odd, in an envelope, a pack or a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PolicyFinding {
    /// Stable machine word; each has a page in `docs/codes/`.
    pub code: &'static str,
    /// Whether it refuses the document.
    pub severity: Severity,
    /// JSON pointer to the value that is meant; empty for the document as a whole.
    pub pointer: String,
    /// What is wrong and what to do about it. At most 400 characters.
    pub message: String,
}

impl PolicyFinding {
    /// A finding that refuses the document.
    pub(crate) fn error(
        code: &'static str,
        pointer: impl Into<String>,
        message: impl fmt::Display,
    ) -> Self {
        Self::new(code, Severity::Error, pointer.into(), &message)
    }

    /// A finding that does not.
    pub(crate) fn warning(
        code: &'static str,
        pointer: impl Into<String>,
        message: impl fmt::Display,
    ) -> Self {
        Self::new(code, Severity::Warning, pointer.into(), &message)
    }

    fn new(
        code: &'static str,
        severity: Severity,
        pointer: String,
        message: &dyn fmt::Display,
    ) -> Self {
        let message = message.to_string().chars().take(400).collect();
        Self { code, severity, pointer, message }
    }

    /// Whether the finding refuses the document.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self.severity, Severity::Error)
    }
}

impl fmt::Display for PolicyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        write!(f, "{place}: {} ({})", self.message, self.code)
    }
}

/// A document was refused. Holds every finding, warnings included; at least one is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct PolicyFindings(Vec<PolicyFinding>);

impl PolicyFindings {
    /// The findings in the order of the document's rules.
    #[must_use]
    pub fn as_slice(&self) -> &[PolicyFinding] {
        &self.0
    }

    /// The code of the first error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        let first = self.0.iter().find(|finding| finding.is_error());
        first.map_or("policy_value", |finding| finding.code)
    }

    /// The findings by value.
    #[must_use]
    pub fn into_vec(self) -> Vec<PolicyFinding> {
        self.0
    }

    /// A refusal. The findings hold at least one error.
    pub(crate) const fn refused(findings: Vec<PolicyFinding>) -> Self {
        Self(findings)
    }

    /// Refuses if one of the findings is an error; gives the warnings back otherwise.
    pub(crate) fn refuse(findings: Vec<PolicyFinding>) -> Result<Vec<PolicyFinding>, Self> {
        if findings.iter().any(PolicyFinding::is_error) {
            Err(Self(findings))
        } else {
            Ok(findings)
        }
    }
}

impl From<PolicyFinding> for PolicyFindings {
    fn from(finding: PolicyFinding) -> Self {
        Self(vec![finding])
    }
}

fn listed(findings: &[PolicyFinding]) -> String {
    let lines: Vec<String> = findings.iter().map(PolicyFinding::to_string).collect();
    lines.join("; ")
}
