//! What is to be done in a stage. A function of the state alone, so that a run taken up again is
//! asked for exactly what the interrupted one was.

use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;
use crate::{CheckIndex, Effect, Entry, Event, Judgement, Outcome, Phase};

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
            correction: fold.judged.last().map(|judged| judged.turn),
            is_replay: fold.is_replay,
            timeout_ms: remaining_ms(fold, now_ms),
        }],
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
    match (outcome, fold.judged.last()) {
        (Outcome::Verified, Some(last)) if last.judgement == Judgement::Pass => Effect::Commit {
            submission: last.submission.clone(),
            candidate: last.candidate,
            claim: last.claim,
        },
        (Outcome::Unverified, Some(last)) if last.judgement == Judgement::Unverified => {
            Effect::Commit {
                submission: last.submission.clone(),
                candidate: last.candidate,
                claim: last.claim,
            }
        }
        _ => Effect::Reject { outcome },
    }
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

fn remaining_ms(fold: &Fold, now_ms: u64) -> Option<u64> {
    fold.deadline_ms().map(|deadline_ms| deadline_ms.saturating_sub(now_ms))
}
