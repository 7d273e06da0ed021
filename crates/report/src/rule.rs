//! What an audit can find.

use serde::Serialize;

/// One rule: its code, the check it belongs to, and what breaking it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Stable machine word of its findings; its page is `docs/codes/<code>.md`.
    pub code: &'static str,
    /// The check whose findings they are.
    pub check: &'static str,
    /// How much they weigh.
    pub severity: Severity,
    /// What kind of finding it is.
    pub class: Class,
    /// The invariant of the source system that it stands for, such as `INV-EVD-001`.
    pub invariant_id: Option<&'static str>,
    /// What it finds, in a line.
    pub finds: &'static str,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Not as it should be; the record is accepted.
    Warning,
    /// The record is not accepted.
    Error,
}

/// What kind of finding an error is: it decides the verdict and the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Content was taken out of the record: what could be proved is proved, the rest was not looked at.
    Withheld,
    /// The record breaks a rule.
    Finding,
    /// A bound of the auditor was reached; nothing is said of what lies beyond.
    Limit,
    /// The bytes cannot be read as a record at all.
    Malformed,
}

impl Rule {
    /// A rule whose breach makes the record invalid.
    #[must_use]
    pub const fn error(code: &'static str, check: &'static str, finds: &'static str) -> Self {
        Self {
            code,
            check,
            severity: Severity::Error,
            class: Class::Finding,
            invariant_id: None,
            finds,
        }
    }

    /// A rule whose breach means that the bytes cannot be read as a record.
    #[must_use]
    pub const fn malformed(code: &'static str, check: &'static str, finds: &'static str) -> Self {
        Self { class: Class::Malformed, ..Self::error(code, check, finds) }
    }

    /// A bound of the auditor.
    #[must_use]
    pub const fn limit(code: &'static str, check: &'static str, finds: &'static str) -> Self {
        Self { class: Class::Limit, ..Self::error(code, check, finds) }
    }

    /// Content that was taken out.
    #[must_use]
    pub const fn withheld(code: &'static str, check: &'static str, finds: &'static str) -> Self {
        Self { class: Class::Withheld, ..Self::error(code, check, finds) }
    }

    /// A rule whose breach is told and accepted.
    #[must_use]
    pub const fn warning(code: &'static str, check: &'static str, finds: &'static str) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, check, finds) }
    }

    /// Something worth knowing.
    #[must_use]
    pub const fn note(code: &'static str, check: &'static str, finds: &'static str) -> Self {
        Self { severity: Severity::Note, ..Self::error(code, check, finds) }
    }

    /// The same rule under an invariant of the source system.
    #[must_use]
    pub const fn under(self, invariant_id: &'static str) -> Self {
        Self { invariant_id: Some(invariant_id), ..self }
    }
}
