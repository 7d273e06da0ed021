//! Which input is welcome where, and the event it becomes. The whole state-by-input table.

use crate::delegation::decide::{
    ended, no_time_to_start, out_of_budget, over_at_once, too_late, unanswered, without_hooks,
};
use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;
use crate::{
    Answer, CheckIndex, Code, Discrimination, Event, Finding, Handled, HookDecision, HookIndex,
    HookPoint, Input, MAX_ATTEMPTS, MAX_NOTES, MAX_STEERS, MAX_WAITS, Outcome, Phase, Refusal,
    Rewrite, Subject, SubmissionId, Turn, VerdictKind,
};

/// What an input means in a state: an event, or an answer that changes nothing.
#[expect(clippy::large_enum_variant, reason = "one at a time, made and taken apart at once")]
pub(crate) enum Accepted {
    Event(Event),
    Nothing(Handled),
}

/// Decides what an input becomes. Changes nothing.
pub(crate) fn accept(fold: &Fold, now_ms: u64, input: Input) -> Result<Accepted, Refusal> {
    let stage = fold.stage;
    let not_now = Refusal::NotNow { stage, input: input.name() };
    match input {
        Input::Observed { phase, manifest, judge } if is_reading(stage, phase) => {
            event(Event::WorldObserved { phase, manifest, judge })
        }
        Input::Unreadable { phase, code, detail } if is_reading(stage, phase) => {
            event(Event::WorldUnreadable { phase, code, detail })
        }
        Input::Observed { .. } | Input::Unreadable { .. } => Err(not_now),
        Input::CheckFinished { check, finding, judge, elapsed_ms, rewrite } => match stage {
            Stage::RedChecking { check: expected, .. } => {
                same_check(expected, check)?;
                may_rewrite(fold, check, &finding, rewrite)?;
                let discrimination = discrimination(&finding);
                event(Event::CheckRed { check, discrimination, finding, elapsed_ms })
            }
            Stage::Checking { check: expected, .. } => {
                same_check(expected, check)?;
                may_rewrite(fold, check, &finding, rewrite)?;
                let (finding, rewrite) = in_time(fold, now_ms, finding, rewrite);
                event(Event::CheckFinished { check, finding, judge, elapsed_ms, rewrite })
            }
            _ => Err(not_now),
        },
        Input::HookAnswered { hook, decision, elapsed_ms } => match stage {
            Stage::Hooking { hook: expected, .. } => {
                same_hook(fold, expected, hook, &decision)?;
                let late = overdue(fold, now_ms).filter(|_| lets_go_on(&decision));
                event(late.unwrap_or(Event::HookAnswered { hook, decision, elapsed_ms }))
            }
            _ => Err(not_now),
        },
        Input::CheckAnswered { check, submission, finding, by, judge } => match stage {
            Stage::Awaiting { check: expected, until_ms } if now_ms < until_ms => {
                same_check(expected, check)?;
                same_submission(fold, &submission)?;
                event(Event::CheckAnswered { check, submission, finding, by, judge })
            }
            _ => Err(not_now),
        },
        input @ (Input::Claimed { .. }
        | Input::Noted { .. }
        | Input::Parked { .. }
        | Input::Woken { .. }
        | Input::DelegateFailed { .. }) => of_delegate(fold, now_ms, input, not_now),
        Input::Timer => Ok(timer(fold, now_ms)),
        Input::Cancel { code } => cancel(stage, code),
        Input::Resume => resume(fold, now_ms),
        input @ (Input::Lease { .. }
        | Input::Release
        | Input::RequestCancel { .. }
        | Input::Steer { .. }) => of_fleet(fold, input, not_now),
        Input::Answered { by, answer } if matches!(stage, Stage::Escalated { .. }) => {
            check_answer(fold, answer)?;
            event(Event::Answered { by, answer })
        }
        Input::Answered { .. } => Err(not_now),
        Input::Sealed => sealed(stage).ok_or(not_now).and_then(event),
    }
}

