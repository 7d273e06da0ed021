//! Forgeries, chained and sealed anew by someone who keeps every byte in order: only what the events
//! mean can find them. The end of a run is in [`crate::forged_end`].

use std::collections::BTreeSet;

use probity_audit::log::LOG_RULES;
use probity_core::{
    Answer, CheckIndex, Counting, Discrimination, Drift, Entry, Event, HookIndex, Judgement,
    Outcome, RedFirst, Step, Turn, VerdictKind,
};
use probity_record::submission_id;
use probity_report::Verdict;

use crate::rig::code;
use crate::run::Run;
use crate::{audit_open, codes, forged_end, forged_lease, forged_wait, run};

/// What is done to the entries of a log.
pub(crate) type Forge = fn(&mut Vec<Entry>);

/// What was forged, the honest run, the forgery, and the codes that it comes to beside `log_replay_*`.
pub(crate) type Forgery = (&'static str, Run, Forge, &'static [&'static str]);

/// The place of the `n`-th event of a kind, 0-based.
pub(crate) fn place(log: &[Entry], kind: &str, n: usize) -> usize {
    let mut places = log.iter().enumerate().filter(|(_, entry)| entry.event.name() == kind);
    places.nth(n).unwrap_or_else(|| panic!("no `{kind}` number {n}")).0
}

pub(crate) fn event<'a>(log: &'a mut [Entry], kind: &str, n: usize) -> &'a mut Event {
    let place = place(log, kind, n);
    &mut log[place].event
}

pub(crate) fn remove(log: &mut Vec<Entry>, kind: &str, n: usize) {
    log.remove(place(log, kind, n));
}

/// Puts a copy of an event behind another one.
pub(crate) fn copy(log: &mut Vec<Entry>, kind: &str, n: usize, behind: usize) {
    let entry = log[place(log, kind, n)].clone();
    let at_ms = log[behind].at_ms;
    log.insert(behind + 1, Entry { at_ms, ..entry });
}

/// Changes fields of an event: `change!(log, "verdict.merged", 0, VerdictMerged { counted } => ..)`.
macro_rules! change {
    ($log:expr, $kind:literal, $n:expr, $variant:ident { $($field:ident $(: $name:ident)?),* } => $edit:expr) => {{
        let probity_core::Event::$variant { $($field $(: $name)?,)* .. } =
            crate::forged::event($log, $kind, $n)
        else {
            panic!("`{}` is no {}", $kind, stringify!($variant));
        };
        $edit
    }};
}
pub(crate) use change;

/// Changes the policy that the run was opened with.
macro_rules! policy {
    ($log:expr, $field:ident = $value:expr) => {
        crate::forged::change!($log, "run.opened", 0, RunOpened { policy } => policy.$field = $value)
    };
}
pub(crate) use policy;

const SOME: Turn = Turn { epoch: 0, number: 7 };

fn pass(finding: &mut probity_core::Finding) {
    if let probity_core::Finding::Verdict { verdict, code: word, .. } = finding {
        (*verdict, *word) = (VerdictKind::Pass, code("ok"));
    }
}

