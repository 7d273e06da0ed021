//! The way to the delegate and back: readings, hooks, the ladder, the dispatch, the claim.

use probity_core::{
    Code, Digest, HookDecision, HookIndex, HookPoint, Judgement, Outcome, Phase, Step,
    SubmissionId, Trigger, Turn, Usage,
};
use probity_record::submission_id;

use super::charge::{self, Work};
use super::flight::Flight;
use super::rule;
use super::submission::{Progress, Submission};
use super::walk::{Due, Walk};

impl Walk<'_> {
    fn read(&mut self, phase: Phase) {
        let reading = Flight::Reading(phase);
        if !self.lands(&reading) {
            self.unannounced(&reading);
        }
    }

    pub(super) fn observed(&mut self, phase: Phase, manifest: Digest, judge: Digest) {
        self.read(phase);
        match phase {
            Phase::Before => self.judge = Some(judge),
            Phase::After => {
                self.clock.observed(self.at_ms);
                if let Some(claim) = &mut self.claim {
                    claim.work.tree = manifest;
                }
                self.judge_seen(judge);
            }
        }
    }

    pub(super) fn unreadable(&mut self, phase: Phase, code: &Code) {
        self.read(phase);
        let outcome = match phase {
            Phase::Before => Outcome::Faulted,
            Phase::After => Outcome::Inconclusive,
        };
        self.must_end(outcome, code.clone());
    }

    /// The judge's files were looked at.
    pub(super) fn judge_seen(&mut self, judge: Digest) {
        let is_other = self.judge != Some(judge);
        if let Some(claim) = &mut self.claim {
            claim.is_tampered |= is_other;
        }
    }

    fn must_end(&mut self, outcome: Outcome, code: Code) {
        self.due = Some(Due { outcome, code, waived: false, rule: &rule::ENDING_IGNORED });
    }

    pub(super) fn hook_called(&mut self, hook: HookIndex, turn: Turn) {
        self.begin(Flight::Hook(hook, turn));
        if self.hooks.point(hook).is_none() {
            self.found(&rule::INDEX, format!("hook {} of {}", hook.0, self.run.hooks.len()));
        } else if self.hooks.has_answered(hook, turn) {
            self.found(&rule::HOOK_RERUN, format!("hook {} in round {}", hook.0, turn.number));
        }
    }

    pub(super) fn hook_answered(&mut self, hook: HookIndex, decision: &HookDecision) {
        let flight = std::mem::replace(&mut self.flight, Flight::None);
        let Flight::Hook(called, turn) = flight else {
            return self.unannounced(&Flight::Hook(hook, Turn::FIRST));
        };
        if called != hook {
            self.unannounced(&Flight::Hook(hook, turn));
        }
        self.hooks.answered(hook, turn);
        let point = self.hooks.point(hook);
        let ending = match decision {
            HookDecision::Allow | HookDecision::NotApplicable => None,
            HookDecision::Modify { .. } => {
                if point.is_some_and(|point| !point.may_modify()) {
                    self.found(&rule::REWRITE, "a hook behind a verdict rewrites nothing");
                }
                None
            }
            HookDecision::Block { .. } => Some((Outcome::Rejected, Code::slug("hook_blocked"))),
            HookDecision::Inconclusive { code, .. } => Some((Outcome::Inconclusive, code.clone())),
            HookDecision::Fault { code, .. } => Some((Outcome::Faulted, code.clone())),
        };
        let Some((outcome, code)) = ending else {
            if self.clock.is_hook_late(self.at_ms) {
                self.found(&rule::TIME, "a hook lets the run go on after its time");
            }
            return;
        };
        // A hook behind a verdict does not soften it.
        let verdict = self.last.as_ref().filter(|_| point == Some(HookPoint::AttemptEnd));
        let is_milder = match verdict.map(|last| last.judgement) {
            Some(Judgement::Fault) => true,
            Some(Judgement::Fail) => outcome == Outcome::Inconclusive,
            _ => false,
        };
        if !is_milder {
            self.must_end(outcome, code);
        }
    }

    pub(super) fn fell_back(&mut self, turn: Turn, trigger: Trigger, step: Step) {
        self.begin(Flight::None);
        let is_safe = matches!(step, Step::Hitl | Step::Abstain);
        let is_offered = self.run.terms.is_some_and(|terms| {
            let mut rungs = terms.ladder.iter();
            step == Step::Abstain || rungs.any(|it| it.step == step && (it.is_ready || is_safe))
        });
        if !is_offered || step == Step::Bypass {
            self.found(&rule::DEGRADE, format!("`{step}` is not offered by the ladder"));
        }
        self.fallen.push((turn, trigger, step));
        if !is_safe {
            self.hooks.another_acts(turn);
        }
    }

    pub(super) fn dispatched(&mut self, turn: Turn, attempt: u32, step: Option<Step>) {
        self.begin(Flight::Delegate(turn));
        let next = self.dispatched.map_or(Turn::FIRST, Turn::next);
        if turn != next {
            self.differs(&rule::TURN_ORDER, round(next), round(turn));
        }
        if let Some(check) = self.red_missing() {
            let id = self.run.checks.get(check).map_or("", |decl| decl.id.as_str());
            self.found(&rule::RED_MISSING, format!("check `{id}` did not run before the delegate"));
        }
        for point in [HookPoint::DelegationPre, HookPoint::AttemptStart] {
            self.hooks_asked(point, turn);
        }
        self.may_act(step);
        self.may_try();
        let number = self.charges.attempts.saturating_add(1);
        if attempt != number {
            self.differs(&rule::ATTEMPT_NUMBER, number, attempt);
        }
        if self.clock.is_wall_over(self.at_ms) {
            self.found(&rule::TIME, "the delegate is asked after the run's time");
        }
        self.clock.dispatched(self.at_ms);
        self.dispatched = Some(turn);
        self.kept_budget = None;
        self.is_granted = false;
    }

    /// Every hook at a point has answered for a round.
    pub(super) fn hooks_asked(&mut self, point: HookPoint, turn: Turn) {
        if let Some(decl) = self.hooks.unasked(point, turn) {
            let message = format!("hook `{}` at `{}` was not asked", decl.id, point.as_str());
            self.found(&rule::HOOK_SKIPPED, message);
        }
    }

    /// The terms of the decision let the delegate act.
    fn may_act(&mut self, step: Option<Step>) {
        let acting = self.acting_step();
        if step != acting {
            let word = |step: Option<Step>| step.map_or("none", Step::as_str);
            self.differs(&rule::DEGRADE, word(acting), word(step));
        }
        let Some(terms) = self.run.terms else { return };
        if terms.blocked.is_some() {
            self.found(&rule::TERMS, "a rule of safe action forbids the act");
        }
        if terms.needs_approval && !self.is_approved {
            self.found(&rule::TERMS, "no human approved the act");
        }
        let at_ms = self.at_ms;
        let is_stale =
            terms.features.iter().any(|it| at_ms.saturating_sub(it.captured_at_ms) > it.ttl_ms);
        if is_stale && !terms.is_stale_soft && acting != Some(Step::CacheBundle) {
            self.found(&rule::TERMS, "what the act is based on is too old");
        }
    }

    /// The last verdict and the budgets let the delegate try.
    fn may_try(&mut self) {
        if let Some(budget) = self.kept_budget.as_ref().filter(|_| !self.is_granted) {
            let message = format!("`{budget}` is used up");
            self.found(&rule::BUDGET, message);
            return;
        }
        let Some(last) = self.last.as_ref().filter(|_| !self.is_granted) else { return };
        if last.judgement != Judgement::Revise {
            let message = format!("asked again after `{}`", last.judgement.as_str());
            self.found(&rule::DISPATCH, message);
            return;
        }
        match self.charges.used_up() {
            Some(charge::ATTEMPTS) => {
                let message = format!("{} attempts were made", self.charges.attempts);
                self.found(&rule::RETRIES, message);
            }
            Some(budget) => self.found(&rule::BUDGET, format!("`{budget}` is used up")),
            None => {}
        }
    }

    pub(super) fn claimed(
        &mut self,
        turn: Turn,
        id: &SubmissionId,
        candidate: Digest,
        steps: u64,
        usage: Usage,
    ) {
        self.delegate_answers(turn);
        if !self.claimed.insert(turn) {
            self.found(&rule::CLAIM_REPEATED, format!("round {} has a claim", round(turn)));
        }
        let expected = submission_id(self.run.run, turn, &candidate);
        if *id != expected {
            self.differs(&rule::SUBMISSION, expected, id);
        }
        if self.clock.is_claim_late(self.at_ms) {
            self.found(&rule::TIME, "a claim after the delegate's time");
        }
        if steps < self.steps {
            self.differs(&rule::WORK_FELL, format!("{} or more", self.steps), steps);
        }
        self.steps = steps;
        self.charges.spend(usage);
        self.claim = Some(Submission {
            turn,
            id: id.clone(),
            candidate,
            work: Work { steps, tree: candidate },
            is_tampered: false,
            checks: vec![Progress::default(); self.run.checks.len()],
        });
        self.flight = Flight::Reading(Phase::After);
    }

    pub(super) fn delegate_failed(&mut self, turn: Turn, code: &Code) {
        self.delegate_answers(turn);
        // Then the policy or the ladder says what comes of it.
        if is_kept_budget(code) {
            self.kept_budget = Some(code.clone());
        } else {
            self.must_end(Outcome::DelegateFailed, code.clone());
        }
    }

    fn delegate_answers(&mut self, turn: Turn) {
        match std::mem::replace(&mut self.flight, Flight::None) {
            Flight::Delegate(given) if given == turn => {}
            Flight::Delegate(given) => {
                self.differs(&rule::CLAIM_OTHER_TURN, round(given), round(turn));
            }
            _ => self.unannounced(&Flight::Delegate(turn)),
        }
    }
}

/// Whether a delegate failed because a budget that it kept was used up.
fn is_kept_budget(code: &Code) -> bool {
    ["budget_tokens", "budget_tool_calls", "budget_model_calls"].contains(&code.as_str())
}

/// A round, for messages.
pub(super) fn round(turn: Turn) -> String {
    format!("{}.{}", turn.epoch, turn.number)
}
