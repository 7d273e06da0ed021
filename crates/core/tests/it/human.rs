//! Checks that are questions to a named human: when they are asked, what an answer comes to, and whose
//! time the waiting is.

use probity_core::{
    CheckDecl, CheckIndex, Delegation, Drift, Effect, Event, Finding, Handled, Input, Outcome,
    Phase, Policy, Refusal, Stage, VerdictKind,
};

use crate::rig::{
    JUDGE, Rig, TOUCHED, claim_check, d, fail, fault, human_check, inconclusive, pass, revise,
    submission, turn, verdict,
};

const HOUR_MS: u64 = 3_600_000;

fn human(id: &str) -> CheckDecl {
    CheckDecl { timeout_ms: HOUR_MS, ..human_check(id) }
}

/// One other check, then as many humans, with a claim at its first check.
fn checking(policy: Policy, humans: usize) -> Rig {
    let mut checks = vec![claim_check("c0")];
    checks.extend((1..=humans).map(|n| human(&format!("kim-{n}"))));
    let mut rig = Rig::open(policy, checks);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rig
}

/// At the first human.
fn asked(policy: Policy, humans: usize) -> Rig {
    let mut rig = checking(policy, humans);
    rig.finish(pass());
    let (check, until_ms) = (CheckIndex(1), rig.now_ms + HOUR_MS);
    assert_eq!(rig.machine.stage(), Stage::Awaiting { check, until_ms });
    assert_eq!(rig.due, [Effect::Ask { check, until_ms }]);
    rig
}

fn was_asked(rig: &Rig) -> bool {
    rig.log.iter().any(|entry| matches!(entry.event, Event::CheckAwaits { .. }))
}

#[test]
fn a_human_is_asked_last_and_only_about_what_nothing_else_refuses() {
    let policy = Policy { max_verify_tries: 1, ..Policy::default() };
    for (finding, is_asked) in [
        (pass(), true),
        (Finding::NotApplicable, true),
        (revise(), false),
        (fail(), false),
        (inconclusive(), false),
        (fault(), false),
    ] {
        let mut rig = checking(policy.clone(), 1);
        assert!(!was_asked(&rig));
        rig.finish(finding.clone());
        assert_eq!(was_asked(&rig), is_asked, "{finding:?}");
        let is_waiting = matches!(rig.machine.stage(), Stage::Awaiting { .. });
        assert_eq!(is_waiting, is_asked, "{finding:?}");
    }
}

/// Nor while another check may still come to something.
#[test]
fn a_human_is_not_asked_before_the_last_try_of_another_check() {
    let mut rig = checking(Policy::default(), 1);
    rig.finish(inconclusive());
    assert_eq!(rig.machine.stage(), Stage::Settled);
    rig.timer().unwrap();
    rig.finish(pass());
    assert!(matches!(rig.machine.stage(), Stage::Awaiting { .. }));
}

