//! Forgeries of who drove the run, and of what others asked of it meanwhile.

use probity_core::{Entry, Event, MAX_STEERS};

use crate::forged::{Forgery, change, copy, place, policy, remove};
use crate::rig::code;
use crate::run;

/// The time in the queue becomes time at work.
fn never_left(log: &mut [Entry], release: usize, lease: usize) {
    let (released, taken) = (place(log, "run.released", release), place(log, "lease.taken", lease));
    let at_ms = log[taken].at_ms;
    log[released..taken].iter_mut().for_each(|entry| entry.at_ms = at_ms);
}

/// Everything from an event on comes later.
fn later(log: &mut [Entry], kind: &str, by_ms: u64) {
    let from = place(log, kind, 0);
    log[from..].iter_mut().for_each(|entry| entry.at_ms += by_ms);
}

fn behind_the_outcome(log: &mut Vec<Entry>, kind: &str) {
    let behind = place(log, "outcome.decided", 0);
    copy(log, kind, 0, behind);
}

#[rustfmt::skip]
pub(crate) const FORGERIES: &[Forgery] = &[
    ("a lease of epoch 0", run::handed_over, |log| {
        change!(log, "lease.taken", 0, LeaseTaken { epoch } => *epoch = 0);
    }, &["log_epoch"]),
    ("a lease of the epoch before", run::handed_over, |log| {
        change!(log, "lease.taken", 1, LeaseTaken { epoch } => *epoch = 1);
    }, &["log_epoch"]),
    ("a lease that the next one falls behind", run::handed_over, |log| {
        change!(log, "lease.taken", 1, LeaseTaken { epoch } => *epoch = 5);
    }, &["log_epoch"]),
    ("a lease that is there twice", run::handed_over, |log| {
        let behind = place(log, "lease.taken", 0);
        copy(log, "lease.taken", 0, behind);
    }, &["log_epoch", "log_interruptions_differ"]),

    ("a lost lease that is not counted", run::handed_over, |log| {
        change!(log, "lease.taken", 2, LeaseTaken { interruptions } => *interruptions = 0);
    }, &["log_interruptions_differ"]),
    ("a lost lease behind the outcome that is not counted", run::handed_over, |log| {
        change!(log, "lease.taken", 3, LeaseTaken { interruptions } => *interruptions = 1);
    }, &["log_interruptions_differ"]),
    ("a lease of a run that was left, counted as a loss", run::handed_over, |log| {
        change!(log, "lease.taken", 0, LeaseTaken { interruptions } => *interruptions = 1);
    }, &["log_interruptions_differ"]),
    ("a lease of a run that waits, counted as a loss", run::kept_waiting, |log| {
        change!(log, "lease.taken", 2, LeaseTaken { interruptions } => *interruptions = 1);
    }, &["log_interruptions_differ"]),
    ("a release that was left out", run::handed_over, |log| remove(log, "run.released", 1),
        &["log_interruptions_differ", "log_time_over"]),
    ("a lost lease that is taken for one of a resumption", run::handed_over, |log| {
        let lost = place(log, "lease.taken", 2);
        log[lost].event = Event::RunResumed { interruptions: 2 };
    }, &["log_interruptions_differ"]),
    ("fewer losses allowed than happened", run::handed_over, |log| policy!(log, max_interruptions = 0),
        &["log_interruptions_over"]),
    ("a loss too many that ends nothing", run::lost_too_often, |log| {
        change!(log, "outcome.decided", 0, OutcomeDecided { code: word } => *word = code("budget_wall"));
    }, &["log_interruptions_over"]),

    ("a run that works in the time it says it lay in the queue", run::handed_over,
        |log| never_left(log, 1, 1), &["log_time_over"]),
    ("a delegate that works in that time", run::handed_over_under_terms,
        |log| never_left(log, 0, 0), &["log_time_over"]),
    ("a check that runs in that time", run::handed_over_under_terms,
        |log| never_left(log, 1, 1), &["log_time_over"]),
    ("a wait in the queue that would have to count twice", run::kept_waiting,
        |log| later(log, "claim.received", 600), &["log_time_over"]),

    ("a run that is left twice", run::handed_over, |log| {
        let behind = place(log, "run.released", 1);
        copy(log, "run.released", 1, behind);
    }, &["log_release_repeated"]),
    ("a run that is left once more behind a wish", run::handed_over, |log| {
        let behind = place(log, "run.steered", 1);
        copy(log, "run.released", 1, behind);
    }, &["log_release_repeated"]),
    ("a run that is left behind its outcome", run::handed_over,
        |log| behind_the_outcome(log, "run.released"), &["log_after_outcome"]),

    ("a second request to stop", run::asked_to_stop, |log| {
        let behind = place(log, "run.steered", 0);
        copy(log, "run.cancel_requested", 0, behind);
    }, &["log_cancel_repeated"]),
    ("a request to stop behind the outcome", run::asked_to_stop,
        |log| behind_the_outcome(log, "run.cancel_requested"), &["log_after_outcome"]),
    ("a wish behind the outcome", run::asked_to_stop,
        |log| behind_the_outcome(log, "run.steered"), &["log_after_outcome"]),
    ("more said than a run may hold", run::asked_to_stop, |log| {
        let behind = place(log, "run.steered", 0);
        (0..MAX_STEERS).for_each(|_| copy(log, "run.steered", 0, behind));
    }, &["log_steers_over"]),
    ("a wish in the midst of an append", run::asked_to_stop, |log| {
        let behind = place(log, "world.observed", 0);
        copy(log, "run.steered", 0, behind);
    }, &[]),
    ("a run that is its own parent", run::handed_over, |log| {
        change!(log, "run.opened", 0, RunOpened { run, parent } => *parent = Some(run.clone()));
    }, &["log_own_parent"]),
];
