//! The closed set of inputs, and the answers to them.

use crate::{
    Answer, CheckIndex, Code, Digest, Finding, HookDecision, HookIndex, HookPoint, Judgement,
    NoteKind, Outcome, Phase, Rewrite, Stage, SubmissionId, Turn, Usage, WorkerId,
};

/// The largest number that a record holds, because every reader of JSON holds it exactly: 2^53 − 1.
pub const MAX_RECORDED: u64 = (1 << 53) - 1;

/// Everything that can reach a delegation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The workspace and the judge's files were read, as [`crate::Effect::Snapshot`] asked.
    Observed {
        /// Which reading this is.
        phase: Phase,
        /// Digest of the manifest.
        manifest: Digest,
        /// Digest of the judge's manifest.
        judge: Digest,
    },
    /// The workspace could not be read.
    Unreadable {
        /// Which reading this was.
        phase: Phase,
        /// Why, in one word.
        code: Code,
        /// Blob of the message.
        detail: Digest,
    },
    /// A check came back, as [`crate::Effect::RunCheck`] asked.
    CheckFinished {
        /// Which check.
        check: CheckIndex,
        /// What it gave.
        finding: Finding,
        /// Digest of the judge's manifest after the check ran; `None` where it was not looked at.
        judge: Option<Digest>,
        /// Wall time of this try.
        elapsed_ms: u64,
        /// What a hook put in the place of the claim. Only a hook may, and only beside a pass.
        rewrite: Option<Rewrite>,
    },
    /// A hook came back, as [`crate::Effect::CallHook`] asked.
    HookAnswered {
        /// Which hook.
        hook: HookIndex,
        /// What it decided.
        decision: HookDecision,
        /// Wall time it took.
        elapsed_ms: u64,
    },
    /// The human whom a check asked answered.
    CheckAnswered {
        /// Which check.
        check: CheckIndex,
        /// The submission that the human saw.
        submission: SubmissionId,
        /// What the answer comes to.
        finding: Finding,
        /// Blob that names the human and holds the text.
        by: Digest,
        /// Digest of the judge's manifest, read when the answer came.
        judge: Digest,
    },
    /// The delegate answered, as [`crate::Effect::Dispatch`] asked.
    Claimed {
        /// The turn it answers.
        turn: Turn,
        /// Name of the submission.
        submission: SubmissionId,
        /// Hash of the claim's canonical form.
        candidate: Digest,
        /// Blob of the claim.
        claim: Digest,
        /// Completed tool calls and applied steering so far: a number that only grows.
        work: u64,
        /// What the attempt spent beside what its notes tell of.
        usage: Usage,
    },
    /// The delegate wrote something down, in the midst of its work.
    Noted {
        /// The turn at work.
        turn: Turn,
        /// What the note is about.
        kind: NoteKind,
        /// Blob of the note.
        content: Digest,
        /// What was spent on what it tells of.
        usage: Usage,
    },
    /// The delegate wants to wait.
    Parked {
        /// The turn at work.
        turn: Turn,
        /// When it goes on by itself, in milliseconds since the Unix epoch; `None` for an answer.
        until_ms: Option<u64>,
        /// Blob of what it waits for.
        detail: Digest,
    },
    /// Somebody answers what a parked run waits for.
    Woken {
        /// Blob of the answer and of who gave it.
        answer: Digest,
    },
    /// The delegate produced no claim.
    DelegateFailed {
        /// The turn it failed.
        turn: Turn,
        /// Why, in one word.
        code: Code,
        /// Blob of the message.
        detail: Digest,
    },
    /// The time that [`crate::Delegation::poll_timeout`] named has come.
    Timer,
    /// Someone wants the run to stop.
    Cancel {
        /// Why, in one word.
        code: Code,
    },
    /// The driver takes the run up again after an interruption.
    Resume,
    /// A worker takes the run up, under a lease.
    Lease {
        /// The lease's epoch.
        epoch: u64,
        /// Who takes it.
        worker: WorkerId,
    },
    /// The driver leaves the run for a worker to take up.
    Release,
    /// Somebody wants the run to stop, and does not drive it.
    RequestCancel {
        /// Blob that names who wants it and holds the text.
        by: Digest,
    },
    /// Somebody has something to say to the delegate.
    Steer {
        /// Blob that names who says it and holds the text.
        content: Digest,
    },
    /// A human answers an escalated run.
    Answered {
        /// Blob that names the human and holds the text.
        by: Digest,
        /// The decision.
        answer: Answer,
    },
    /// The closing record is durable.
    Sealed,
}