#[test]
fn a_human_alone_is_a_check() {
    let mut rig = Rig::open(Policy::default(), vec![human("kim")]);
    rig.observe(Phase::Before);
    assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(0) }, "no red run");
    rig.claim(1).observe(Phase::After).human(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn what_an_answer_comes_to() {
    for (finding, outcome, word, attempts) in [
        (pass(), Some(Outcome::Verified), "ok", 1),
        (fail(), Some(Outcome::Rejected), "forbidden", 1),
        (revise(), None, "file_missing", 1),
        (inconclusive(), Some(Outcome::Inconclusive), "http_timeout", 0),
        (fault(), Some(Outcome::Faulted), "script_raised", 0),
        // The other check passed.
        (Finding::NotApplicable, Some(Outcome::Verified), "ok", 1),
    ] {
        let mut rig = asked(Policy::default(), 1);
        rig.wait(1_000).human(finding.clone());
        match outcome {
            Some(outcome) => assert_eq!(rig.ended(), (outcome, word)),
            None => {
                let [Effect::Dispatch { turn: of, correction, .. }] = rig.due[..] else {
                    panic!("{:?}", rig.due);
                };
                assert_eq!(
                    (of, correction),
                    (turn(1), Some(turn(0))),
                    "told like any other reason"
                );
            }
        }
        assert_eq!(rig.machine.attempts(), attempts, "{finding:?}");
        assert_eq!(rig.merged()[0].code, word);
        let judged = &rig.machine.judged()[0];
        assert_eq!(judged.findings, [Some(pass()), Some(finding)]);
        assert_eq!(judged.elapsed_ms[1], 1_000);
    }
}

/// A human who says that they cannot tell is not run again like a check whose network is down.
#[test]
fn a_human_who_cannot_tell_is_asked_once() {
    let mut rig = asked(Policy { max_verify_tries: 100, ..Policy::default() }, 1);
    rig.human(verdict(VerdictKind::Inconclusive, "unsure"));
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "unsure"));
    assert_eq!(rig.merged()[0].drift, Some(Drift::Yellow));
}

#[test]
fn each_round_asks_anew() {
    let mut rig = asked(Policy::default(), 1);
    rig.human(revise()).turn(2, &[pass()]).human(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    let asks = rig.log.iter().filter(|entry| matches!(entry.event, Event::CheckAwaits { .. }));
    assert_eq!(asks.count(), 2);
}

#[test]
fn a_human_who_does_not_answer_leaves_it_inconclusive() {
    let mut rig = asked(Policy::default(), 2);
    let until_ms = rig.now_ms + HOUR_MS;
    assert_eq!(rig.machine.poll_timeout(), Some(until_ms));
    rig.wait(HOUR_MS - 1);
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    rig.wait(1);
    let late = rig.feed(rig.said(1, pass()));
    assert!(matches!(late, Err(Refusal::NotNow { .. })), "{late:?}");
    rig.ok(Input::Timer);
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "human_timeout"));
    let merged = &rig.merged()[0];
    assert_eq!((merged.drift, merged.counted), (Some(Drift::Red), false));
    let judged = &rig.machine.judged()[0];
    assert_eq!(judged.findings[2], None, "the second human was not troubled");
    assert_eq!(judged.elapsed_ms[1], HOUR_MS);
}

#[test]
fn two_humans_are_asked_one_after_the_other() {
    let mut rig = asked(Policy::default(), 2);
    rig.wait(50).human(pass());
    let (check, until_ms) = (CheckIndex(2), rig.now_ms + HOUR_MS);
    assert_eq!(rig.due, [Effect::Ask { check, until_ms }]);
    let first = rig.feed(rig.said(1, pass()));
    assert_eq!(first, Err(Refusal::WrongCheck { expected: 2, got: 1 }));
    let mut refused = rig.clone();
    rig.human(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    refused.human(fail());
    assert_eq!(refused.ended(), (Outcome::Rejected, "forbidden"));
    for finding in [revise(), fail(), inconclusive(), fault()] {
        let mut rig = asked(Policy::default(), 2);
        rig.human(finding);
        assert_eq!(rig.machine.judged()[0].findings[2], None, "the second was not troubled");
    }
}

/// The run is taken up in the middle of the waiting: the human is asked again, nobody is charged, and
/// the time goes on as it was.
#[test]
fn a_crash_while_waiting_asks_again_and_counts_nothing() {
    let mut rig = asked(Policy { max_interruptions: 0, ..Policy::default() }, 1);
    let (due, held) = (rig.due.clone(), rig.log.len());
    for _ in 0..3 {
        rig.wait(1_000);
        rig.machine = Delegation::replay(&rig.log).unwrap();
        assert_eq!(rig.feed(Input::Resume), Ok(Handled::Unchanged));
        assert_eq!((&rig.due, rig.log.len()), (&due, held));
    }
    assert_eq!(rig.machine.interruptions(), 0);
    rig.human(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    assert_eq!(rig.machine.judged()[0].elapsed_ms[1], 3_000);
}

#[test]
fn a_run_that_is_taken_up_too_late_does_not_ask_again() {
    let mut rig = asked(Policy::default(), 1);
    rig.wait(HOUR_MS).crash();
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "human_timeout"));
}

