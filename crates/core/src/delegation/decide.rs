//! What follows of itself: the next event that needs no input, as a function of state and time.

use crate::delegation::degrade::{before_act, by_policy, refused};
use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;
use crate::delegation::submission::{Progress, Submission};
use crate::{
    CheckIndex, Code, Counting, Discrimination, Drift, Event, Finding, HookPoint, Judgement,
    OnFailure, Outcome, Phase, Policy, RedFirst, Subject, Tier, Turn, VerdictKind, merge,
};

/// The next event that the machine decides alone, if there is one at `now_ms`.
pub(crate) fn follow_up(fold: &Fold, now_ms: u64) -> Option<Event> {
    match fold.stage {
        Stage::RedReady if fold.is_out_of_time(now_ms) => Some(no_time_to_start()),
        Stage::RedReady => Some(red_check(fold).unwrap_or_else(|| dispatch(fold, now_ms))),
        Stage::Ready if fold.is_out_of_time(now_ms) => Some(over_at_once(fold)),
        Stage::Ready => Some(dispatch(fold, now_ms)),
        Stage::Settled => settled(fold, now_ms),
        Stage::Judged => judged(fold, now_ms),
        Stage::Failed => {
            fold.failure.clone().map(|(outcome, code)| failed(fold, now_ms, outcome, code))
        }
        Stage::Opened
        | Stage::RedDone
        | Stage::RedChecking { .. }
        | Stage::Hooking { .. }
        | Stage::Delegated { .. }
        | Stage::Parked { .. }
        | Stage::Claimed
        | Stage::Checking { .. }
        | Stage::Awaiting { .. }
        | Stage::Escalated { .. }
        | Stage::Decided { .. }
        | Stage::Sealed { .. } => None,
    }
}

/// When the next try of an inconclusive check is due, while nothing is in flight.
pub(crate) fn retry_due_ms(fold: &Fold) -> Option<u64> {
    if fold.stage != Stage::Settled {
        return None;
    }
    let current = fold.current.as_ref()?;
    next_retry(fold, current).map(|(_, due_ms)| due_ms)
}

/// What a failure comes to: a delegate that used a budget up is exhausted, as the policy has it.
fn failed(fold: &Fold, now_ms: u64, outcome: Outcome, code: Code) -> Event {
    match outcome {
        Outcome::Exhausted => refused(fold, now_ms, fold.policy.on_exhausted, outcome, code),
        _ => ended(outcome, code),
    }
}

/// An outcome without a waiver.
pub(crate) fn ended(outcome: Outcome, code: Code) -> Event {
    Event::OutcomeDecided { outcome, code, waived: false }
}

/// The run's own time ended before the delegate got the task.
pub(crate) fn no_time_to_start() -> Event {
    ended(Outcome::Exhausted, Code::slug("budget_wall"))
}

/// The run's own time ended before a round began. Where a claim was refused before, the policy says
/// whether a human is called.
pub(crate) fn over_at_once(fold: &Fold) -> Event {
    if fold.judged.is_empty() {
        return no_time_to_start();
    }
    at_once(fold, fold.policy.on_exhausted, Outcome::Exhausted, Code::slug("budget_wall"))
}

/// The run's own time ended while a hook behind a verdict was at work. A claim that the hook could
/// still have stopped is not handed on; whatever else the verdict was, it stands.
pub(crate) fn without_hooks(fold: &Fold, now_ms: u64) -> Event {
    let late = || ended(Outcome::Inconclusive, Code::slug("wall_timeout"));
    let Some(last) = fold.judged.last() else {
        return late();
    };
    let code = last.code.clone();
    match last.judgement {
        Judgement::Pass | Judgement::Unverified => late(),
        Judgement::Inconclusive => ended(Outcome::Inconclusive, code),
        Judgement::Fault => ended(Outcome::Faulted, code),
        Judgement::Fail => at_once(fold, fold.policy.on_fail, Outcome::Rejected, code),
        Judgement::Revise => {
            let budget = Code::slug(exhausted(fold, now_ms).unwrap_or("budget_wall"));
            at_once(fold, fold.policy.on_exhausted, Outcome::Exhausted, budget)
        }
    }
}