/// What comes of the delegate at work, and of what it waits for.
fn of_delegate(
    fold: &Fold,
    now_ms: u64,
    input: Input,
    not_now: Refusal,
) -> Result<Accepted, Refusal> {
    let stage = fold.stage;
    match input {
        Input::Claimed { turn, submission, candidate, claim, work, usage } => {
            if let Some(answer) = answered_before(fold, turn, Some(&candidate)) {
                return Ok(Accepted::Nothing(answer));
            }
            at_work(stage, turn, not_now)?;
            let claimed = Event::ClaimReceived { turn, submission, candidate, claim, work, usage };
            event(overdue(fold, now_ms).unwrap_or(claimed))
        }
        Input::Noted { turn, kind, content, usage } => {
            at_work(stage, turn, not_now)?;
            within("notes", fold.notes.len(), MAX_NOTES)?;
            let noted = Event::DelegateNoted { turn, kind, content, usage };
            event(overdue(fold, now_ms).unwrap_or(noted))
        }
        Input::Parked { turn, until_ms, detail } => {
            at_work(stage, turn, not_now)?;
            within("waits", fold.waits, MAX_WAITS)?;
            let parked = Event::DelegateParked { turn, until_ms, detail };
            event(overdue(fold, now_ms).unwrap_or(parked))
        }
        Input::Woken { answer } => match stage {
            Stage::Parked { turn, until_ms: None } => {
                event(Event::DelegateWoken { turn, answer: Some(answer) })
            }
            _ => Err(not_now),
        },
        Input::DelegateFailed { turn, code, detail } => {
            if let Some(answer) = answered_before(fold, turn, None) {
                return Ok(Accepted::Nothing(answer));
            }
            at_work(stage, turn, not_now)?;
            event(Event::DelegateFailed { turn, code, detail })
        }
        _ => Err(not_now),
    }
}

/// What workers and those beside them do with a run.
fn of_fleet(fold: &Fold, input: Input, not_now: Refusal) -> Result<Accepted, Refusal> {
    let ended = fold.stage.outcome().map(|outcome| Refusal::Ended { outcome });
    match input {
        Input::Lease { epoch, worker } => {
            if let (Stage::Sealed { .. }, Some(ended)) = (fold.stage, ended) {
                return Err(ended);
            }
            if epoch <= fold.epoch {
                return Err(Refusal::StaleEpoch { held: fold.epoch, got: epoch });
            }
            let interruptions = fold.interruptions.saturating_add(fold.is_attended().into());
            event(Event::LeaseTaken { epoch, worker, interruptions })
        }
        Input::Release => match ended {
            Some(ended) => Err(ended),
            None if fold.released_ms.is_some() => Ok(Accepted::Nothing(Handled::Unchanged)),
            None => event(Event::RunReleased),
        },
        Input::RequestCancel { by } => match ended {
            Some(ended) => Err(ended),
            None if fold.cancel_requested.is_some() => Ok(Accepted::Nothing(Handled::Unchanged)),
            None => event(Event::CancelRequested { by }),
        },
        Input::Steer { content } => {
            if let Some(ended) = ended {
                return Err(ended);
            }
            within("steers", fold.steers.len(), MAX_STEERS)?;
            event(Event::Steered { content })
        }
        _ => Err(not_now),
    }
}

/// Whether a run may hold one more.
fn within(what: &'static str, held: usize, max: usize) -> Result<(), Refusal> {
    if held < max { Ok(()) } else { Err(Refusal::TooMany { what, max }) }
}

/// Whether the workspace is being read, for this phase.
const fn is_reading(stage: Stage, phase: Phase) -> bool {
    match phase {
        Phase::Before => matches!(stage, Stage::Opened | Stage::RedDone),
        Phase::After => matches!(stage, Stage::Claimed),
    }
}

const fn sealed(stage: Stage) -> Option<Event> {
    match stage {
        Stage::Decided { outcome } => Some(Event::Sealed { outcome }),
        _ => None,
    }
}

fn cancel(stage: Stage, code: Code) -> Result<Accepted, Refusal> {
    match stage.outcome() {
        Some(outcome) => Err(Refusal::Ended { outcome }),
        None => event(ended(Outcome::Cancelled, code)),
    }
}

/// A run that waits for a human is not interrupted by a driver that comes and goes.
fn resume(fold: &Fold, now_ms: u64) -> Result<Accepted, Refusal> {
    match fold.stage {
        Stage::Sealed { outcome } => Err(Refusal::Ended { outcome }),
        Stage::Escalated { .. } => Ok(Accepted::Nothing(Handled::Unchanged)),
        Stage::Awaiting { .. } | Stage::Parked { .. } => Ok(timer(fold, now_ms)),
        _ => event(Event::RunResumed { interruptions: fold.interruptions.saturating_add(1) }),
    }
}

