//! Drift: signals that an episode departs from its envelope.

mod key;
mod recurrence;
mod signal;
mod weight;

pub use key::Fingerprint;
pub use recurrence::{DriftCounter, MAX_TRACKED, Recurrence};
pub use signal::{DriftSignal, DriftSignalError, verify_drift};
pub(crate) use signal::{audit, from_ms, to_ms};
pub use weight::{NonPass, verify_patch, verify_severity};

use serde::{Deserialize, Serialize};

/// What departs. The words are those of seed 001's published contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftType {
    /// More time than there was.
    Time,
    /// A context older than it may be.
    Freshness,
    /// A step of the ladder was taken.
    Fallback,
    /// An action without its safeguards.
    Bypass,
    /// The result was not verified.
    Verify,
    /// The effect is not what was expected.
    Outcome,
    /// More hops or fan-out than there may be.
    Fanout,
    /// Calls that wait for each other.
    Contention,
}

/// How strongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftSeverity {
    /// To be kept.
    Green,
    /// To be looked at.
    Yellow,
    /// To be looked at now.
    Red,
}

/// What to change so that it does not happen again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchType {
    /// The envelope.
    DteChange,
    /// A time to live.
    TtlChange,
    /// The cached bundle.
    CacheBundleChange,
    /// Which systems are called.
    RoutingChange,
    /// The verifiers or their time.
    VerificationChange,
    /// What may be acted on.
    ActionScopeTighten,
    /// A human decides.
    ManualReview,
}

impl DriftType {
    /// All types.
    pub const ALL: [Self; 8] = [
        Self::Time,
        Self::Freshness,
        Self::Fallback,
        Self::Bypass,
        Self::Verify,
        Self::Outcome,
        Self::Fanout,
        Self::Contention,
    ];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Freshness => "freshness",
            Self::Fallback => "fallback",
            Self::Bypass => "bypass",
            Self::Verify => "verify",
            Self::Outcome => "outcome",
            Self::Fanout => "fanout",
            Self::Contention => "contention",
        }
    }

    /// What to change where nothing more is known than the type.
    #[must_use]
    pub const fn patch(self) -> PatchType {
        match self {
            Self::Time => PatchType::DteChange,
            Self::Freshness => PatchType::TtlChange,
            Self::Fallback => PatchType::CacheBundleChange,
            Self::Bypass => PatchType::ActionScopeTighten,
            Self::Verify => PatchType::VerificationChange,
            Self::Outcome => PatchType::ManualReview,
            Self::Fanout | Self::Contention => PatchType::RoutingChange,
        }
    }
}

impl DriftSeverity {
    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}