/// A refusal with no time left to go down a ladder.
fn at_once(fold: &Fold, on_failure: OnFailure, outcome: Outcome, code: Code) -> Event {
    match fold.terms {
        Some(_) => ended(outcome, code),
        None => by_policy(on_failure, outcome, code),
    }
}

fn red_check(fold: &Fold) -> Option<Event> {
    let next = fold.next_red()?;
    Some(Event::CheckStarted { phase: Phase::Before, check: CheckIndex::of(next), tries: 1 })
}

/// The next round, behind what must come before it: a rule that forbids the act, the hooks on the
/// task, the terms of the decision, the hooks on the prompt. Those see the prompt of the delegate that
/// the ladder chose; the terms are looked at again behind each of them. A turn is dispatched once: one that was given up leaves its number behind, so that
/// its late answer is not taken for that of the next.
fn dispatch(fold: &Fold, now_ms: u64) -> Event {
    let turn = fold.upcoming;
    if let Some(blocked) = fold.terms.as_ref().and_then(|terms| terms.blocked.clone()) {
        return ended(Outcome::Rejected, blocked);
    }
    hook(fold, HookPoint::DelegationPre, turn)
        .or_else(|| before_act(fold, turn, now_ms))
        .or_else(|| hook(fold, HookPoint::AttemptStart, turn))
        .unwrap_or_else(|| Event::DelegateDispatched {
            turn,
            attempt: fold.accounting.attempts.saturating_add(1),
            step: fold.acting_step(),
        })
}

/// The call of the next hook at a point.
fn hook(fold: &Fold, point: HookPoint, turn: Turn) -> Option<Event> {
    fold.hooks.next(point, turn).map(|hook| Event::HookCalled { hook, turn })
}

/// Nothing is in flight: the next check, the next try, or the verdict.
fn settled(fold: &Fold, now_ms: u64) -> Option<Event> {
    let current = fold.current.as_ref()?;
    if current.tampered {
        return Some(verdict(fold, current, Judgement::Fail, Code::slug("judge_tampered")));
    }
    if let Some(reused) = reuse(fold, current) {
        return Some(reused);
    }
    let next = current.progress.iter().position(|progress| progress.finding.is_none());
    let subject = next.and_then(|next| fold.checks.get(next)).map(|decl| decl.subject);
    let is_over = fold.is_out_of_time(now_ms) || fold.is_stage_over(now_ms);
    // A human is not held to the time of the verify stage.
    let is_human = subject == Some(Subject::Human);
    let is_late = if is_human { fold.is_out_of_time(now_ms) } else { is_over };
    let start = |check: usize, tries: u32| {
        let check = CheckIndex::of(check);
        Event::CheckStarted { phase: Phase::After, check, tries }
    };
    if let (Some(next), Some(Subject::World | Subject::Claim), false) = (next, subject, is_late) {
        return Some(start(next, 1));
    }
    let mut findings = effective_findings(fold, current);
    // A hook is shown what was found, so it is not called while another try may change that.
    if merge(&findings) == Judgement::Inconclusive
        && !is_over
        && let Some((check, due_ms)) = next_retry(fold, current)
    {
        let tries = current.progress.get(check).map_or(0, |progress| progress.tries) + 1;
        return (due_ms <= now_ms).then(|| start(check, tries));
    }
    if let (Some(next), Some(Subject::Hook), false) = (next, subject, is_late) {
        return Some(start(next, 1));
    }
    findings.extend(next.filter(|_| is_late).map(|_| too_late(fold, now_ms)));
    let judgement = merge(&findings);
    if let Some(check) = next.filter(|_| is_human)
        && matches!(judgement, Judgement::Pass | Judgement::Unverified)
    {
        return Some(ask(fold, current, check, now_ms));
    }
    let code = deciding_code(fold, judgement, &findings);
    Some(verdict(fold, current, judgement, code))
}

/// A human is asked last, and only about what nothing else refuses.
fn ask(fold: &Fold, current: &Submission, check: usize, now_ms: u64) -> Event {
    let timeout_ms = fold.checks.get(check).map_or(1, |decl| decl.timeout_ms);
    Event::CheckAwaits {
        check: CheckIndex::of(check),
        submission: current.id.clone(),
        until_ms: now_ms.saturating_add(timeout_ms),
    }
}

