//! What is to be done in a stage. A function of the state alone, so that a run taken up again is
//! asked for exactly what the interrupted one was.

use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;
use crate::{CheckIndex, Effect, Entry, Event, HookIndex, Judgement, Outcome, Phase, Turn};

/// The effects that are pending in this state, in order.
pub(crate) fn pending(fold: &Fold, now_ms: u64) -> Vec<Effect> {
    match fold.stage {
        Stage::Opened | Stage::RedDone => vec![Effect::Snapshot { phase: Phase::Before }],
        Stage::Claimed => vec![Effect::Snapshot { phase: Phase::After }],
        Stage::RedChecking { check, tries } => {
            vec![run_check(fold, Phase::Before, check, tries, now_ms)]
        }
        Stage::Checking { check, tries } => {
            vec![run_check(fold, Phase::After, check, tries, now_ms)]
        }
        Stage::Delegated { turn } => vec![Effect::Dispatch {
            turn,
            attempt: fold.accounting.attempts.saturating_add(1),
            max_attempts: fold.accounting.max_attempts(&fold.policy),
            step: fold.acting_step(),
            correction: fold.judged.last().map(|judged| judged.turn),
            is_replay: fold.is_replay,
            timeout_ms: remaining_ms(fold, now_ms),
        }],
        Stage::Hooking { hook, turn } => vec![call_hook(fold, hook, turn, now_ms)],
        Stage::Parked { turn, until_ms } => vec![Effect::Park { turn, until_ms }],
        Stage::Awaiting { check, until_ms } => vec![Effect::Ask { check, until_ms }],
        Stage::Escalated { instead_of } => vec![Effect::Escalate { instead_of }],
        Stage::Decided { outcome } => {
            let entry = Entry { at_ms: now_ms, event: Event::Sealed { outcome } };
            vec![release(fold, outcome), Effect::Seal(entry)]
        }
        Stage::RedReady
        | Stage::Ready
        | Stage::Settled
        | Stage::Judged
        | Stage::Failed
        | Stage::Sealed { .. } => Vec::new(),
    }
}

/// Commit is reachable only behind a verdict of the matching kind.
fn release(fold: &Fold, outcome: Outcome) -> Effect {
    let judgement = match outcome {
        Outcome::Verified => Judgement::Pass,
        Outcome::Unverified => Judgement::Unverified,
        _ => return Effect::Reject { outcome },
    };
    match fold.judged.last() {
        Some(last) if last.judgement == judgement => Effect::Commit {
            submission: last.submission.clone(),
            candidate: last.verified.candidate,
            claim: last.verified.claim,
            edited: fold
                .hooks
                .rewritten
                .edited
                .filter(|(turn, _)| *turn == last.turn)
                .map(|it| it.1),
        },
        _ => Effect::Reject { outcome },
    }
}

fn call_hook(fold: &Fold, hook: HookIndex, turn: Turn, now_ms: u64) -> Effect {
    let whole_ms = fold.hooks.decl(hook).map_or(1, |decl| decl.timeout_ms);
    let spent_ms = now_ms.saturating_sub(fold.hooks.called_ms);
    let left_ms = whole_ms.saturating_sub(spent_ms);
    let left_ms = remaining_ms(fold, now_ms).map_or(left_ms, |run_ms| run_ms.min(left_ms));
    Effect::CallHook { hook, turn, is_replay: fold.is_replay, timeout_ms: left_ms.max(1) }
}

fn run_check(fold: &Fold, phase: Phase, check: CheckIndex, tries: u32, now_ms: u64) -> Effect {
    let whole_ms = fold.checks.get(check.as_usize()).map_or(1, |decl| decl.timeout_ms);
    let current = fold.current.as_ref().filter(|_| phase == Phase::After);
    let spent_ms = current
        .and_then(|current| current.progress.get(check.as_usize()))
        .map_or(0, |progress| now_ms.saturating_sub(progress.since_ms));
    let left_ms = whole_ms.saturating_sub(spent_ms);
    let attempt = current.map_or(0, |_| fold.accounting.attempts.saturating_add(1));
    Effect::RunCheck {
        phase,
        check,
        submission: current.map(|current| current.id.clone()),
        attempt,
        tries,
        is_replay: fold.is_replay,
        timeout_ms: remaining_ms(fold, now_ms).map_or(left_ms, |run_ms| run_ms.min(left_ms)).max(1),
    }
}

/// What the run and the stage at work leave.
fn remaining_ms(fold: &Fold, now_ms: u64) -> Option<u64> {
    let deadlines = [fold.deadline_ms(), fold.stage_deadline_ms()];
    let deadline_ms = deadlines.into_iter().flatten().min();
    deadline_ms.map(|deadline_ms| deadline_ms.saturating_sub(now_ms))
}
