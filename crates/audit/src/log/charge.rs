//! Who is charged for what, counted anew.

use probity_core::{Counting, Digest, Judgement, Policy, Turn, Usage};

/// What was charged and spent so far.
pub(super) struct Charges<'a> {
    policy: &'a Policy,
    /// Attempts that were made.
    pub(super) attempts: u32,
    /// The total of the last verdict, as the log says.
    pub(super) stated: u32,
    /// Attempts allowed in all.
    allowed: u32,
    rejections: u32,
    /// Rejections in a row that were not charged.
    idle_streak: u32,
    spent: Usage,
    /// What had been spent when a human let the run go on.
    forgiven: Usage,
    rejected: Vec<Rejected>,
}

/// How much work lies behind a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    /// The marker that the claim carries.
    pub(super) steps: u64,
    /// The workspace after it.
    pub(super) tree: Digest,
}

struct Rejected {
    turn: Turn,
    candidate: Digest,
    work: Work,
}

/// The word of a budget that is counted in attempts.
pub(super) const ATTEMPTS: &str = "attempts";

impl<'a> Charges<'a> {
    pub(super) fn new(policy: &'a Policy) -> Self {
        Self {
            policy,
            attempts: 0,
            stated: 0,
            allowed: policy.max_attempts,
            rejections: 0,
            idle_streak: 0,
            spent: Usage::default(),
            forgiven: Usage::default(),
            rejected: Vec::new(),
        }
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        self.spent = self.spent.plus(usage);
    }

    /// Whether a claim with this verdict is an attempt.
    pub(super) fn is_attempt(&self, judgement: Judgement, candidate: Digest, work: Work) -> bool {
        match judgement {
            Judgement::Pass | Judgement::Fail => true,
            Judgement::Inconclusive | Judgement::Fault | Judgement::Unverified => false,
            Judgement::Revise => match (self.policy.counting, self.rejected.last()) {
                (Counting::EverySubmission, _) | (_, None) => true,
                (Counting::ByCandidate { count_after_work, .. }, Some(last)) => {
                    last.candidate != candidate || (count_after_work && last.work != work)
                }
            },
        }
    }

    /// The turn whose rejection answers a claim without any check.
    pub(super) fn answered_by(&self, candidate: Digest, work: Work) -> Option<Turn> {
        let Counting::ByCandidate { reuse_rejection: true, .. } = self.policy.counting else {
            return None;
        };
        let last = self.rejected.last()?;
        (last.candidate == candidate && last.work == work).then_some(last.turn)
    }

    /// The first turn that rejected a candidate.
    pub(super) fn repeat_of(&self, candidate: Digest) -> Option<Turn> {
        self.rejected.iter().find(|it| it.candidate == candidate).map(|it| it.turn)
    }

    /// Whether a claim was rejected with the same work behind it.
    pub(super) fn was_rejected(&self, candidate: Digest, work: Work) -> bool {
        self.rejected.iter().any(|it| it.candidate == candidate && it.work == work)
    }

    /// Takes a verdict in.
    pub(super) fn judged(
        &mut self,
        turn: Turn,
        judgement: Judgement,
        is_attempt: bool,
        candidate: Digest,
        work: Work,
    ) {
        self.attempts = self.attempts.saturating_add(is_attempt.into());
        if judgement != Judgement::Revise {
            return;
        }
        self.rejections = self.rejections.saturating_add(1);
        self.idle_streak = if is_attempt { 0 } else { self.idle_streak.saturating_add(1) };
        self.rejected.push(Rejected { turn, candidate, work });
    }

    /// A human allowed further attempts; the budgets begin anew.
    pub(super) const fn grant(&mut self, attempts: u32) {
        self.allowed = self.attempts.saturating_add(attempts);
        self.forgiven = self.spent;
        self.rejections = 0;
        self.idle_streak = 0;
    }

    /// The budget that is used up, in one word.
    pub(super) fn used_up(&self) -> Option<&'static str> {
        let Policy { counting, max_tokens, max_tool_calls, .. } = self.policy;
        let is_used = |max: &Option<u64>, spent: u64, forgiven: u64| {
            max.is_some_and(|max| spent.saturating_sub(forgiven) >= max)
        };
        let (is_idle, is_refused) = match counting {
            Counting::EverySubmission => (false, false),
            Counting::ByCandidate { max_identical, max_rejections, .. } => {
                (self.idle_streak >= *max_identical, self.rejections >= *max_rejections)
            }
        };
        let budgets = [
            (ATTEMPTS, self.attempts >= self.allowed),
            ("no_progress", is_idle),
            ("rejections", is_refused),
            ("budget_tokens", is_used(max_tokens, self.spent.tokens, self.forgiven.tokens)),
            (
                "budget_tool_calls",
                is_used(max_tool_calls, self.spent.tool_calls, self.forgiven.tool_calls),
            ),
        ];
        budgets.into_iter().find(|(_, is_used_up)| *is_used_up).map(|(word, _)| word)
    }
}