/// What a check gave that the run's own time, or that of the verify stage, did not leave room for.
pub(crate) fn too_late(fold: &Fold, now_ms: u64) -> Finding {
    let code = if fold.is_out_of_time(now_ms) { "wall_timeout" } else { "verify_timeout" };
    unanswered(code)
}

/// What a check gave whose ground truth did not answer in time.
pub(crate) fn unanswered(code: &str) -> Finding {
    Finding::Verdict {
        verdict: VerdictKind::Inconclusive,
        code: Code::slug(code),
        reason: None,
        criteria: Vec::new(),
        confidence_bp: None,
        evidence: None,
        metadata: None,
        output: None,
    }
}

/// An unchanged candidate with no work behind it is answered from the record, where the policy
/// says so.
fn reuse(fold: &Fold, current: &Submission) -> Option<Event> {
    let Counting::ByCandidate { reuse_rejection: true, .. } = fold.policy.counting else {
        return None;
    };
    let earlier = fold.accounting.repeat(current.candidate, current.work())?.unchanged?;
    let mut event = verdict(fold, current, Judgement::Revise, Code::slug("reused"));
    if let Event::VerdictMerged { reused, .. } = &mut event {
        *reused = Some(earlier);
    }
    Some(event)
}

/// The inconclusive check whose next try is due first, if its budget leaves one. A human who could
/// not tell is not asked again.
fn next_retry(fold: &Fold, current: &Submission) -> Option<(usize, u64)> {
    let is_open = |progress: &Progress| {
        matches!(
            progress.finding,
            Some(Finding::Verdict { verdict: VerdictKind::Inconclusive, .. })
        ) && progress.tries < fold.policy.max_verify_tries
    };
    current
        .progress
        .iter()
        .zip(&fold.checks)
        .enumerate()
        .filter(|(_, (progress, decl))| decl.subject != Subject::Human && is_open(progress))
        .filter_map(|(index, (progress, decl))| {
            let wait_ms = fold.policy.backoff_ms(progress.tries);
            let due_ms = progress.finished_ms.saturating_add(wait_ms);
            let until_ms = progress.since_ms.saturating_add(decl.timeout_ms);
            // A try in less time than the last one took would only tell how little that was.
            let needed_ms = due_ms.saturating_add(progress.elapsed_ms);
            (needed_ms < until_ms).then_some((index, due_ms))
        })
        .min_by_key(|(_, due_ms)| *due_ms)
}

/// The findings as the merge sees them: where red-first is required, a pass of a check that did not
/// discriminate is no check at all.
pub(crate) fn effective_findings(fold: &Fold, current: &Submission) -> Vec<Finding> {
    let proves_nothing = |check: usize| {
        fold.policy.red_first == RedFirst::Require
            && matches!(
                fold.discrimination(check),
                Discrimination::NonDiscriminating | Discrimination::NotAssessed
            )
    };
    current
        .progress
        .iter()
        .enumerate()
        .filter_map(|(check, progress)| progress.finding.clone().map(|finding| (check, finding)))
        .map(|(check, finding)| match finding.verdict() {
            Some(VerdictKind::Pass) if proves_nothing(check) => Finding::NotApplicable,
            _ => finding,
        })
        .collect()
}

/// The code of the first finding that is as bad as the judgement.
fn deciding_code(fold: &Fold, judgement: Judgement, findings: &[Finding]) -> Code {
    let decided = findings.iter().find(|finding| merge([*finding]) == judgement);
    match (judgement, decided) {
        (Judgement::Unverified, _) if fold.checks.is_empty() => Code::slug("no_checks"),
        (Judgement::Unverified, _) if fold.policy.red_first == RedFirst::Require => {
            Code::slug("non_discriminating")
        }
        (Judgement::Unverified, _) | (_, None | Some(Finding::NotApplicable)) => {
            Code::slug("not_applicable")
        }
        (_, Some(Finding::Verdict { code, .. } | Finding::Fault { code, .. })) => code.clone(),
    }
}