/// The event that an input's event forces before anything else follows of itself.
pub(crate) fn forced(fold: &Fold, event: &Event) -> Option<Event> {
    match event {
        Event::RunResumed { interruptions } | Event::LeaseTaken { interruptions, .. }
            if *interruptions > fold.policy.max_interruptions =>
        {
            let is_open = fold.stage.outcome().is_none();
            is_open.then(|| ended(Outcome::Exhausted, Code::slug("interruptions")))
        }
        Event::Answered { answer, .. } => {
            let Stage::Escalated { instead_of } = fold.stage else {
                return None;
            };
            let code = fold.refusal.clone().unwrap_or_else(|| Code::slug("answered"));
            let waived = match answer {
                Answer::Continue { .. } => return None,
                Answer::Reject => false,
                Answer::Waive => true,
            };
            Some(Event::OutcomeDecided { outcome: instead_of, code, waived })
        }
        _ => None,
    }
}

/// What the end of the run's own time means in a stage: without a claim in hand the delegate's
/// budget is used up; with one, ground truth came too late and what is known by then decides.
fn out_of_time(fold: &Fold, now_ms: u64) -> Option<Event> {
    match fold.stage {
        Stage::Claimed => Some(ended(Outcome::Inconclusive, Code::slug("wall_timeout"))),
        Stage::Checking { check, .. } => {
            Some(cut_off(check, too_late(fold, now_ms), fold.in_flight_ms(check, now_ms)))
        }
        Stage::Hooking { hook, .. } => Some(match fold.hooks.point(hook) {
            Some(HookPoint::DelegationPre | HookPoint::AttemptStart) | None => over_at_once(fold),
            Some(HookPoint::AttemptEnd | HookPoint::DelegationPost) => without_hooks(fold, now_ms),
        }),
        Stage::Opened
        | Stage::RedReady
        | Stage::RedChecking { .. }
        | Stage::RedDone
        | Stage::Ready => Some(no_time_to_start()),
        Stage::Delegated { .. } if fold.terms.is_some() => {
            let budget = if fold.is_out_of_time(now_ms) { "budget_wall" } else { "budget_act" };
            Some(ended(Outcome::Exhausted, Code::slug(budget)))
        }
        Stage::Delegated { .. } => Some(out_of_budget(fold, now_ms, "budget_wall")),
        Stage::Awaiting { .. }
        | Stage::Parked { .. }
        | Stage::Settled
        | Stage::Judged
        | Stage::Failed
        | Stage::Escalated { .. }
        | Stage::Decided { .. }
        | Stage::Sealed { .. } => None,
    }
}

/// What the end of a time means for something that comes behind it: a driver that was suspended hears
/// of both at once, and the end came first. What comes just then is in time.
fn overdue(fold: &Fold, now_ms: u64) -> Option<Event> {
    let is_late = deadline_ms(fold).is_some_and(|deadline_ms| deadline_ms < now_ms);
    out_of_time(fold, now_ms).filter(|_| is_late)
}

/// A finding that could open the gate must be there in time. One that shuts it is kept: a fault stays
/// a fault.
fn in_time(
    fold: &Fold,
    now_ms: u64,
    finding: Finding,
    rewrite: Option<Rewrite>,
) -> (Finding, Option<Rewrite>) {
    let opens = matches!(finding.verdict(), Some(VerdictKind::Pass))
        || matches!(finding, Finding::NotApplicable);
    if opens && overdue(fold, now_ms).is_some() {
        return (too_late(fold, now_ms), None);
    }
    (finding, rewrite)
}

const fn lets_go_on(decision: &HookDecision) -> bool {
    match decision {
        HookDecision::Allow | HookDecision::NotApplicable | HookDecision::Modify { .. } => true,
        HookDecision::Block { .. }
        | HookDecision::Inconclusive { .. }
        | HookDecision::Fault { .. } => false,
    }
}

/// When the run's own time ends, while that would still change anything.
pub(crate) fn deadline_ms(fold: &Fold) -> Option<u64> {
    match fold.stage {
        Stage::Failed | Stage::Escalated { .. } | Stage::Decided { .. } | Stage::Sealed { .. } => {
            None
        }
        Stage::Awaiting { until_ms, .. } => Some(until_ms),
        Stage::Parked { until_ms, .. } => until_ms,
        _ => [fold.deadline_ms(), fold.stage_deadline_ms()].into_iter().flatten().min(),
    }
}

