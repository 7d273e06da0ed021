//! Where a delegation is.

use crate::{CheckIndex, HookIndex, Outcome, Turn};

/// The stages of a run. What is pending is a function of the stage alone, which is what makes a
/// replayed run go on where the recorded one stopped.
///
/// | Stage | Waits for |
/// |---|---|
/// | `Opened` | the reading of the workspace before the delegate |
/// | `RedReady` | nothing: the next red check, a hook, or the delegate, follows at once |
/// | `RedChecking` | the red check in flight |
/// | `RedDone` | the second reading before the delegate: what red checks did is not the delegate's |
/// | `Ready` | nothing: a hook or a dispatch follows at once |
/// | `Hooking` | the hook in flight |
/// | `Delegated` | the claim |
/// | `Parked` | the time or the answer that the delegate waits for |
/// | `Claimed` | the reading of the workspace after the claim |
/// | `Settled` | nothing, or the time of the next try of an inconclusive check |
/// | `Checking` | the check in flight |
/// | `Awaiting` | the human whom a check asked |
/// | `Judged` | nothing: a hook, a dispatch, a call for a human, or the outcome follows at once |
/// | `Failed` | nothing: the outcome follows at once |
/// | `Escalated` | a human |
/// | `Decided` | the seal |
/// | `Sealed` | nothing, ever |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table above has one row per variant; fields are their types")]
pub enum Stage {
    Opened,
    RedReady,
    RedChecking { check: CheckIndex, tries: u32 },
    RedDone,
    Ready,
    Hooking { hook: HookIndex, turn: Turn },
    Delegated { turn: Turn },
    Parked { turn: Turn, until_ms: Option<u64> },
    Claimed,
    Settled,
    Checking { check: CheckIndex, tries: u32 },
    Awaiting { check: CheckIndex, until_ms: u64 },
    Judged,
    Failed,
    Escalated { instead_of: Outcome },
    Decided { outcome: Outcome },
    Sealed { outcome: Outcome },
}

impl Stage {
    /// The outcome, once there is one.
    #[must_use]
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Decided { outcome } | Self::Sealed { outcome } => Some(outcome),
            _ => None,
        }
    }
}
