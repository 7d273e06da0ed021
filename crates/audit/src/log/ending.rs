//! Interruptions, calls for a human, and how the run ends.

use probity_core::{
    Answer, Code, HookPoint, Judgement, MAX_ATTEMPTS, OnFailure, Outcome, Step, Trigger, Turn,
};

use super::flight::Flight;
use super::rule;
use super::verdict::Judged;
use super::walk::{Due, Walk};

impl Walk<'_> {
    pub(super) fn resumed(&mut self, interruptions: u32) {
        if matches!(self.flight, Flight::Parked { .. }) {
            self.found(&rule::INTERRUPTIONS, "a run that waits is not interrupted");
        }
        self.interrupted(interruptions);
    }

    /// Somebody was at work and is no longer.
    pub(super) fn interrupted(&mut self, interruptions: u32) {
        let expected = self.interruptions.saturating_add(1);
        if interruptions != expected {
            self.differs(&rule::INTERRUPTIONS, expected, interruptions);
        }
        self.interruptions = expected;
        self.clock.resumed(self.at_ms);
        if expected > self.run.policy.max_interruptions && self.outcome.is_none() {
            let (outcome, code) = (Outcome::Exhausted, Code::slug("interruptions"));
            let rule = &rule::INTERRUPTIONS_OVER;
            self.due = Some(Due { outcome, code, waived: false, rule });
        }
    }

    pub(super) fn escalated(&mut self, instead_of: Outcome, code: &Code) {
        if !matches!(self.flight, Flight::None | Flight::Delegate(_) | Flight::Hook(..)) {
            self.begin(Flight::None);
        }
        if !self.calls_human(instead_of) {
            let message = format!("a human is called instead of `{instead_of}`");
            self.found(&rule::ESCALATED_UNASKED, message);
        }
        self.follows(instead_of, code);
        self.flight = Flight::Operator;
        self.escalated = Some((instead_of, code.clone()));
    }

    /// Whether a human is called in the place of an outcome: under terms the ladder says so, else the
    /// policy does.
    fn calls_human(&self, instead_of: Outcome) -> bool {
        if self.run.terms.is_some() {
            return self.fallen.iter().any(|(.., step)| *step == Step::Hitl);
        }
        let policy = self.run.policy;
        let on_failure = match instead_of {
            Outcome::Rejected => policy.on_fail,
            Outcome::Exhausted => policy.on_exhausted,
            _ => OnFailure::Reject,
        };
        on_failure == OnFailure::Escalate
    }

    pub(super) fn answered(&mut self, answer: Answer) {
        let is_asked = self.lands(&Flight::Operator);
        let (outcome, code) = match self.escalated.take().filter(|_| is_asked) {
            Some(instead_of) => instead_of,
            None => return self.found(&rule::ANSWER_UNASKED, "the run called for nobody"),
        };
        let waived = match answer {
            Answer::Continue { attempts } => return self.goes_on(attempts),
            Answer::Reject => false,
            Answer::Waive => true,
        };
        self.due = Some(Due { outcome, code, waived, rule: &rule::ENDING_IGNORED });
    }

    fn goes_on(&mut self, attempts: u32) {
        let total = self.charges.attempts.saturating_add(attempts);
        if attempts == 0 || total > MAX_ATTEMPTS {
            self.found(&rule::GRANT, format!("{attempts} attempts more, {total} in all"));
        }
        self.charges.grant(attempts);
        self.clock.granted(self.at_ms);
        (self.is_approved, self.is_granted) = (true, true);
    }

    pub(super) fn decided(&mut self, outcome: Outcome, code: &Code, waived: bool) {
        if waived {
            self.found(&rule::WAIVED, rule::WAIVED.finds);
        }
        self.follows(outcome, code);
        if self.is_called_for(outcome, code) {
            let message = format!("the policy calls for a human before `{outcome}`");
            self.found(&rule::ESCALATION_SKIPPED, message);
        }
        if outcome.delivers()
            && let Some(turn) = self.current().map(|last| last.turn)
        {
            for point in [HookPoint::AttemptEnd, HookPoint::DelegationPost] {
                self.hooks_asked(point, turn);
            }
        }
        self.end(outcome);
    }

    /// Whether the policy calls for a human before a refusal that the verdict alone leads to.
    fn is_called_for(&self, outcome: Outcome, code: &Code) -> bool {
        if outcome == Outcome::Exhausted && self.is_kept_budget(code.as_str()) {
            return self.run.terms.is_none() && self.calls_human(outcome);
        }
        let Some(last) = self.current() else { return false };
        let is_decided = match outcome {
            Outcome::Rejected => last.judgement == Judgement::Fail && last.code == *code,
            Outcome::Exhausted => self.charges.used_up() == Some(code.as_str()),
            _ => false,
        };
        self.run.terms.is_none() && is_decided && self.calls_human(outcome)
    }

    /// The verdict that the run stands at: of the last round, and no human let it go on since.
    fn current(&self) -> Option<&Judged> {
        let last = self.last.as_ref()?;
        (self.dispatched == Some(last.turn) && !self.is_granted).then_some(last)
    }

    fn stands_at(&self, judgement: Judgement, code: &Code) -> bool {
        self.current().is_some_and(|last| last.judgement == judgement && last.code == *code)
    }

    /// The outcome, or what a human is called instead of, follows from what came before.
    fn follows(&mut self, outcome: Outcome, code: &Code) {
        let is_required = self.run.terms.is_some_and(|terms| terms.is_required);
        let word = code.as_str();
        let is_led_to = match outcome {
            Outcome::Verified => return self.hands_on(Judgement::Pass, code),
            Outcome::Unverified if is_required => false,
            Outcome::Unverified => return self.hands_on(Judgement::Unverified, code),
            Outcome::Rejected => self.stands_at(Judgement::Fail, code) || self.terms_forbid(code),
            Outcome::Exhausted => self.is_exhausted(word),
            Outcome::Inconclusive => {
                let is_unjudged = is_required
                    && word == "no_method"
                    && self.current().is_some_and(|it| it.judgement == Judgement::Unverified);
                let is_late = word == "wall_timeout" && self.clock.is_wall_over(self.at_ms);
                is_unjudged || is_late || self.stands_at(Judgement::Inconclusive, code)
            }
            Outcome::Faulted => self.stands_at(Judgement::Fault, code),
            Outcome::Cancelled => true,
            Outcome::DelegateFailed | Outcome::Escalated => false,
        };
        if !is_led_to {
            let message = format!("`{outcome}` ({code}) is not what the log leads to");
            self.found(&rule::OUTCOME_DIFFERS, message);
        }
    }

    /// A claim is handed on: behind the verdict for it, and nothing else.
    fn hands_on(&mut self, judgement: Judgement, code: &Code) {
        let is_backed =
            self.current().is_some_and(|last| last.judgement == judgement && last.is_backed);
        if !is_backed || self.claim.is_some() {
            self.found(&rule::COMMIT, rule::COMMIT.finds);
        } else if !self.stands_at(judgement, code) {
            self.found(&rule::OUTCOME_DIFFERS, format!("`{code}` is not the verdict's reason"));
        }
    }

    /// Whether the terms of the decision forbid the act for this reason.
    fn terms_forbid(&self, code: &Code) -> bool {
        let Some(terms) = self.run.terms else { return false };
        match code.as_str() {
            "approval_required" => terms.needs_approval && !self.is_approved,
            "stale_context" => {
                let is_old = |it: &probity_core::Feature| {
                    self.at_ms.saturating_sub(it.captured_at_ms) > it.ttl_ms
                };
                !terms.is_stale_soft && terms.features.iter().any(is_old)
            }
            _ => terms.blocked.as_ref() == Some(code),
        }
    }

    fn is_exhausted(&self, budget: &str) -> bool {
        match budget {
            _ if self.is_kept_budget(budget) => true,
            "budget_wall" => {
                let is_parked = matches!(self.flight, Flight::Parked { .. });
                !is_parked && self.clock.is_wall_over(self.at_ms)
            }
            "budget_act" => {
                matches!(self.flight, Flight::Delegate(_)) && self.clock.is_act_over(self.at_ms)
            }
            "time_pressure" => {
                let next = self.dispatched.map_or(Turn::FIRST, Turn::next);
                self.fallen.contains(&(next, Trigger::Time, Step::Abstain))
            }
            _ => {
                let is_revised =
                    self.current().is_some_and(|last| last.judgement == Judgement::Revise);
                is_revised && self.charges.used_up() == Some(budget)
            }
        }
    }

    /// Whether the delegate of the last round said that it used this budget up.
    fn is_kept_budget(&self, budget: &str) -> bool {
        !self.is_granted && self.kept_budget.as_ref().is_some_and(|kept| kept.as_str() == budget)
    }

    pub(super) fn sealed(&mut self, outcome: Outcome) {
        if !self.lands(&Flight::Release) {
            self.unannounced(&Flight::Release);
        }
        if let Some(decided) = self.outcome.filter(|decided| *decided != outcome) {
            self.differs(&rule::SEALED_OTHERWISE, decided, outcome);
        }
    }
}
