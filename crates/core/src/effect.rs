//! The closed set of effects: everything a driver may be asked to do.

use crate::{CheckIndex, Digest, Entry, HookIndex, Outcome, Phase, Step, SubmissionId, Turn};

/// One thing to do. Perform effects in the order they are polled; an effect that follows an
/// [`Effect::Append`] is performed only once that append is durable.
///
/// Effects that were polled after an input supersede work still in flight: the driver stops it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a handful at a time; the largest comes once a run")]
pub enum Effect {
    /// Append these entries to the run log, all or none, at the expected length.
    Append(Vec<Entry>),
    /// Read the workspace and the judge's files; answer with [`crate::Input::Observed`].
    Snapshot {
        /// Which reading this is.
        phase: Phase,
    },
    /// Run one check; answer with [`crate::Input::CheckFinished`].
    RunCheck {
        /// Before the delegate, or on a claim.
        phase: Phase,
        /// Which check.
        check: CheckIndex,
        /// The submission; `None` before the delegate.
        submission: Option<SubmissionId>,
        /// 1-based attempt; 0 before the delegate.
        attempt: u32,
        /// 1-based try.
        tries: u32,
        /// An earlier run of this try was interrupted.
        is_replay: bool,
        /// Wall time for this try. At least 1.
        timeout_ms: u64,
    },
    /// Call one hook; answer with [`crate::Input::HookAnswered`].
    CallHook {
        /// Which hook.
        hook: HookIndex,
        /// The round it is called for.
        turn: Turn,
        /// An earlier call was interrupted.
        is_replay: bool,
        /// Wall time for this call. At least 1.
        timeout_ms: u64,
    },
    /// Ask a named human; the run waits. Asked again whenever the waiting run is taken up.
    Ask {
        /// The check that asks.
        check: CheckIndex,
        /// When it stops waiting, in milliseconds since the Unix epoch.
        until_ms: u64,
    },
    /// Give the task to the delegate, with the reasons of an earlier turn where there is one;
    /// answer with [`crate::Input::Claimed`] or [`crate::Input::DelegateFailed`].
    Dispatch {
        /// The turn.
        turn: Turn,
        /// 1-based attempt.
        attempt: u32,
        /// Attempts allowed in all.
        max_attempts: u32,
        /// The step of the ladder whose delegate acts; `None` for the usual one.
        step: Option<Step>,
        /// The turn whose findings the correction quotes.
        correction: Option<Turn>,
        /// An earlier dispatch of this turn was interrupted.
        is_replay: bool,
        /// Wall time for this attempt: what is left to the run, or the act stage's budget where
        /// that is less.
        timeout_ms: Option<u64>,
    },
    /// Wait as the delegate asked; the run is woken by the timer, or by [`crate::Input::Woken`].
    /// Asked again whenever the waiting run is taken up.
    Park {
        /// The turn.
        turn: Turn,
        /// When it goes on by itself, in milliseconds since the Unix epoch; `None` for an answer.
        until_ms: Option<u64>,
    },
    /// Hand the claim on: verified, or unverified and labelled so. May be asked again after a
    /// crash; the submission id makes a repeat recognisable.
    Commit {
        /// The submission.
        submission: SubmissionId,
        /// The candidate that was verified: the delegate's, or what the recorded rewrites of
        /// verification hooks made of it. Nothing else may be committed.
        candidate: Digest,
        /// Blob of that claim.
        claim: Digest,
        /// Blob of what a `delegation.post` hook made of it afterwards. Nothing verified that.
        edited: Option<Digest>,
    },
    /// Hand on the refusal.
    Reject {
        /// Why the claim is not handed on.
        outcome: Outcome,
    },
    /// Call a human. The run waits. Asked again whenever the waiting run is taken up, because an
    /// interruption may have come before the call.
    Escalate {
        /// What it would have ended as.
        instead_of: Outcome,
    },
    /// Append this closing entry and seal the log; answer with [`crate::Input::Sealed`].
    Seal(Entry),
}

impl Effect {
    /// Whether it begins something of the run: a reading, a check, a hook, the delegate.
    #[must_use]
    pub const fn acts(&self) -> bool {
        matches!(
            self,
            Self::Snapshot { .. }
                | Self::RunCheck { .. }
                | Self::CallHook { .. }
                | Self::Dispatch { .. }
        )
    }
}
