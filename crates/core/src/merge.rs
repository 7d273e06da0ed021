//! The one table that makes one judgement of several checks.

use serde::{Deserialize, Serialize};

use crate::{Finding, VerdictKind};

/// What all checks of a submission came to together.
///
/// | If any check gave | and none gave a row above | merged |
/// |---|---|---|
/// | a fault | | `Fault` |
/// | `fail` | yes | `Fail` |
/// | `revise` | yes | `Revise` |
/// | `inconclusive` | yes | `Inconclusive` |
/// | `pass` | yes | `Pass` |
/// | nothing applicable at all | | `Unverified` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// At least one check passed and none said otherwise.
    Pass,
    /// The delegate is told why and may try again.
    Revise,
    /// No further attempt.
    Fail,
    /// Some ground truth could not be read and nothing contradicts the claim.
    Inconclusive,
    /// A verifier broke.
    Fault,
    /// Zero applicable checks. Never a pass.
    Unverified,
}

impl Judgement {
    /// Whether a judgement of this kind is charged to the delegate's attempts.
    #[must_use]
    pub const fn counts_as_attempt(self) -> bool {
        matches!(self, Self::Pass | Self::Revise | Self::Fail)
    }

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Revise => "revise",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Fault => "fault",
            Self::Unverified => "unverified",
        }
    }
}

/// Merges the findings of all checks; their order does not matter.
#[must_use]
pub fn merge<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Judgement {
    findings.into_iter().map(judgement_of).fold(Judgement::Unverified, worse)
}

fn judgement_of(finding: &Finding) -> Judgement {
    match finding {
        Finding::Fault { .. } => Judgement::Fault,
        Finding::NotApplicable => Judgement::Unverified,
        Finding::Verdict { verdict, .. } => match verdict {
            VerdictKind::Pass => Judgement::Pass,
            VerdictKind::Revise => Judgement::Revise,
            VerdictKind::Fail => Judgement::Fail,
            VerdictKind::Inconclusive => Judgement::Inconclusive,
        },
    }
}

fn worse(a: Judgement, b: Judgement) -> Judgement {
    if severity(a) >= severity(b) { a } else { b }
}

const fn severity(judgement: Judgement) -> u8 {
    match judgement {
        Judgement::Unverified => 0,
        Judgement::Pass => 1,
        Judgement::Inconclusive => 2,
        Judgement::Revise => 3,
        Judgement::Fail => 4,
        Judgement::Fault => 5,
    }
}