fn verdict(fold: &Fold, current: &Submission, judgement: Judgement, code: Code) -> Event {
    let work = current.work();
    let repeat = fold.accounting.repeat(current.candidate, work);
    let counted = fold.accounting.charges(fold.policy.counting, judgement, current.candidate, work);
    Event::VerdictMerged {
        turn: current.turn,
        submission: current.id.clone(),
        candidate: current.candidate,
        judgement,
        counted,
        attempts: fold.accounting.attempts.saturating_add(counted.into()),
        drift: drift(fold, judgement, &code),
        code,
        repeat_of: repeat.map(|repeat| repeat.of),
        reused: None,
        flaky: judgement == Judgement::Pass && repeat.is_some_and(|repeat| repeat.seen_as_is),
    }
}

fn drift(fold: &Fold, judgement: Judgement, code: &Code) -> Option<Drift> {
    let tier = fold.terms.as_ref().and_then(|terms| terms.tier);
    let is_required = fold.terms.as_ref().is_some_and(|terms| terms.is_required);
    match judgement {
        // A decision that must be verified and was not is one that nobody could judge.
        Judgement::Unverified if is_required => drift(fold, Judgement::Inconclusive, code),
        Judgement::Pass | Judgement::Unverified => None,
        Judgement::Revise | Judgement::Fail => Some(Drift::Yellow),
        Judgement::Inconclusive if code.is_timeout() || tier >= Some(Tier::Medium) => {
            Some(Drift::Red)
        }
        Judgement::Inconclusive => Some(Drift::Yellow),
        Judgement::Fault => Some(Drift::Red),
    }
}

/// A verdict is in: the gate opens, the delegate is told, or the run ends.
fn judged(fold: &Fold, now_ms: u64) -> Option<Event> {
    let last = fold.judged.last()?;
    let code = last.code.clone();
    if let Some(called) = hook(fold, HookPoint::AttemptEnd, last.turn) {
        return Some(called);
    }
    let is_required = fold.terms.as_ref().is_some_and(|terms| terms.is_required);
    Some(match last.judgement {
        Judgement::Pass => hand_on(fold, last.turn, Outcome::Verified, code),
        Judgement::Unverified if is_required => inconclusive(fold, now_ms, Code::slug("no_method")),
        Judgement::Unverified => hand_on(fold, last.turn, Outcome::Unverified, code),
        Judgement::Inconclusive => inconclusive(fold, now_ms, code),
        Judgement::Fault => ended(Outcome::Faulted, code),
        Judgement::Fail => refused(fold, now_ms, fold.policy.on_fail, Outcome::Rejected, code),
        Judgement::Revise => match exhausted(fold, now_ms) {
            Some(budget) => out_of_budget(fold, now_ms, budget),
            None => dispatch(fold, now_ms),
        },
    })
}

/// The claim is handed on, once the hooks behind the verdict let it.
fn hand_on(fold: &Fold, turn: Turn, outcome: Outcome, code: Code) -> Event {
    hook(fold, HookPoint::DelegationPost, turn).unwrap_or_else(|| ended(outcome, code))
}

/// Ground truth could not be had. A human is asked only where the terms of a decision say so.
fn inconclusive(fold: &Fold, now_ms: u64, code: Code) -> Event {
    refused(fold, now_ms, OnFailure::Reject, Outcome::Inconclusive, code)
}

/// The budget that is used up, in one word, if any is.
fn exhausted(fold: &Fold, now_ms: u64) -> Option<&'static str> {
    let budget = fold.accounting.exhausted(&fold.policy);
    budget.or_else(|| fold.is_out_of_time(now_ms).then_some("budget_wall"))
}

/// A budget is used up: the run ends, or a human is called.
pub(crate) fn out_of_budget(fold: &Fold, now_ms: u64, budget: &str) -> Event {
    refused(fold, now_ms, fold.policy.on_exhausted, Outcome::Exhausted, Code::slug(budget))
}

impl Policy {
    /// The wait before try number `tries + 1`, in milliseconds.
    fn backoff_ms(&self, tries: u32) -> u64 {
        let doubled = self.verify_backoff_ms.saturating_mul(1 << tries.saturating_sub(1).min(20));
        doubled.min(Self::MAX_BACKOFF_MS)
    }
}