#[rustfmt::skip]
const FORGERIES: &[Forgery] = &[
    ("an attempt that is not charged", run::twice, |log| {
        change!(log, "verdict.merged", 0, VerdictMerged { counted, attempts } => (*counted, *attempts) = (false, 0));
        change!(log, "delegate.dispatched", 1, DelegateDispatched { attempt } => *attempt = 1);
        change!(log, "verdict.merged", 1, VerdictMerged { attempts } => *attempts = 1);
    }, &["log_attempt_number", "log_attempt_uncounted"]),
    ("an unread truth that is charged", run::unanswered, |log| {
        change!(log, "verdict.merged", 0, VerdictMerged { counted, attempts } => (*counted, *attempts) = (true, 1));
    }, &["log_attempt_overcounted"]),
    ("a total that jumps", run::twice, |log| {
        change!(log, "verdict.merged", 1, VerdictMerged { attempts } => *attempts = 3);
    }, &["log_attempts_differ"]),
    ("a verdict charged twice", run::twice, |log| {
        let behind = place(log, "verdict.merged", 0);
        copy(log, "verdict.merged", 0, behind);
        change!(log, "verdict.merged", 1, VerdictMerged { attempts } => *attempts = 2);
        change!(log, "verdict.merged", 2, VerdictMerged { attempts } => *attempts = 3);
    }, &["log_verdict_rerun", "log_verdict_without_claim"]),
    ("a delegate that is told another attempt", run::twice, |log| {
        change!(log, "delegate.dispatched", 1, DelegateDispatched { attempt } => *attempt = 1);
    }, &["log_attempt_number"]),
    ("fewer attempts allowed than were made", run::exhausted, |log| policy!(log, max_attempts = 2),
        &["log_retries_over"]),
    ("a budget of tokens that was used up before", run::twice, |log| policy!(log, max_tokens = Some(10)),
        &["log_budget_over"]),
    ("fewer tries allowed than were made", run::retried, |log| policy!(log, max_verify_tries = 1),
        &["log_tries_differ"]),
    ("a try that is not the next", run::retried, |log| {
        change!(log, "check.started", 2, CheckStarted { tries } => *tries = 3);
    }, &["log_tries_differ"]),
    ("an interruption that is not counted", run::interrupted, |log| {
        change!(log, "run.resumed", 1, RunResumed { interruptions } => *interruptions = 1);
    }, &["log_interruptions_differ"]),
    ("fewer interruptions allowed than happened", run::interrupted, |log| policy!(log, max_interruptions = 1),
        &["log_interruptions_over"]),
    ("more attempts allowed than anyone may", run::granted, |log| {
        change!(log, "run.answered", 0, Answered { answer } => *answer = Answer::Continue { attempts: 100 });
    }, &["log_grant_over"]),
    ("a run without the time it took", run::twice, |log| policy!(log, wall_ms = Some(45)),
        &["log_time_over"]),
    ("a wait that is longer than its check may", run::asked, |log| {
        change!(log, "check.awaits", 0, CheckAwaits { until_ms } => *until_ms += 1);
    }, &["log_time_over"]),

    ("a claim that nobody asked for", run::once, |log| remove(log, "delegate.dispatched", 0),
        &["log_commit_without_pass", "log_effect_unannounced"]),
    ("a finding before its check is started", run::once, |log| {
        let started = place(log, "check.started", 1);
        log.swap(started, started + 1);
    }, &["log_effect_unannounced", "log_effect_unfinished", "log_verdict_rerun"]),
    ("a reading that nobody asked for", run::once, |log| {
        copy(log, "world.observed", 1, 4);
    }, &["log_effect_unannounced"]),
    ("a hook that answers without being called", run::blocked, |log| remove(log, "hook.called", 0),
        &["log_effect_unannounced", "log_outcome_differs"]),
    ("a seal before its outcome", run::once, |log| remove(log, "outcome.decided", 0),
        &["log_effect_unannounced"]),
    ("a finding that was taken out", run::twice, |log| remove(log, "check.finished", 0),
        &["log_check_skipped", "log_effect_unfinished", "log_verdict_differs"]),
    ("a check that the run does not have", run::once, |log| {
        change!(log, "check.started", 1, CheckStarted { check } => *check = CheckIndex(4));
        change!(log, "check.finished", 0, CheckFinished { check } => *check = CheckIndex(4));
    }, &["log_check_skipped", "log_index_unknown", "log_pass_without_check", "log_commit_without_pass"]),
    ("a hook that the run does not have", run::blocked, |log| {
        change!(log, "hook.called", 0, HookCalled { hook } => *hook = HookIndex(4));
        change!(log, "hook.answered", 0, HookAnswered { hook } => *hook = HookIndex(4));
    }, &["log_index_unknown"]),
    ("a round that is left out", run::once, |log| {
        change!(log, "delegate.dispatched", 0, DelegateDispatched { turn } => *turn = SOME);
    }, &["log_claim_other_turn", "log_commit_without_pass", "log_turn_order"]),
    ("a claim for another round", run::once, |log| {
        let Event::RunOpened { run, .. } = log[0].event.clone() else { return };
        change!(log, "claim.received", 0, ClaimReceived { turn, submission, candidate } => {
            *turn = SOME;
            *submission = submission_id(&run, SOME, candidate);
        });
    }, &["log_claim_other_turn", "log_commit_without_pass", "log_verdict_other_claim"]),
    ("a second claim for a round", run::once, |log| {
        let behind = place(log, "claim.received", 0);
        copy(log, "claim.received", 0, behind);
    }, &["log_claim_repeated", "log_effect_unannounced"]),
    ("a submission under another name", run::once, |log| {
        let name: probity_core::SubmissionId = "s-1".parse().unwrap();
        change!(log, "claim.received", 0, ClaimReceived { submission } => *submission = name.clone());
        change!(log, "verdict.merged", 0, VerdictMerged { submission } => *submission = name);
    }, &["log_submission_differs"]),
    ("work that was undone", run::twice, |log| {
        change!(log, "claim.received", 1, ClaimReceived { work } => *work = 0);
    }, &["log_work_fell"]),
    ("a check that runs until it passes", run::twice, |log| {
        let verdict = place(log, "verdict.merged", 0);
        copy(log, "check.started", 1, verdict - 1);
        copy(log, "check.finished", 0, verdict);
        change!(log, "check.finished", 1, CheckFinished { finding } => pass(finding));
        log.truncate(verdict + 2);
        let (verdict, outcome) = (event(&mut run::once().log, "verdict.merged", 0).clone(), Outcome::Verified);
        let at_ms = log.last().unwrap().at_ms;
        let Event::VerdictMerged { code, .. } = verdict.clone() else { return };
        let ending = [verdict, Event::OutcomeDecided { outcome, code, waived: false }, Event::Sealed { outcome }];
        log.extend(ending.map(|event| Entry { at_ms, event }));
        let Event::ClaimReceived { candidate: of, submission: name, .. } = event(log, "claim.received", 0).clone() else { return };
        change!(log, "verdict.merged", 0, VerdictMerged { submission, candidate } => (*submission, *candidate) = (name, of));
    }, &["log_verdict_rerun"]),
    ("a check that runs on an answered claim", run::reused, |log| {
        let behind = place(log, "world.observed", 3);
        copy(log, "check.finished", 0, behind);
        copy(log, "check.started", 1, behind);
    }, &["log_verdict_rerun"]),
    ("a second red run until it fails", run::once, |log| {
        let red = place(log, "check.red", 0);
        copy(log, "check.red", 0, red);
        copy(log, "check.started", 0, red);
    }, &["log_effect_unfinished", "log_verdict_rerun"]),
    ("a human who is asked again", run::asked, |log| {
        let behind = place(log, "check.answered", 0);
        copy(log, "check.answered", 0, behind);
        copy(log, "check.awaits", 0, behind);
        let until = log[behind].at_ms + 10_000;
        change!(log, "check.awaits", 1, CheckAwaits { until_ms } => *until_ms = until);
    }, &["log_verdict_rerun"]),
    ("a hook that is asked again", run::hooked, |log| {
        let behind = place(log, "hook.answered", 0);
        copy(log, "hook.answered", 0, behind);
        copy(log, "hook.called", 0, behind);
    }, &["log_hook_rerun"]),
    ("a hook that was not asked", run::hooked, |log| {
        remove(log, "hook.answered", 0);
        remove(log, "hook.called", 0);
    }, &["log_hook_skipped"]),
    ("a rewrite behind a verdict", run::hooked, |log| {
        let Event::HookAnswered { decision: modify, .. } = event(log, "hook.answered", 0).clone() else { return };
        change!(log, "hook.answered", 2, HookAnswered { decision } => *decision = modify);
    }, &["log_rewrite_unfit"]),
    ("a rewrite beside a refusal", run::hooked, |log| {
        let last = log.iter().filter(|it| it.event.name() == "check.finished").count() - 1;
        let Event::CheckFinished { rewrite: to, .. } = event(log, "check.finished", last).clone() else { return };
        change!(log, "check.finished", 1, CheckFinished { rewrite } => *rewrite = to);
    }, &["log_rewrite_unfit"]),
    ("a hook that stops nothing", run::hooked, |log| {
        let Event::HookAnswered { decision: blocks, .. } = event(&mut run::blocked().log, "hook.answered", 0).clone() else { return };
        change!(log, "hook.answered", 0, HookAnswered { decision } => *decision = blocks);
    }, &["log_ending_ignored"]),

    ("a dropped red run", run::once, |log| {
        remove(log, "check.started", 0);
        remove(log, "check.red", 0);
        remove(log, "world.observed", 1);
    }, &["log_red_missing"]),
    ("a check that is said to tell apart", run::required, |log| {
        change!(log, "check.red", 0, CheckRed { discrimination } => *discrimination = Discrimination::Discriminating);
    }, &["log_red_differs"]),
    ("a red run that is switched off", run::once, |log| policy!(log, red_first = RedFirst::Off),
        &["log_red_unasked"]),
    ("a required red run that is only warned about", run::required, |log| policy!(log, red_first = RedFirst::Warn),
        &["log_verdict_differs", "log_commit_without_pass"]),

    ("a step that the ladder does not offer", run::fallen_back, |log| {
        change!(log, "degrade.chosen", 1, DegradeChosen { step } => *step = Step::SmallModel);
        change!(log, "delegate.dispatched", 0, DelegateDispatched { step } => *step = Some(Step::SmallModel));
    }, &["log_degrade_unfit", "log_terms_ignored"]),
    ("another delegate than the ladder chose", run::fallen_back, |log| {
        change!(log, "delegate.dispatched", 0, DelegateDispatched { step } => *step = None);
    }, &["log_degrade_unfit"]),
    ("an act that a rule forbids", run::fallen_back, |log| {
        change!(log, "run.opened", 0, RunOpened { terms } => terms.as_mut().unwrap().blocked = Some(code("over_limit")));
    }, &["log_terms_ignored"]),
    ("an act that nobody approved", run::fallen_back, |log| {
        remove(log, "run.answered", 0);
        remove(log, "run.escalated", 0);
        log.remove(place(log, "degrade.chosen", 0));
    }, &["log_terms_ignored"]),

    ("an answer about another claim", run::asked, |log| {
        change!(log, "check.answered", 1, CheckAnswered { submission } => *submission = "s-1".parse().unwrap());
    }, &["log_answer_other_claim"]),
    ("an answer that nobody asked for", run::asked, |log| remove(log, "check.awaits", 0),
        &["log_answer_unasked"]),
    ("a check that asks for a human who is none", run::asked, |log| {
        change!(log, "check.awaits", 0, CheckAwaits { check } => *check = CheckIndex(0));
    }, &["log_answer_unasked", "log_verdict_rerun"]),
    ("an answer after the wait", run::asked, |log| {
        change!(log, "check.awaits", 0, CheckAwaits { until_ms } => *until_ms -= 9_995);
    }, &["log_answer_late"]),
    ("a finding in the place of a human's", run::unanswered, |log| {
        change!(log, "check.finished", 1, CheckFinished { finding } => pass(finding));
    }, &["log_human_replaced", "log_judge_unseen", "log_verdict_differs"]),

    ("a swapped judge", run::tampered, |log| {
        let mut honest = run::once().log;
        let Event::VerdictMerged { judgement: pass, code: ok, .. } = event(&mut honest, "verdict.merged", 0).clone() else { return };
        change!(log, "verdict.merged", 0, VerdictMerged { judgement, code, drift } => (*judgement, *code, *drift) = (pass, ok, None));
        change!(log, "outcome.decided", 0, OutcomeDecided { outcome, code: word } => (*outcome, *word) = (Outcome::Verified, code("ok")));
        change!(log, "run.sealed", 0, Sealed { outcome } => *outcome = Outcome::Verified);
    }, &["log_commit_without_pass", "log_judge_swapped"]),
    ("a swapped judge that nobody looked at", run::once, |log| {
        change!(log, "check.finished", 0, CheckFinished { judge } => *judge = None);
    }, &["log_judge_unseen"]),
    ("a judge that was never swapped", run::tampered, |log| {
        let Event::WorldObserved { judge: sealed, .. } = event(log, "world.observed", 0).clone() else { return };
        change!(log, "check.finished", 0, CheckFinished { judge } => *judge = Some(sealed));
    }, &["log_verdict_differs"]),

    ("a finding that was turned", run::rejected, |log| {
        change!(log, "check.finished", 0, CheckFinished { finding } => pass(finding));
    }, &["log_verdict_differs"]),
    ("a verdict for another reason", run::rejected, |log| {
        change!(log, "verdict.merged", 0, VerdictMerged { code: word } => *word = code("other"));
        change!(log, "outcome.decided", 0, OutcomeDecided { code: word } => *word = code("other"));
    }, &["log_verdict_code"]),
    ("a pass of no check", run::required, |log| {
        change!(log, "verdict.merged", 0, VerdictMerged { judgement, counted, attempts } => (*judgement, *counted, *attempts) = (Judgement::Pass, true, 1));
    }, &["log_commit_without_pass", "log_pass_without_check"]),
    ("a check that was left out", run::once, |log| {
        remove(log, "check.finished", 0);
        log.remove(place(log, "check.started", 1));
    }, &["log_check_skipped", "log_commit_without_pass", "log_pass_without_check"]),
    ("a verdict on another candidate", run::once, |log| {
        let Event::RunOpened { request, .. } = log[0].event else { return };
        change!(log, "verdict.merged", 0, VerdictMerged { candidate } => *candidate = request);
    }, &["log_commit_without_pass", "log_verdict_other_claim"]),
    ("checks of no claim", run::once, |log| {
        remove(log, "claim.received", 0);
    }, &["log_commit_without_pass", "log_effect_unannounced", "log_verdict_without_claim"]),
    ("a milder drift", run::rejected, |log| {
        change!(log, "verdict.merged", 0, VerdictMerged { drift } => *drift = None);
    }, &["log_drift_differs"]),
    ("a worse drift", run::rejected, |log| {
        change!(log, "verdict.merged", 0, VerdictMerged { drift } => *drift = Some(Drift::Red));
    }, &["log_drift_differs"]),
    ("a repeat that is hidden", run::reused, |log| {
        change!(log, "verdict.merged", 1, VerdictMerged { repeat_of } => *repeat_of = None);
    }, &["log_repeat_differs"]),
    ("a claim that is checked anew where the log answers", run::twice, |log| {
        policy!(log, counting = Counting::by_candidate(3));
        let mut first = event(log, "claim.received", 0).clone();
        if let Event::ClaimReceived { turn, submission, candidate, .. } = &mut first {
            let Event::RunOpened { run, .. } = &log[0].event else { return };
            (*turn, *submission) = (turn.next(), submission_id(run, turn.next(), candidate));
        }
        *event(log, "claim.received", 1) = first.clone();
        let Event::ClaimReceived { submission: name, candidate: of, .. } = first else { return };
        change!(log, "verdict.merged", 1, VerdictMerged { submission, candidate } => (*submission, *candidate) = (name, of));
    }, &["log_commit_without_pass", "log_repeat_differs", "log_verdict_differs", "log_verdict_rerun"]),
];