/// What an input came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// The state moved on; drain the effects.
    Accepted,
    /// Nothing to do: a timer that is not due, a wait that goes on.
    Unchanged,
    /// The turn was judged before. Nothing is counted and nothing is run again.
    Replay(Judgement),
}

/// The input does not fit the state. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The stage waits for something else.
    #[error("a delegation that is {stage:?} takes no `{input}`")]
    NotNow {
        /// Where the delegation is.
        stage: Stage,
        /// The refused input's name.
        input: &'static str,
    },
    /// A claim or failure of another turn than the one at work.
    #[error("the delegate's turn is {expected:?}, the answer is for {got:?}")]
    WrongTurn {
        /// The turn at work.
        expected: Turn,
        /// The turn that was answered.
        got: Turn,
    },
    /// A result of a check that is not the one in flight.
    #[error("check {expected} is in flight, the result is of check {got}")]
    WrongCheck {
        /// The check in flight.
        expected: u32,
        /// The check that was answered.
        got: u32,
    },
    /// A human's answer about another claim than the one that is asked about.
    #[error("submission {expected} is asked about, the answer is about {got}")]
    WrongSubmission {
        /// The submission that is asked about.
        expected: SubmissionId,
        /// The one that was answered.
        got: SubmissionId,
    },
    /// A result of a hook that is not the one in flight.
    #[error("hook {expected} is in flight, the answer is of hook {got}")]
    WrongHook {
        /// The hook in flight.
        expected: u32,
        /// The hook that was answered.
        got: u32,
    },
    /// A rewrite by something that may not rewrite there, or beside something else than a pass.
    #[error("nothing may be rewritten here: only a hook may, and only beside a pass")]
    Rewrite,
    /// A hook that may only allow or block modified something.
    #[error("a hook at `{}` may not modify anything", .point.as_str())]
    Modify {
        /// Where it was called.
        point: HookPoint,
    },
    /// A lease that is not above the last one of the run.
    #[error("the run is at epoch {held}, a lease of epoch {got} comes too late")]
    StaleEpoch {
        /// The epoch of the last lease.
        held: u64,
        /// The epoch that was offered.
        got: u64,
    },
    /// More than a run may hold.
    #[error("a run holds at most {max} {what}")]
    TooMany {
        /// `notes`, `waits` or `steers`.
        what: &'static str,
        /// The bound.
        max: usize,
    },
    /// The run has its outcome.
    #[error("the run has ended: {outcome}")]
    Ended {
        /// The outcome.
        outcome: Outcome,
    },
    /// An answer outside its bounds.
    #[error("a human may allow 1 more attempt up to 100 in all, got {attempts}")]
    Answer {
        /// What was asked for.
        attempts: u32,
    },
}

impl Input {
    /// The same with no number that a record could not hold: what a delegate says of itself must not be
    /// what keeps its run from being written down.
    pub(crate) fn recordable(mut self) -> Self {
        match &mut self {
            Self::Claimed { work, usage, .. } => {
                *work = (*work).min(MAX_RECORDED);
                *usage = usage.plus(Usage::default());
            }
            Self::Noted { usage, .. } => *usage = usage.plus(Usage::default()),
            Self::CheckFinished { elapsed_ms: number, .. }
            | Self::HookAnswered { elapsed_ms: number, .. }
            | Self::Parked { until_ms: Some(number), .. } => *number = (*number).min(MAX_RECORDED),
            _ => {}
        }
        self
    }

    /// A word for messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Observed { .. } => "observed",
            Self::Unreadable { .. } => "unreadable",
            Self::CheckFinished { .. } => "check_finished",
            Self::HookAnswered { .. } => "hook_answered",
            Self::CheckAnswered { .. } => "check_answered",
            Self::Noted { .. } => "noted",
            Self::Parked { .. } => "parked",
            Self::Woken { .. } => "woken",
            Self::Claimed { .. } => "claimed",
            Self::DelegateFailed { .. } => "delegate_failed",
            Self::Timer => "timer",
            Self::Cancel { .. } => "cancel",
            Self::Resume => "resume",
            Self::Lease { .. } => "lease",
            Self::Release => "release",
            Self::RequestCancel { .. } => "request_cancel",
            Self::Steer { .. } => "steer",
            Self::Answered { .. } => "answered",
            Self::Sealed => "sealed",
        }
    }
}
