//! How a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The closed set of endings. Each has one word on the wire and one exit code on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every applicable check passed, and there was at least one.
    Verified,
    /// A budget ran out before a pass. Never success.
    Exhausted,
    /// A verifier said `fail`: no further attempt was wanted.
    Rejected,
    /// Ground truth could not be read inside the verify budget.
    Inconclusive,
    /// Nothing checked the claim.
    Unverified,
    /// A verifier broke.
    Faulted,
    /// The delegate did not produce a claim.
    DelegateFailed,
    /// Someone stopped the run.
    Cancelled,
    /// The run waits for a named human; an answer resumes it.
    Escalated,
}

impl Outcome {
    /// All outcomes, for tables and tests.
    pub const ALL: [Self; 9] = [
        Self::Verified,
        Self::Exhausted,
        Self::Rejected,
        Self::Inconclusive,
        Self::Unverified,
        Self::Faulted,
        Self::DelegateFailed,
        Self::Cancelled,
        Self::Escalated,
    ];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Exhausted => "exhausted",
            Self::Rejected => "rejected",
            Self::Inconclusive => "inconclusive",
            Self::Unverified => "unverified",
            Self::Faulted => "faulted",
            Self::DelegateFailed => "delegate_failed",
            Self::Cancelled => "cancelled",
            Self::Escalated => "escalated",
        }
    }

    /// The process exit code. `Unverified` becomes 0 only where the caller allows it by name.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::Exhausted | Self::Rejected => 1,
            Self::Inconclusive => 2,
            Self::Unverified => 3,
            Self::Faulted => 4,
            Self::DelegateFailed => 5,
            Self::Cancelled => 6,
            Self::Escalated => 7,
        }
    }

    /// Whether the claim is handed on: after a pass, or unchecked and labelled so.
    #[must_use]
    pub const fn delivers(self) -> bool {
        matches!(self, Self::Verified | Self::Unverified)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How strongly the world departs from the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    /// The claim was checked and did not hold, or could not be read in time to say.
    Yellow,
    /// A verifier broke, or ground truth timed out.
    Red,
}
