//! What an audit comes to.

use serde::Serialize;

/// What an audit of one record comes to. Only [`Verdict::Valid`] is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything was looked at and nothing was found.
    Valid,
    /// At least one rule is broken.
    Invalid,
    /// The bytes cannot be read as a record.
    Malformed,
    /// A bound of the auditor was reached before the end.
    LimitExceeded,
    /// Integrity is proved; content was taken out, so grounding was not re-checked.
    IntegrityOnly,
    /// The source system's own verifier accepts it; the strict reading was not asked for.
    AcceptedByCompat,
}

impl Verdict {
    /// Every verdict, from the one that outweighs all others down.
    pub const BY_WEIGHT: [Self; 6] = [
        Self::Malformed,
        Self::LimitExceeded,
        Self::Invalid,
        Self::IntegrityOnly,
        Self::AcceptedByCompat,
        Self::Valid,
    ];

    /// The exit code of a process that audited one such record. 2 is wrong usage.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Valid => 0,
            Self::Invalid => 1,
            Self::Malformed => 3,
            Self::LimitExceeded => 4,
            Self::IntegrityOnly => 5,
            Self::AcceptedByCompat => 6,
        }
    }

    /// The one of two that outweighs the other: what a walk over several records comes to.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let is_either = |verdict: &&Self| **verdict == self || **verdict == other;
        Self::BY_WEIGHT.iter().find(is_either).copied().unwrap_or(self)
    }

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Malformed => "malformed",
            Self::LimitExceeded => "limit_exceeded",
            Self::IntegrityOnly => "integrity_only",
            Self::AcceptedByCompat => "accepted_by_compat",
        }
    }
}
