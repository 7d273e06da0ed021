//! The closed set of events: everything a run log may hold. Content-free by construction: numbers,
//! closed words, checked names and digests.

use serde::{Deserialize, Serialize};

use crate::strict::no_fields;
use crate::{
    CheckDecl, CheckIndex, Code, Digest, Discrimination, Drift, Finding, HookDecision, HookDecl,
    HookIndex, Judgement, NoteKind, Outcome, Policy, Rewrite, RunId, Step, SubmissionId, Terms,
    Trigger, Turn, Usage, WorkerId,
};

/// An event with the time it was decided, as the driver gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Milliseconds since the Unix epoch. Not monotonic: a clock may be set back.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Event {
    /// The first record of every run.
    #[serde(rename = "run.opened")]
    RunOpened {
        /// The run.
        run: RunId,
        /// Blob of the whole request.
        request: Digest,
        /// The bounds.
        policy: Policy,
        /// The checks, in order of evaluation.
        checks: Vec<CheckDecl>,
        /// The hooks that are called by themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hooks: Vec<HookDecl>,
        /// The terms of the decision, where the run is one under an envelope.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terms: Option<Terms>,
        /// The run that waits for this one, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<RunId>,
    },
    /// A worker took the run up. Whoever drove it before cannot append any more.
    #[serde(rename = "lease.taken")]
    LeaseTaken {
        /// Rises with every lease of the run.
        epoch: u64,
        /// Who took it.
        worker: WorkerId,
        /// Interruptions so far, this one included where somebody was at work.
        interruptions: u32,
    },
    /// Nobody drives the run: it is left for a worker to take up.
    #[serde(rename = "run.released", deserialize_with = "no_fields")]
    RunReleased,
    /// Somebody wants the run to stop. Whoever drives it ends it.
    #[serde(rename = "run.cancel_requested")]
    CancelRequested {
        /// Blob that names who wants it and holds the text.
        by: Digest,
    },
    /// Somebody has something to say to the delegate in the midst of its work.
    #[serde(rename = "run.steered")]
    Steered {
        /// Blob that names who says it and holds the text.
        content: Digest,
    },
    /// The workspace and the judge's own files were read.
    #[serde(rename = "world.observed")]
    WorldObserved {
        /// Which reading this is.
        phase: Phase,
        /// Blob of the manifest: path, kind, size, mode, digest.
        manifest: Digest,
        /// Blob of the sealed judge's manifest.
        judge: Digest,
    },
    /// The workspace could not be read: without it no verdict can be trusted.
    #[serde(rename = "world.unreadable")]
    WorldUnreadable {
        /// Which reading this was.
        phase: Phase,
        /// Why, in one word.
        code: Code,
        /// Blob of the message.
        detail: Digest,
    },
    /// A check is about to run.
    #[serde(rename = "check.started")]
    CheckStarted {
        /// Before the delegate, or on a claim.
        phase: Phase,
        /// Which check.
        check: CheckIndex,
        /// 1-based try.
        tries: u32,
    },
    /// A check that ran before the delegate came back.
    #[serde(rename = "check.red")]
    CheckRed {
        /// Which check.
        check: CheckIndex,
        /// What that says about it.
        discrimination: Discrimination,
        /// What it gave.
        finding: Finding,
        /// Wall time it took.
        elapsed_ms: u64,
    },
    /// A hook is about to be called.
    #[serde(rename = "hook.called")]
    HookCalled {
        /// Which hook.
        hook: HookIndex,
        /// The round it is called for.
        turn: Turn,
    },
    /// A hook came back.
    #[serde(rename = "hook.answered")]
    HookAnswered {
        /// Which hook.
        hook: HookIndex,
        /// What it decided.
        decision: HookDecision,
        /// Wall time it took.
        elapsed_ms: u64,
    },
    /// The decision falls back to a step of its ladder.
    #[serde(rename = "degrade.chosen")]
    DegradeChosen {
        /// The round.
        turn: Turn,
        /// Why.
        trigger: Trigger,
        /// What it falls back to.
        step: Step,
    },
    /// The delegate is about to be given the task, or the reasons why it is not done.
    #[serde(rename = "delegate.dispatched")]
    DelegateDispatched {
        /// The round.
        turn: Turn,
        /// 1-based attempt that this claim would be, for the delegate's information.
        attempt: u32,
        /// The step of the ladder whose delegate acts; absent for the usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Step>,
    },
    /// The delegate wrote down what it need not do again after a crash.
    #[serde(rename = "delegate.noted")]
    DelegateNoted {
        /// The round.
        turn: Turn,
        /// What the note is about.
        kind: NoteKind,
        /// Blob of the note.
        content: Digest,
        /// What was spent on what it tells of.
        usage: Usage,
    },
    /// The delegate waits: for a time, or for somebody's answer.
    #[serde(rename = "delegate.parked")]
    DelegateParked {
        /// The round.
        turn: Turn,
        /// When it goes on by itself, in milliseconds since the Unix epoch; absent where it waits for
        /// an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<u64>,
        /// Blob of what it waits for.
        detail: Digest,
    },
    /// The wait is over and the delegate goes on with the same round.
    #[serde(rename = "delegate.woken")]
    DelegateWoken {
        /// The round.
        turn: Turn,
        /// Blob of the answer and of who gave it; absent where a time was waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Digest>,
    },
    /// The delegate answered.
    #[serde(rename = "claim.received")]
    ClaimReceived {
        /// The round.
        turn: Turn,
        /// Name of this submission.
        submission: SubmissionId,
        /// Hash of the claim's canonical form.
        candidate: Digest,
        /// Blob of the claim.
        claim: Digest,
        /// Completed tool calls and other work up to here, as one growing number.
        work: u64,
        /// What the attempt spent beside what its notes tell of.
        usage: Usage,
    },
    /// The delegate produced no claim.
    #[serde(rename = "delegate.failed")]
    DelegateFailed {
        /// The round.
        turn: Turn,
        /// Why, in one word.
        code: Code,
        /// Blob of the message.
        detail: Digest,
    },
    /// A check came back.
    #[serde(rename = "check.finished")]
    CheckFinished {
        /// Which check.
        check: CheckIndex,
        /// What it gave.
        finding: Finding,
        /// Digest of the judge's files after the check ran; absent where they were not looked at,
        /// because the check was cut off or broke.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judge: Option<Digest>,
        /// Wall time of this try.
        elapsed_ms: u64,
        /// What a hook put in the place of the claim. Only beside a pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewrite: Option<Rewrite>,
    },
    /// A check waits for a named human.
    #[serde(rename = "check.awaits")]
    CheckAwaits {
        /// Which check.
        check: CheckIndex,
        /// The submission that it asks about.
        submission: SubmissionId,
        /// When it stops waiting, in milliseconds since the Unix epoch.
        until_ms: u64,
    },
    /// The human that a check waited for answered.
    #[serde(rename = "check.answered")]
    CheckAnswered {
        /// Which check.
        check: CheckIndex,
        /// The submission that the answer is about.
        submission: SubmissionId,
        /// What the answer comes to.
        finding: Finding,
        /// Blob that names the human and holds the text.
        by: Digest,
        /// Digest of the judge's files when the answer came: they may have been touched meanwhile.
        judge: Digest,
    },
    /// All findings of a submission were merged. At most one per turn.
    #[serde(rename = "verdict.merged")]
    VerdictMerged {
        /// The round.
        turn: Turn,
        /// The submission.
        submission: SubmissionId,
        /// The candidate that was judged.
        candidate: Digest,
        /// The result of the merge table.
        judgement: Judgement,
        /// Why, in one word: the code of the first finding that decided, `judge_tampered`, `reused`.
        code: Code,
        /// Whether this submission is charged to the attempts.
        counted: bool,
        /// Attempts charged so far, this one included.
        attempts: u32,
        /// How far the world departs from the claim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift: Option<Drift>,
        /// The earlier turn that rejected the same candidate, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_of: Option<Turn>,
        /// The earlier turn whose findings answer this one; no check was run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused: Option<Turn>,
        /// A pass on a candidate and work marker that were rejected before.
        #[serde(default, skip_serializing_if = "is_false")]
        flaky: bool,
    },
    /// The driver took the run up again after a crash, a restart or a lost lease.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// Interruptions so far, this one included.
        interruptions: u32,
    },
    /// The run waits for a named human.
    #[serde(rename = "run.escalated")]
    Escalated {
        /// What it would have ended as.
        instead_of: Outcome,
        /// Why.
        code: Code,
    },
    /// The human answered.
    #[serde(rename = "run.answered")]
    Answered {
        /// Blob that names the human and holds the text.
        by: Digest,
        /// What they decided.
        answer: Answer,
    },
    /// How the run ends. Announces the release of the claim, or its refusal.
    #[serde(rename = "outcome.decided")]
    OutcomeDecided {
        /// The outcome.
        outcome: Outcome,
        /// Why, in one word.
        code: Code,
        /// A named human overrode a refusal. The outcome stays what it was.
        #[serde(default, skip_serializing_if = "is_false")]
        waived: bool,
    },
    /// The closing record. Count and head digest stand beside it in the record.
    #[serde(rename = "run.sealed")]
    Sealed {
        /// The outcome once more, so that the seal can be read alone.
        outcome: Outcome,
    },
}

