//! The closed set of effects: everything a driver may be asked to do.

use crate::{CheckIndex, Digest, Entry, Outcome, Phase, SubmissionId, Turn};

/// One thing to do. Perform effects in the order they are polled; an effect that follows an
/// [`Effect::Append`] is performed only once that append is durable.
///
/// Effects that were polled after an input supersede work still in flight: the driver stops it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Give the task to the delegate, with the reasons of an earlier turn where there is one;
    /// answer with [`crate::Input::Claimed`] or [`crate::Input::DelegateFailed`].
    Dispatch {
        /// The turn.
        turn: Turn,
        /// 1-based attempt.
        attempt: u32,
        /// Attempts allowed in all.
        max_attempts: u32,
        /// The turn whose findings the correction quotes.
        correction: Option<Turn>,
        /// An earlier dispatch of this turn was interrupted.
        is_replay: bool,
        /// Wall time left to the run.
        timeout_ms: Option<u64>,
    },
    /// Hand the claim on: verified, or unverified and labelled so. May be asked again after a
    /// crash; the submission id makes a repeat recognisable.
    Commit {
        /// The submission.
        submission: SubmissionId,
        /// The candidate that was judged. Nothing else may be committed.
        candidate: Digest,
        /// Blob of the claim.
        claim: Digest,
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
