//! Forgeries of what a delegate wrote down and waited for, and of the budgets that it kept.

use probity_core::{Entry, Event, OnFailure, Outcome, Turn};

use crate::forged::{Forgery, change, copy, event, place, policy, remove};
use crate::rig::code;
use crate::run;

const SOME: Turn = Turn { epoch: 0, number: 7 };

#[rustfmt::skip]
pub(crate) const FORGERIES: &[Forgery] = &[
    ("a note of a round that is not at work", run::noted, |log| {
        change!(log, "delegate.noted", 0, DelegateNoted { turn } => *turn = SOME);
    }, &["log_note_unfit"]),
    ("a note behind the claim", run::noted, |log| {
        let behind = place(log, "claim.received", 0);
        copy(log, "delegate.noted", 0, behind);
    }, &["log_note_unfit"]),
    ("a note while the delegate waits", run::parked, |log| {
        let behind = place(log, "delegate.parked", 0);
        copy(log, "delegate.noted", 0, behind);
    }, &["log_note_unfit"]),
    ("a note after the delegate's time", run::noted, |log| {
        let at_ms = log[place(log, "delegate.noted", 1)].at_ms - log[0].at_ms;
        policy!(log, wall_ms = Some(at_ms - 1));
        log.truncate(place(log, "delegate.noted", 1) + 1);
    }, &["log_time_over"]),
    ("a note that spent nothing, where its round used the budget up", run::noted, |log| {
        change!(log, "delegate.noted", 0, DelegateNoted { usage } => usage.tokens = 0);
    }, &["log_outcome_differs"]),
    ("a note that is left out, where its round used the budget up", run::noted,
        |log| remove(log, "delegate.noted", 2), &["log_outcome_differs"]),
    ("a note that spent what the next round would need", run::noted, |log| {
        change!(log, "delegate.noted", 1, DelegateNoted { usage } => usage.tokens = 40);
    }, &["log_budget_over"]),
    ("a note that is there twice and uses the budget up", run::noted, |log| {
        let behind = place(log, "delegate.noted", 1);
        (0..2).for_each(|_| copy(log, "delegate.noted", 0, behind));
    }, &["log_budget_over"]),

    ("a wait of another round", run::parked, |log| {
        change!(log, "delegate.parked", 0, DelegateParked { turn } => *turn = SOME);
    }, &["log_note_unfit", "log_wake_unasked"]),
    ("a round that is woken and did not wait", run::parked, |log| remove(log, "delegate.parked", 0),
        &["log_time_over", "log_wake_unasked"]),
    ("another round is woken", run::parked, |log| {
        change!(log, "delegate.woken", 0, DelegateWoken { turn } => *turn = SOME);
    }, &["log_note_unfit", "log_wake_unasked"]),
    ("a round that is woken twice", run::parked, |log| {
        let behind = place(log, "delegate.woken", 0);
        copy(log, "delegate.woken", 0, behind);
    }, &["log_wake_unasked"]),
    ("a round that is woken before its time", run::parked, |log| {
        change!(log, "delegate.parked", 0, DelegateParked { until_ms } => *until_ms = until_ms.map(|it| it + 500));
    }, &["log_wake_early"]),
    ("an answer to a wait for a time", run::parked, |log| {
        let Event::DelegateWoken { answer: given, .. } = *event(log, "delegate.woken", 1) else { return };
        change!(log, "delegate.woken", 0, DelegateWoken { answer } => *answer = given);
    }, &["log_wake_unfit"]),
    ("no answer to a wait for one", run::parked, |log| {
        change!(log, "delegate.woken", 1, DelegateWoken { answer } => *answer = None);
    }, &["log_wake_unfit"]),
    ("a wait that is never over", run::parked, |log| {
        remove(log, "delegate.woken", 1);
        let behind = place(log, "delegate.parked", 1);
        log.drain(behind + 1..place(log, "claim.received", 0));
    }, &["log_effect_unannounced", "log_time_over"]),
    ("a run that works in the time it says it waited", run::parked, |log| {
        let (parked, woken) = (place(log, "delegate.parked", 1), place(log, "delegate.woken", 1));
        log[parked].at_ms = log[woken].at_ms;
    }, &["log_time_over"]),
    ("an interruption of a run that waits", run::parked, |log| {
        let resumed = place(log, "run.resumed", 0);
        log.swap(resumed, resumed + 1);
        let at_ms = log[resumed].at_ms;
        log[resumed + 1].at_ms = at_ms;
    }, &["log_interruptions_differ"]),
    ("a run that ends for its time while it waits", run::parked, |log| {
        log.truncate(place(log, "delegate.parked", 1) + 1);
        let at_ms = log[log.len() - 1].at_ms + 10_000;
        let outcome = Outcome::Exhausted;
        let decided = Event::OutcomeDecided { outcome, code: code("budget_wall"), waived: false };
        log.extend([decided, Event::Sealed { outcome }].map(|event| Entry { at_ms, event }));
    }, &["log_outcome_differs"]),

    ("a budget that the delegate did not say it used up", run::used_up, |log| {
        change!(log, "delegate.failed", 0, DelegateFailed { code: word } => *word = code("exit_1"));
    }, &["log_ending_ignored"]),
    ("a used up budget that reads as a failure", run::used_up, |log| {
        change!(log, "outcome.decided", 0, OutcomeDecided { outcome } => *outcome = Outcome::DelegateFailed);
        change!(log, "run.sealed", 0, Sealed { outcome } => *outcome = Outcome::DelegateFailed);
    }, &["log_outcome_differs"]),
    ("another budget than the delegate used up", run::used_up, |log| {
        change!(log, "outcome.decided", 0, OutcomeDecided { code: word } => *word = code("budget_tokens"));
    }, &["log_outcome_differs"]),
    ("a used up budget of nobody", run::used_up, |log| remove(log, "delegate.failed", 0),
        &["log_outcome_differs"]),
    ("a delegate that is asked again with its budget used up", run::asked_for_more, |log| {
        remove(log, "run.answered", 0);
        remove(log, "run.escalated", 0);
    }, &["log_budget_over"]),
    ("a used up budget that calls for a human", run::used_up, |log| {
        policy!(log, on_exhausted = OnFailure::Escalate);
    }, &["log_escalation_skipped"]),
];
