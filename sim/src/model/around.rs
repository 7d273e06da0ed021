//! What stands around the rounds: hooks, and the terms of a decision.

use probity_core::{HookPoint, Judgement, Outcome, StageBudgets, Step, Trigger};

use super::rule::Ruling;
use super::{End, Model, end};
use crate::script::HookSays;

impl Model<'_> {
    pub(super) fn stages(&self) -> Option<StageBudgets> {
        self.script.terms.as_ref().map(|terms| terms.stages)
    }

    /// Everything that comes before the delegate is given a turn.
    pub(super) fn before_act(&mut self, turn: u32) -> Result<(), End> {
        let terms = self.script.terms.as_ref();
        if terms.is_some_and(|terms| terms.blocked.is_some()) {
            return end(Outcome::Rejected, "over_limit");
        }
        // The turn that a human is asked about: the last one that was begun.
        let last = self.dispatched.last().copied().unwrap_or(0);
        loop {
            let mut hook = self.due_hook(HookPoint::DelegationPre, turn);
            if hook.is_none() {
                if !self.may_act(turn, last)? {
                    continue;
                }
                hook = self.due_hook(HookPoint::AttemptStart, turn);
            }
            let Some(hook) = hook else { return Ok(()) };
            match self.call(hook, turn) {
                Some(says) => self.stop_for(says)?,
                None if self.rows.is_empty() || terms.is_some() => {
                    return end(Outcome::Exhausted, "budget_wall");
                }
                None => self.out_of_budget(last, "budget_wall")?,
            }
        }
    }

    /// Whether the terms let the delegate act now. False where they have to be asked again.
    fn may_act(&mut self, turn: u32, last: u32) -> Result<bool, End> {
        let Some(terms) = &self.script.terms else { return Ok(true) };
        if terms.needs_approval && !self.is_approved {
            if self.fall(turn, Trigger::Approval) != Step::Hitl {
                return end(Outcome::Rejected, "approval_required");
            }
            self.ask_human(last, Outcome::Rejected, "approval_required")?;
            return Ok(false);
        }
        let mut ages =
            terms.features.iter().map(|it| (self.clock_ms - it.captured_at_ms, it.ttl_ms));
        if !terms.is_stale_soft && ages.any(|(age_ms, ttl_ms)| age_ms > ttl_ms) {
            // Only what was cached may act on nothing that is stale.
            let is_cached = self.acting == Some(Step::CacheBundle)
                || self.fall(turn, Trigger::Freshness) == Step::CacheBundle;
            return if is_cached { Ok(true) } else { end(Outcome::Rejected, "stale_context") };
        }
        let needed_ms = terms.stages.act_ms + terms.stages.verify_ms;
        let is_pressed = self.stop_ms.is_some_and(|stop_ms| stop_ms < self.clock_ms + needed_ms);
        if !is_pressed || self.fall(turn, Trigger::Time) != Step::Abstain {
            return Ok(true);
        }
        if self.rows.is_empty() {
            return end(Outcome::Exhausted, "time_pressure");
        }
        self.out_of_budget(last, "time_pressure")?;
        Ok(false)
    }

    /// What the decision falls back to for a reason, once per turn.
    pub(super) fn fall(&mut self, turn: u32, trigger: Trigger) -> Step {
        let mut fallen = self.fallen.iter();
        if let Some((.., step)) = fallen.find(|(of, why, _)| (*of, *why) == (turn, trigger)) {
            return *step;
        }
        let left_ms = self.stop_ms.map(|stop_ms| stop_ms.saturating_sub(self.clock_ms));
        let mut chosen = Step::Abstain;
        let ladder = self.script.terms.iter().flat_map(|terms| &terms.ladder);
        for rung in ladder {
            let may = match (trigger, rung.step) {
                (_, Step::Bypass) => false,
                (Trigger::Freshness, step) => matches!(step, Step::CacheBundle | Step::Abstain),
                (Trigger::Time, step) => !matches!(step, Step::Hitl | Step::Abstain),
                (Trigger::Verification | Trigger::Approval, step) => {
                    matches!(step, Step::Hitl | Step::Abstain)
                }
            };
            let acts = !matches!(rung.step, Step::Hitl | Step::Abstain);
            let is_used = self.fallen.iter().any(|(.., step)| *step == rung.step);
            let fits = match (rung.max_extra_ms, left_ms) {
                (Some(extra_ms), Some(left_ms)) => extra_ms <= left_ms,
                _ => true,
            };
            if may && fits && (!acts || (rung.is_ready && !is_used)) {
                chosen = rung.step;
                if acts {
                    self.acting = Some(chosen);
                    self.forget_prompt(turn);
                }
                break;
            }
        }
        self.fallen.push((turn, trigger, chosen));
        chosen
    }

    /// What hooks made of the prompt was made for another delegate.
    fn forget_prompt(&mut self, turn: u32) {
        self.prompt = self.prompt.filter(|(of, _)| *of != turn);
        for (decl, answered) in self.script.hooks.iter().zip(&mut self.answered) {
            if decl.point == HookPoint::AttemptStart && *answered == Some(turn) {
                *answered = None;
            }
        }
    }

    fn due_hook(&self, point: HookPoint, turn: u32) -> Option<usize> {
        let mut hooks = self.script.hooks.iter().zip(&self.answered);
        hooks.position(|(decl, answered)| {
            let is_answered = match point {
                HookPoint::DelegationPre => answered.is_some(),
                _ => *answered == Some(turn),
            };
            decl.point == point && !is_answered
        })
    }

    /// One call. `None` if the run's wall time ends first.
    fn call(&mut self, hook: usize, turn: u32) -> Option<HookSays> {
        if !self.called.contains(&(hook, turn)) {
            self.called.push((hook, turn));
        }
        let decl = self.script.hooks.get(hook)?;
        let spoke = *self.script.turn(turn)?.spoken.get(hook)?;
        let says = if spoke.took_ms < decl.timeout_ms { spoke.says } else { HookSays::Late };
        if !self.spend(spoke.took_ms.min(decl.timeout_ms)) {
            return None;
        }
        *self.answered.get_mut(hook)? = Some(turn);
        if says == HookSays::Modifies {
            let number = u8::try_from(hook).ok();
            match decl.point {
                HookPoint::DelegationPre => self.task = number,
                HookPoint::AttemptStart => self.prompt = number.map(|number| (turn, number)),
                HookPoint::AttemptEnd => {}
                HookPoint::DelegationPost => self.edited = number,
            }
        }
        Some(says)
    }

    fn stop_for(&self, says: HookSays) -> Result<(), End> {
        match says {
            HookSays::Allows | HookSays::Skips | HookSays::Modifies => Ok(()),
            HookSays::Blocks => end(Outcome::Rejected, says.code()),
            HookSays::Offline | HookSays::Late => end(Outcome::Inconclusive, says.code()),
            HookSays::Breaks => end(Outcome::Faulted, says.code()),
        }
    }

    /// The hooks behind a verdict. False if the verdict was dealt with where the time ended.
    pub(super) fn behind_verdict(&mut self, turn: u32, ruling: &Ruling) -> Result<bool, End> {
        while let Some(hook) = self.due_hook(HookPoint::AttemptEnd, turn) {
            let Some(says) = self.call(hook, turn) else {
                self.cut_behind(turn, ruling)?;
                return Ok(false);
            };
            let is_milder = match ruling.judgement {
                Judgement::Fault => true,
                Judgement::Fail => matches!(says, HookSays::Offline | HookSays::Late),
                _ => false,
            };
            if !is_milder {
                self.stop_for(says)?;
            }
        }
        Ok(true)
    }

    /// The time ended in a hook: a verdict stands, a claim is not handed on.
    fn cut_behind(&mut self, turn: u32, ruling: &Ruling) -> Result<(), End> {
        let policy = &self.script.policy;
        let (outcome, code, on_failure) = match ruling.judgement {
            Judgement::Pass | Judgement::Unverified => {
                return end(Outcome::Inconclusive, "wall_timeout");
            }
            Judgement::Inconclusive => return end(Outcome::Inconclusive, ruling.code),
            Judgement::Fault => return end(Outcome::Faulted, ruling.code),
            Judgement::Fail => (Outcome::Rejected, ruling.code, policy.on_fail),
            Judgement::Revise => {
                (Outcome::Exhausted, self.spent().unwrap_or("budget_wall"), policy.on_exhausted)
            }
        };
        match self.script.terms {
            Some(_) => end(outcome, code),
            None => self.refuse(turn, outcome, code, on_failure),
        }
    }

    /// The claim goes out, once the hooks behind the delegation let it.
    pub(super) fn hand_on(
        &mut self,
        turn: u32,
        outcome: Outcome,
        code: &'static str,
    ) -> Result<(), End> {
        while let Some(hook) = self.due_hook(HookPoint::DelegationPost, turn) {
            match self.call(hook, turn) {
                Some(says) => self.stop_for(says)?,
                None => return end(Outcome::Inconclusive, "wall_timeout"),
            }
        }
        end(outcome, code)
    }
}