fn all() -> impl Iterator<Item = &'static Forgery> {
    FORGERIES
        .iter()
        .chain(forged_end::FORGERIES)
        .chain(forged_wait::FORGERIES)
        .chain(forged_lease::FORGERIES)
}

/// Everything that is forged is found by the fold, and by the machine as well.
#[test]
fn every_forgery_is_found_under_its_own_code() {
    let mut wrong = Vec::new();
    for (name, run, forge, expected) in all() {
        let mut log = run().log;
        let honest = log.clone();
        forge(&mut log);
        assert_ne!(log, honest, "{name}: nothing was forged");
        let report = audit_open(&log);
        assert_eq!(report.verdict, Verdict::Invalid, "{name}");
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let (replay, found): (Vec<_>, Vec<_>) =
            codes(&report).into_iter().partition(|code| code.starts_with("log_replay"));
        let found: Vec<_> = found.into_iter().filter(|code| *code != "log_unsealed").collect();
        if found != expected {
            wrong.push(format!("{name}: {found:?}, not {expected:?} ({replay:?})"));
        }
        if replay.is_empty() && !forged_end::MACHINE_TAKES.contains(name) {
            wrong.push(format!("{name}: the machine takes it"));
        }
        if !replay.is_empty() && forged_end::MACHINE_TAKES.contains(name) {
            wrong.push(format!("{name}: the machine does not take it: {replay:?}"));
        }
        let is_placed = report.failures.iter().all(|failure| {
            failure.code == "log_content_unseen"
                || failure.place.line.is_some() && failure.place.span.is_some()
        });
        assert!(is_placed, "{name}: {:#?}", report.failures);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_of_meaning_is_broken_by_a_forgery() {
    let forged: BTreeSet<&str> = all().flat_map(|it| it.3).copied().collect();
    let of_meaning = ["linkage", "accounting", "judge", "verdicts", "outcome"];
    let rules = LOG_RULES.iter().filter(|rule| of_meaning.contains(&rule.check));
    let missing: Vec<&str> =
        rules.map(|rule| rule.code).filter(|code| !forged.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Who drives the run, and what others ask of it.
const FLEET: [&str; 4] = ["lease.taken", "run.released", "run.cancel_requested", "run.steered"];

/// A record that was dropped, repeated or moved by one place, in a chain that holds: that an
/// interruption or a note is gone, or a note more is there, is what no log can show, unless a budget
/// comes of it. The same is so of who drove the run and of what others asked of it, unless it is there
/// twice; only of what is said to the delegate there may be more.
#[test]
fn no_event_of_any_run_can_be_dropped_repeated_or_moved() {
    let (mut forged, mut found_by_fold) = (0_u32, 0_u32);
    for (name, run) in run::RUNS {
        let honest = run().log;
        for at in 1..honest.len() - 1 {
            let dropped = [&honest[..at], &honest[at + 1..]].concat();
            let repeated = [&honest[..=at], &honest[at..]].concat();
            let mut moved = honest.clone();
            if at + 2 < honest.len() {
                moved.swap(at, at + 1);
            }
            let kind = honest[at].event.name();
            let is_resumed = kind == "run.resumed";
            let is_note = kind == "delegate.noted";
            let is_beside = FLEET.contains(&kind);
            let mut logs = Vec::new();
            logs.extend((!is_note && kind != "run.steered").then_some(("repeated", repeated)));
            logs.extend((!is_resumed && !is_note && !is_beside).then_some(("dropped", dropped)));
            logs.extend((moved != honest).then_some(("moved", moved)));
            for (how, log) in logs {
                let report = audit_open(&log);
                let next = honest[at + 1].event.name();
                let is_loose =
                    is_resumed || next == "run.resumed" || is_beside || FLEET.contains(&next);
                let is_only_later = how == "moved" && is_loose;
                assert!(
                    report.verdict == Verdict::Invalid || is_only_later,
                    "{name}: `{kind}` {how}: {:#?}",
                    report.verdict
                );
                forged += 1;
                let is_of_fold = |code: &&str| !code.starts_with("log_replay");
                found_by_fold += u32::from(codes(&report).iter().any(is_of_fold));
            }
        }
    }
    // The fold does not follow every rule of the machine's own order, and finds nearly all alone.
    assert!(forged > 700 && found_by_fold * 100 > forged * 95, "{found_by_fold} of {forged}");
}