#[test]
fn the_time_of_the_waiting_is_not_the_runs() {
    let policy = Policy { wall_ms: Some(10_000), ..Policy::default() };
    let mut rig = checking(policy, 2);
    rig.wait(4_000).finish(pass());
    let until_ms = rig.now_ms + HOUR_MS;
    assert_eq!(rig.machine.poll_timeout(), Some(until_ms), "the run's own time stands still");
    rig.wait(HOUR_MS / 2);
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    rig.human(pass()).wait(HOUR_MS / 2).human(revise());
    let [Effect::Dispatch { timeout_ms, .. }] = rig.due[..] else { panic!("{:?}", rig.due) };
    assert_eq!(timeout_ms, Some(6_000), "4 s were used before the first human was asked");
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 6_000));
}

/// Where the time is over, a human is not asked either.
#[test]
fn behind_the_end_of_the_time_no_human_is_asked() {
    let policy = Policy { wall_ms: Some(10_000), ..Policy::default() };
    let mut rig = checking(policy, 1);
    rig.wait(10_000).finish(pass());
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "wall_timeout"));
    assert!(!was_asked(&rig));
}

#[test]
fn a_cancel_reaches_a_run_that_waits_for_a_human() {
    let mut rig = asked(Policy::default(), 1);
    rig.cancel();
    assert_eq!(rig.ended(), (Outcome::Cancelled, "user"));
    rig.feed(rig.said(1, pass())).unwrap_err();
}

/// An answer is a blob with a name in it, and it stands in the record.
#[test]
fn who_answered_stands_in_the_record() {
    let mut rig = asked(Policy::default(), 1);
    rig.human(pass());
    let answered = rig.log.iter().find_map(|entry| match &entry.event {
        Event::CheckAnswered { check, submission, finding, by, judge } => {
            Some((*check, submission.clone(), finding.clone(), *by, *judge))
        }
        _ => None,
    });
    let expected = (CheckIndex(1), submission(turn(0)), pass(), d(76), d(JUDGE));
    assert_eq!(answered, Some(expected));
}

/// What was said of a claim that was sent back is not said of the one that came after it.
#[test]
fn an_answer_is_about_the_claim_that_was_asked_about() {
    let mut rig = asked(Policy::default(), 1);
    let about_first = rig.said(1, pass());
    let asked_about = |rig: &Rig| match &rig.log.last().unwrap().event {
        Event::CheckAwaits { submission, .. } => submission.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(asked_about(&rig), submission(turn(0)));
    rig.human(revise()).claim(2).observe(Phase::After).finish(pass());
    let (expected, got) = (submission(turn(1)), submission(turn(0)));
    assert_eq!((asked_about(&rig), rig.machine.submission()), (expected.clone(), Some(&expected)));
    assert_eq!(rig.feed(about_first), Err(Refusal::WrongSubmission { expected, got }));
    rig.human(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

/// A human may take days, and somebody may touch what judges meanwhile.
#[test]
fn a_judge_that_was_touched_while_a_human_thought_outweighs_the_answer() {
    for finding in [pass(), revise(), fail(), inconclusive()] {
        for crashes in [false, true] {
            let mut rig = asked(Policy::default(), 2);
            rig.judge = TOUCHED;
            if crashes {
                rig.machine = Delegation::replay(&rig.log).unwrap();
            }
            rig.human(finding.clone());
            assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"), "{finding:?}");
            assert_eq!(rig.machine.judged()[0].findings[2], None, "nobody else is asked");
        }
    }
}
