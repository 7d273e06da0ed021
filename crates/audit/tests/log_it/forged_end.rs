//! Forgeries of how a run ends, and what only one of the two readers can find.

use probity_core::{Answer, Entry, Event, Judgement, OnFailure, Outcome};

use crate::forged::{Forge, Forgery, change, copy, event, place, policy, remove};
use crate::rig::code;
use crate::{audit_open, codes, run};

/// Forgeries that break no rule of the machine: it knows no names of submissions, takes a finding
/// without a look at the judge's files, and does not compare work markers.
pub(crate) const MACHINE_TAKES: [&str; 3] = [
    "a submission under another name",
    "a swapped judge that nobody looked at",
    "work that was undone",
];

fn ends(log: &mut [Entry], as_what: Outcome) {
    change!(log, "outcome.decided", 0, OutcomeDecided { outcome } => *outcome = as_what);
    change!(log, "run.sealed", 0, Sealed { outcome } => *outcome = as_what);
}

#[rustfmt::skip]
pub(crate) const FORGERIES: &[Forgery] = &[
    ("a rejected run that reads as verified", run::rejected, |log| ends(log, Outcome::Verified),
        &["log_commit_without_pass"]),
    ("an exhausted run that reads as verified", run::exhausted, |log| ends(log, Outcome::Verified),
        &["log_commit_without_pass"]),
    ("a rejected run that is delivered unchecked", run::rejected, |log| ends(log, Outcome::Unverified),
        &["log_commit_without_pass"]),
    ("a verified run that reads as rejected", run::once, |log| ends(log, Outcome::Rejected),
        &["log_outcome_differs"]),
    ("a rejected run that reads as inconclusive", run::rejected, |log| ends(log, Outcome::Inconclusive),
        &["log_outcome_differs"]),
    ("a verified run that reads as faulted", run::once, |log| ends(log, Outcome::Faulted),
        &["log_outcome_differs"]),
    ("a run that ends as waiting", run::once, |log| ends(log, Outcome::Escalated),
        &["log_outcome_differs"]),
    ("a delegate that did not fail", run::once, |log| ends(log, Outcome::DelegateFailed),
        &["log_outcome_differs"]),
    ("an interruption that did not end the run", run::too_often, |log| ends(log, Outcome::Verified),
        &["log_interruptions_over"]),
    ("more attempts allowed than it ended with", run::exhausted, |log| policy!(log, max_attempts = 5),
        &["log_outcome_differs"]),
    ("a verified run for another reason", run::once, |log| {
        change!(log, "outcome.decided", 0, OutcomeDecided { code: word } => *word = code("other"));
    }, &["log_outcome_differs"]),
    ("a seal that says verified", run::exhausted, |log| {
        change!(log, "run.sealed", 0, Sealed { outcome } => *outcome = Outcome::Verified);
    }, &["log_sealed_otherwise"]),
    ("a run that goes on after its outcome", run::once, |log| {
        let behind = place(log, "outcome.decided", 0);
        copy(log, "delegate.dispatched", 0, behind);
    }, &["log_after_outcome"]),
    ("a second outcome", run::rejected, |log| {
        let behind = place(log, "outcome.decided", 0);
        copy(log, "outcome.decided", 0, behind);
        change!(log, "outcome.decided", 1, OutcomeDecided { outcome } => *outcome = Outcome::Verified);
    }, &["log_after_outcome"]),
    ("a delegate that is asked again after a pass", run::twice, |log| {
        let Event::VerdictMerged { judgement: passed, .. } = *event(log, "verdict.merged", 1) else { return };
        change!(log, "verdict.merged", 0, VerdictMerged { judgement } => *judgement = passed);
    }, &["log_dispatch_unfit", "log_drift_differs", "log_verdict_differs"]),
    ("a waiver without an escalation", run::waived, |log| remove(log, "run.escalated", 0),
        &["log_answer_unasked", "log_escalation_skipped", "log_waived_unasked"]),
    ("a waiver that nobody gave", run::exhausted, |log| {
        change!(log, "outcome.decided", 0, OutcomeDecided { waived } => *waived = true);
    }, &["log_waived_unasked"]),
    ("a waiver that makes success", run::waived, |log| ends(log, Outcome::Verified),
        &["log_ending_ignored"]),
    ("a refusal that became a waiver", run::waived, |log| {
        change!(log, "run.answered", 0, Answered { answer } => *answer = Answer::Reject);
    }, &["log_ending_ignored"]),
    ("an escalation that the policy does not ask for", run::waived, |log| {
        policy!(log, on_exhausted = OnFailure::Reject);
    }, &["log_escalated_unasked"]),
    ("an escalation that was left out", run::exhausted, |log| {
        policy!(log, on_exhausted = OnFailure::Escalate);
    }, &["log_escalation_skipped"]),
    ("an escalation of a fail that was left out", run::rejected, |log| {
        policy!(log, on_fail = OnFailure::Escalate);
    }, &["log_escalation_skipped"]),
    ("an escalation instead of nothing", run::waived, |log| {
        change!(log, "run.escalated", 0, Escalated { instead_of } => *instead_of = Outcome::Rejected);
        ends(log, Outcome::Rejected);
    }, &["log_outcome_differs"]),
    ("a verdict that was raised with its outcome", run::exhausted, |log| {
        change!(log, "verdict.merged", 2, VerdictMerged { judgement, code: word, drift } => {
            (*judgement, *word, *drift) = (Judgement::Pass, code("ok"), None);
        });
        change!(log, "outcome.decided", 0, OutcomeDecided { code: word } => *word = code("ok"));
        ends(log, Outcome::Verified);
    }, &["log_commit_without_pass", "log_verdict_differs"]),
];

/// Why the machine does not take a log, one case for every kind of reason.
#[test]
fn every_reason_of_the_replay_has_its_code() {
    let cases: [(&str, Forge); 5] = [
        ("log_replay_open", |log| policy!(log, max_attempts = 0)),
        ("log_replay_impossible", |log| remove(log, "delegate.dispatched", 0)),
        ("log_replay_differs", |log| {
            change!(log, "verdict.merged", 0, VerdictMerged { attempts } => *attempts = 7);
        }),
        ("log_replay_time", |log| log[3].at_ms -= 1_000),
        ("log_replay_cut", |log| {
            let verdict = place(log, "verdict.merged", 0);
            log.truncate(verdict + 1);
        }),
    ];
    for (expected, forge) in cases {
        let mut log = run::twice().log;
        forge(&mut log);
        let report = audit_open(&log);
        let replay: Vec<_> =
            codes(&report).into_iter().filter(|code| code.starts_with("log_replay")).collect();
        assert_eq!(replay, [expected]);
    }
}