impl Event {
    /// Whether it comes from somebody who does not drive the run, and changes nothing of what is in
    /// flight.
    #[must_use]
    pub const fn is_beside(&self) -> bool {
        matches!(self, Self::CancelRequested { .. } | Self::Steered { .. })
    }

    /// Whether nothing follows of itself: nobody who could do it wrote this.
    pub(crate) const fn is_aside(&self) -> bool {
        self.is_beside() || matches!(self, Self::RunReleased)
    }

    /// The wire word in `type`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunOpened { .. } => "run.opened",
            Self::LeaseTaken { .. } => "lease.taken",
            Self::RunReleased => "run.released",
            Self::CancelRequested { .. } => "run.cancel_requested",
            Self::Steered { .. } => "run.steered",
            Self::WorldObserved { .. } => "world.observed",
            Self::WorldUnreadable { .. } => "world.unreadable",
            Self::CheckStarted { .. } => "check.started",
            Self::CheckRed { .. } => "check.red",
            Self::HookCalled { .. } => "hook.called",
            Self::HookAnswered { .. } => "hook.answered",
            Self::DegradeChosen { .. } => "degrade.chosen",
            Self::CheckAwaits { .. } => "check.awaits",
            Self::CheckAnswered { .. } => "check.answered",
            Self::DelegateDispatched { .. } => "delegate.dispatched",
            Self::DelegateNoted { .. } => "delegate.noted",
            Self::DelegateParked { .. } => "delegate.parked",
            Self::DelegateWoken { .. } => "delegate.woken",
            Self::ClaimReceived { .. } => "claim.received",
            Self::DelegateFailed { .. } => "delegate.failed",
            Self::CheckFinished { .. } => "check.finished",
            Self::VerdictMerged { .. } => "verdict.merged",
            Self::RunResumed { .. } => "run.resumed",
            Self::Escalated { .. } => "run.escalated",
            Self::Answered { .. } => "run.answered",
            Self::OutcomeDecided { .. } => "outcome.decided",
            Self::Sealed { .. } => "run.sealed",
        }
    }
}

/// Before the delegate, or on its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the delegate starts.
    Before,
    /// After a claim.
    After,
}

/// A human's decision on an escalated run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// End as it would have ended.
    #[serde(deserialize_with = "no_fields")]
    Reject,
    /// End as it would have ended, and label the run `waived`.
    #[serde(deserialize_with = "no_fields")]
    Waive,
    /// Allow this many attempts more than were charged so far. At least 1, and no more than 100 in
    /// all with those.
    Continue {
        /// Additional attempts.
        attempts: u32,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(value: &bool) -> bool {
    !*value
}
