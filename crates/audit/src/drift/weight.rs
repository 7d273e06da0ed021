//! How much a verification weighs that did not pass, and what to do about it.

use probity_core::Tier;

use super::{DriftSeverity, PatchType};

/// Why a verification did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NonPass {
    /// The world is not as claimed.
    Fail,
    /// No answer in time.
    Timeout,
    /// No answer for another reason.
    Inconclusive,
    /// The verifier broke.
    Fault,
}

impl NonPass {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::Fail, Self::Timeout, Self::Inconclusive, Self::Fault];
}

/// How strongly the world departs from the claim.
///
/// | | none, tiny, small | medium, large |
/// |---|---|---|
/// | fail | yellow | yellow |
/// | timeout | red | red |
/// | inconclusive | yellow | red |
/// | fault | red | red |
///
/// Source: seed 001 (fail yellow, timeout red); the rest is decided in the design.
#[must_use]
pub fn verify_severity(why: NonPass, tier: Option<Tier>) -> DriftSeverity {
    match why {
        NonPass::Fail => DriftSeverity::Yellow,
        NonPass::Timeout | NonPass::Fault => DriftSeverity::Red,
        NonPass::Inconclusive if tier >= Some(Tier::Medium) => DriftSeverity::Red,
        NonPass::Inconclusive => DriftSeverity::Yellow,
    }
}

/// What to change: a human looks at a failure, and the scope is tightened where the action crosses
/// systems; everything else is a matter of the verification.
#[must_use]
pub const fn verify_patch(why: NonPass, tier: Option<Tier>) -> PatchType {
    match (why, tier) {
        (NonPass::Fail, Some(Tier::Large)) => PatchType::ActionScopeTighten,
        (NonPass::Fail, _) => PatchType::ManualReview,
        _ => PatchType::VerificationChange,
    }
}
