//! Who is charged for what: attempts to the delegate, interruptions to the world.

use crate::{Counting, Digest, Judgement, Policy, Turn, Usage};

/// A fold over the merged verdicts. Nothing here is ever incremented outside of [`Self::judged`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Accounting {
    /// Claims that were checked and charged, the one that passed included.
    pub(crate) attempts: u32,
    /// Rejections of any kind, charged or not.
    rejections: u32,
    /// Uncharged rejections in a row.
    identical_streak: u32,
    /// The attempts that a human allowed in all, once one did.
    granted: Option<u32>,
    /// What all attempts spent.
    pub(crate) usage: Usage,
    /// What had been spent when a human let the run go on: the budgets begin anew there.
    granted_at: Usage,
    rejected: Vec<Rejected>,
}

/// A rejected submission, as far as counting needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rejected {
    turn: Turn,
    candidate: Digest,
    work: WorkMarker,
}

/// How much work lies behind a submission. Equal markers mean that nothing was done in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkMarker {
    /// Completed tool calls and applied steering.
    pub(crate) steps: u64,
    /// The workspace as it was read after the claim.
    pub(crate) workspace: Digest,
}

/// How a new submission relates to the rejected ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repeat {
    /// The earliest turn that rejected the same candidate.
    pub(crate) of: Turn,
    /// The last rejection was of this candidate with this work marker.
    pub(crate) unchanged: Option<Turn>,
    /// Some rejection was of this candidate with this work marker.
    pub(crate) seen_as_is: bool,
}

impl Accounting {
    /// Looks a candidate up among the rejected ones.
    pub(crate) fn repeat(&self, candidate: Digest, work: WorkMarker) -> Option<Repeat> {
        let first = self.rejected.iter().find(|rejected| rejected.candidate == candidate)?;
        let is_same =
            |rejected: &&Rejected| rejected.candidate == candidate && rejected.work == work;
        Some(Repeat {
            of: first.turn,
            unchanged: self.rejected.last().filter(is_same).map(|rejected| rejected.turn),
            seen_as_is: self.rejected.iter().any(|rejected| is_same(&rejected)),
        })
    }

    /// Whether a submission with this judgement is charged as an attempt.
    pub(crate) fn charges(
        &self,
        counting: Counting,
        judgement: Judgement,
        candidate: Digest,
        work: WorkMarker,
    ) -> bool {
        if judgement != Judgement::Revise {
            return judgement.counts_as_attempt();
        }
        let Counting::ByCandidate { count_after_work, .. } = counting else {
            return true;
        };
        let Some(last) = self.rejected.last() else {
            return true;
        };
        last.candidate != candidate || (count_after_work && last.work != work)
    }

    /// Folds in a merged verdict.
    pub(crate) fn judged(
        &mut self,
        turn: Turn,
        judgement: Judgement,
        charged: bool,
        candidate: Digest,
        work: WorkMarker,
    ) {
        self.attempts = self.attempts.saturating_add(charged.into());
        if judgement == Judgement::Revise {
            self.rejections = self.rejections.saturating_add(1);
            self.identical_streak =
                if charged { 0 } else { self.identical_streak.saturating_add(1) };
            self.rejected.push(Rejected { turn, candidate, work });
        }
    }

    /// Folds in what a human granted: further attempts from here, and a fresh start for the belts
    /// and the shared budgets.
    pub(crate) fn grant(&mut self, attempts: u32) {
        self.granted = Some(self.attempts.saturating_add(attempts));
        self.granted_at = self.usage;
        self.identical_streak = 0;
        self.rejections = 0;
    }

    /// What was spent since the shared budgets began.
    pub(crate) fn spent(&self) -> Usage {
        Usage {
            tokens: self.usage.tokens.saturating_sub(self.granted_at.tokens),
            tool_calls: self.usage.tool_calls.saturating_sub(self.granted_at.tool_calls),
        }
    }

    /// Attempts allowed in all.
    pub(crate) fn max_attempts(&self, policy: &Policy) -> u32 {
        self.granted.unwrap_or(policy.max_attempts)
    }

    /// The budget that is used up, in one word, if any is.
    pub(crate) fn exhausted(&self, policy: &Policy) -> Option<&'static str> {
        if self.attempts >= self.max_attempts(policy) {
            return Some("attempts");
        }
        if let Counting::ByCandidate { max_identical, max_rejections, .. } = policy.counting {
            if self.identical_streak >= max_identical {
                return Some("no_progress");
            }
            if self.rejections >= max_rejections {
                return Some("rejections");
            }
        }
        let Usage { tokens, tool_calls } = self.spent();
        if policy.max_tokens.is_some_and(|max| tokens >= max) {
            return Some("budget_tokens");
        }
        policy.max_tool_calls.is_some_and(|max| tool_calls >= max).then_some("budget_tool_calls")
    }
}
