//! What the terms of a decision stop, slow down or hand to a human, as a function of state and time.

use crate::delegation::decide::ended;
use crate::delegation::fold::Fold;
use crate::{Code, Event, OnFailure, Outcome, Step, Terms, Trigger, Turn, fall_back};

/// A step that the decision fell back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Degraded {
    /// The round.
    pub turn: Turn,
    /// Why.
    pub trigger: Trigger,
    /// The step.
    pub step: Step,
}

/// What the terms put before the act of a round: an ending, a call for a human, a step down the
/// ladder. `None` where nothing stands in the way.
pub(crate) fn before_act(fold: &Fold, turn: Turn, now_ms: u64) -> Option<Event> {
    let terms = fold.terms.as_ref()?;
    if terms.needs_approval && !fold.is_approved {
        return Some(match fold.degraded(turn, Trigger::Approval) {
            None => step_down(fold, terms, turn, Trigger::Approval, now_ms),
            Some(Step::Hitl) => escalated(Outcome::Rejected, Code::slug("approval_required")),
            Some(_) => ended(Outcome::Rejected, Code::slug("approval_required")),
        });
    }
    if !terms.is_stale_soft && terms.stale(now_ms) > 0 {
        // The cached bundle was not made from what is stale. A smaller model or rules would act on
        // it, so that want of time is no reason to let them.
        if fold.acting_step() == Some(Step::CacheBundle) {
            return None;
        }
        return Some(match fold.degraded(turn, Trigger::Freshness) {
            None => step_down(fold, terms, turn, Trigger::Freshness, now_ms),
            Some(_) => ended(Outcome::Rejected, Code::slug("stale_context")),
        });
    }
    let ahead_ms = terms.stages.act_ms.saturating_add(terms.stages.verify_ms);
    if fold.remaining_ms(now_ms).is_some_and(|remaining_ms| remaining_ms < ahead_ms) {
        match fold.degraded(turn, Trigger::Time) {
            None => return Some(step_down(fold, terms, turn, Trigger::Time, now_ms)),
            Some(Step::Abstain) => return Some(no_time_to_act(fold, now_ms)),
            Some(_) => {}
        }
    }
    None
}

/// Nothing that fits into the time left. What was refused before goes the way of a refusal.
fn no_time_to_act(fold: &Fold, now_ms: u64) -> Event {
    let (outcome, code) = (Outcome::Exhausted, Code::slug("time_pressure"));
    if fold.judged.is_empty() {
        return ended(outcome, code);
    }
    refused(fold, now_ms, fold.policy.on_exhausted, outcome, code)
}

/// The run does not end well. Under terms the ladder says whether a human is asked, else the policy
/// does.
pub(crate) fn refused(
    fold: &Fold,
    now_ms: u64,
    on_failure: OnFailure,
    outcome: Outcome,
    code: Code,
) -> Event {
    let Some(terms) = &fold.terms else {
        return by_policy(on_failure, outcome, code);
    };
    match fold.degraded(fold.turn, Trigger::Verification) {
        None => step_down(fold, terms, fold.turn, Trigger::Verification, now_ms),
        Some(Step::Hitl) => escalated(outcome, code),
        Some(_) => ended(outcome, code),
    }
}

/// The run does not end well, and the policy alone says whether a human is asked.
pub(crate) fn by_policy(on_failure: OnFailure, outcome: Outcome, code: Code) -> Event {
    match on_failure {
        OnFailure::Reject => ended(outcome, code),
        OnFailure::Escalate => escalated(outcome, code),
    }
}

fn escalated(instead_of: Outcome, code: Code) -> Event {
    Event::Escalated { instead_of, code }
}

fn step_down(fold: &Fold, terms: &Terms, turn: Turn, trigger: Trigger, now_ms: u64) -> Event {
    let taken: Vec<Step> =
        fold.degraded.iter().map(|degraded| degraded.step).filter(|step| !step.is_safe()).collect();
    let step = fall_back(&terms.ladder, trigger, &taken, fold.remaining_ms(now_ms));
    Event::DegradeChosen { turn, trigger, step }
}
