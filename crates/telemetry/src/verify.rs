//! The one table from our outcomes to the three words of a dashboard.

use std::fmt;

use probity_core::Outcome;

/// What verification came to, in the words of the seed: closed, so that every dashboard can slice by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerifyOutcome {
    /// A verifier ran and the claim was accepted.
    Passed,
    /// The claim was not accepted, or what was to judge it broke.
    Failed,
    /// No verifier judged a claim.
    Skipped,
}

/// How a run that is projected stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It ended, or waits for a human: [`Outcome::Escalated`].
    Ended(Outcome),
    /// Whoever drove it left it without an outcome. It can be resumed.
    Interrupted,
}

impl VerifyOutcome {
    /// The table. `rounds` is in how many rounds a verifier ran.
    #[must_use]
    pub const fn of(standing: Standing, rounds: u32) -> Self {
        match standing {
            Standing::Ended(Outcome::Verified) => Self::Passed,
            // Something of the verification broke, whether or not it got as far as a check: to call
            // that skipped would hide it.
            Standing::Ended(Outcome::Faulted) => Self::Failed,
            Standing::Ended(Outcome::Unverified) => Self::Skipped,
            Standing::Ended(
                Outcome::Exhausted
                | Outcome::Rejected
                | Outcome::Inconclusive
                | Outcome::DelegateFailed
                | Outcome::Cancelled
                | Outcome::Escalated,
            )
            | Standing::Interrupted => {
                if rounds == 0 {
                    Self::Skipped
                } else {
                    Self::Failed
                }
            }
        }
    }

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl Standing {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended(outcome) => outcome.as_str(),
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for VerifyOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