fn event(event: Event) -> Result<Accepted, Refusal> {
    Ok(Accepted::Event(event))
}

fn timer(fold: &Fold, now_ms: u64) -> Accepted {
    let event = match fold.stage {
        Stage::Awaiting { check, until_ms } => (until_ms <= now_ms)
            .then(|| cut_off(check, unanswered("human_timeout"), fold.waited_ms(check, now_ms))),
        Stage::Parked { turn, until_ms } => until_ms
            .is_some_and(|until_ms| until_ms <= now_ms)
            .then_some(Event::DelegateWoken { turn, answer: None }),
        _ => out_of_time(fold, now_ms)
            .filter(|_| fold.is_out_of_time(now_ms) || fold.is_stage_over(now_ms)),
    };
    event.map_or(Accepted::Nothing(Handled::Unchanged), Accepted::Event)
}

/// The turn was judged, or its claim is already at work: a repeat, whatever the stage.
fn answered_before(fold: &Fold, turn: Turn, candidate: Option<&crate::Digest>) -> Option<Handled> {
    if let Some(judged) = fold.judged_turn(turn) {
        return Some(Handled::Replay(judged.judgement));
    }
    let current = fold.current.as_ref().filter(|current| current.turn == turn)?;
    (candidate == Some(&current.candidate)).then_some(Handled::Unchanged)
}

fn at_work(stage: Stage, got: Turn, not_now: Refusal) -> Result<(), Refusal> {
    match stage {
        Stage::Delegated { turn } if turn == got => Ok(()),
        Stage::Delegated { turn } => Err(Refusal::WrongTurn { expected: turn, got }),
        _ => Err(not_now),
    }
}

/// The end of a check that was given up.
fn cut_off(check: CheckIndex, finding: Finding, elapsed_ms: u64) -> Event {
    Event::CheckFinished { check, finding, judge: None, elapsed_ms, rewrite: None }
}

fn may_rewrite(
    fold: &Fold,
    check: CheckIndex,
    finding: &Finding,
    rewrite: Option<Rewrite>,
) -> Result<(), Refusal> {
    let is_hook =
        fold.checks.get(check.as_usize()).is_some_and(|decl| decl.subject == Subject::Hook);
    let may = is_hook && finding.verdict() == Some(VerdictKind::Pass);
    if rewrite.is_none() || may { Ok(()) } else { Err(Refusal::Rewrite) }
}

fn same_hook(
    fold: &Fold,
    expected: HookIndex,
    got: HookIndex,
    decision: &HookDecision,
) -> Result<(), Refusal> {
    if expected != got {
        return Err(Refusal::WrongHook { expected: expected.0, got: got.0 });
    }
    match (decision, fold.hooks.point(got)) {
        (HookDecision::Modify { .. }, Some(point)) if !point.may_modify() => {
            Err(Refusal::Modify { point })
        }
        _ => Ok(()),
    }
}

fn same_check(expected: CheckIndex, got: CheckIndex) -> Result<(), Refusal> {
    if expected == got {
        return Ok(());
    }
    Err(Refusal::WrongCheck { expected: expected.0, got: got.0 })
}

/// What a human said of one claim is not said of the next.
fn same_submission(fold: &Fold, got: &SubmissionId) -> Result<(), Refusal> {
    match fold.current.as_ref().map(|current| &current.id) {
        Some(expected) if expected != got => {
            Err(Refusal::WrongSubmission { expected: expected.clone(), got: got.clone() })
        }
        _ => Ok(()),
    }
}

fn discrimination(finding: &Finding) -> Discrimination {
    match finding.verdict() {
        Some(VerdictKind::Pass) => Discrimination::NonDiscriminating,
        Some(VerdictKind::Revise | VerdictKind::Fail) => Discrimination::Discriminating,
        Some(VerdictKind::Inconclusive) | None => Discrimination::NotAssessed,
    }
}

fn check_answer(fold: &Fold, answer: Answer) -> Result<(), Refusal> {
    match answer {
        Answer::Continue { attempts }
            if attempts == 0
                || fold.accounting.attempts.saturating_add(attempts) > MAX_ATTEMPTS =>
        {
            Err(Refusal::Answer { attempts })
        }
        Answer::Reject | Answer::Waive | Answer::Continue { .. } => Ok(()),
    }
}
