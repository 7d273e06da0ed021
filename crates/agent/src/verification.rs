//! The verdicts of a run as seed 003 counts them: a fold over its log.

use probity_core::{
    Code, Digest, Entry, Event, Finding, Judgement, Phase, SubmissionId, Turn, VerdictKind,
};
use serde::{Deserialize, Serialize};

/// How verification stands in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationState {
    /// Outputs that were rejected and charged. An output that passes is not charged.
    pub attempts_used: u32,
    /// Rejections allowed in all; the last one of them ends the run.
    pub max_attempts: u32,
    /// The candidate hash of the last output that was judged.
    pub last_candidate_hash: Option<Digest>,
    /// How the last call of the verifier ended.
    pub last_outcome: Option<LastOutcome>,
}

/// How a call of the verifier ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastOutcome {
    /// It let the output through.
    Passed,
    /// It sent the model back.
    Rejected,
    /// It ended the run.
    Fatal,
    /// It could not tell, or broke.
    SystemError,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// 0-based number of the verdict.
    pub seq: u32,
    /// The round; a run has at most one verdict for each.
    pub turn: Turn,
    /// Names the submission.
    pub submission_id: SubmissionId,
    /// The candidate hash of the output.
    pub candidate_hash: Digest,
    /// The verdict.
    pub verdict: Judgement,
    /// Whether it was charged as an attempt. Only rejections are.
    pub counted: bool,
    /// Why, in one word.
    pub code: Code,
    /// Completed tool calls up to the submission.
    pub work: u64,
    /// The earliest verdict that rejected the same candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_of: Option<u32>,
    /// The verifier was not called: the rejection before answers an output that did not change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// It passed although the same candidate with the same work was rejected before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// When the output was handed in, in milliseconds since the Unix epoch.
    pub submitted_at_ms: u64,
    /// When it was judged, in milliseconds since the Unix epoch.
    pub judged_at_ms: u64,
}

/// All verdicts of a run. Nothing here is ever incremented but by a verdict in the log, so a crash
/// neither loses an attempt nor counts one twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: Vec<LedgerEntry>,
    state: VerificationState,
    identical: u32,
    submitted: Option<(u64, u64)>,
}

impl Ledger {
    /// Folds a run's log.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut ledger = Self::default();
        entries.into_iter().for_each(|entry| ledger.apply(entry));
        ledger
    }

    /// The verdicts, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// How verification stands.
    #[must_use]
    pub const fn state(&self) -> &VerificationState {
        &self.state
    }

    /// Rejections in a row that were not charged because nothing had changed.
    #[must_use]
    pub const fn identical_streak(&self) -> u32 {
        self.identical
    }

    /// Folds one entry in.
    pub fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            Event::RunOpened { policy, .. } => self.state.max_attempts = policy.max_attempts,
            Event::ClaimReceived { work, .. } => self.submitted = Some((entry.at_ms, *work)),
            Event::CheckFinished { finding, .. } if is_system_error(finding) => {
                self.state.last_outcome = Some(LastOutcome::SystemError);
            }
            Event::CheckRed { .. } | Event::CheckStarted { phase: Phase::Before, .. } => {}
            Event::VerdictMerged { .. } => self.judged(entry),
            _ => {}
        }
    }

    fn judged(&mut self, entry: &Entry) {
        let Event::VerdictMerged {
            turn,
            submission,
            candidate,
            judgement,
            code,
            counted,
            repeat_of,
            reused,
            flaky,
            ..
        } = &entry.event
        else {
            return;
        };
        let is_rejection = *judgement == Judgement::Revise;
        let is_charged = is_rejection && *counted;
        let (submitted_at_ms, work) = self.submitted.unwrap_or((entry.at_ms, 0));
        let repeat_of = repeat_of.and_then(|of| self.seq_of(of));
        self.entries.push(LedgerEntry {
            seq: u32::try_from(self.entries.len()).unwrap_or(u32::MAX),
            turn: *turn,
            submission_id: submission.clone(),
            candidate_hash: *candidate,
            verdict: *judgement,
            counted: is_charged,
            code: code.clone(),
            work,
            repeat_of,
            reused: reused.is_some(),
            flaky: *flaky,
            submitted_at_ms,
            judged_at_ms: entry.at_ms,
        });
        self.state.attempts_used = self.state.attempts_used.saturating_add(is_charged.into());
        self.identical = match (is_rejection, is_charged) {
            (true, false) => self.identical.saturating_add(1),
            _ => 0,
        };
        self.state.last_candidate_hash = Some(*candidate);
        self.state.last_outcome = match judgement {
            Judgement::Pass => Some(LastOutcome::Passed),
            Judgement::Revise => Some(LastOutcome::Rejected),
            Judgement::Fail => Some(LastOutcome::Fatal),
            Judgement::Inconclusive | Judgement::Fault => Some(LastOutcome::SystemError),
            Judgement::Unverified => None,
        };
    }

    fn seq_of(&self, turn: Turn) -> Option<u32> {
        self.entries.iter().find(|entry| entry.turn == turn).map(|entry| entry.seq)
    }
}

fn is_system_error(finding: &Finding) -> bool {
    match finding {
        Finding::Fault { .. } => true,
        Finding::Verdict { verdict, .. } => *verdict == VerdictKind::Inconclusive,
        Finding::NotApplicable => false,
    }
}
