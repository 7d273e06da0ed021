//! Ground truth that could not be read: again with backoff, inside the check's time and tries.

use probity_core::{
    CheckDecl, Drift, Effect, Handled, Input, Outcome, Phase, Policy, Stage, VerdictKind,
};

use crate::rig::{Rig, claim_check, fail, fault, inconclusive, pass, revise, verdict};

fn policy(max_verify_tries: u32, verify_backoff_ms: u64) -> Policy {
    Policy { max_verify_tries, verify_backoff_ms, ..Policy::default() }
}

fn checking(policy: Policy, timeouts_ms: &[u64]) -> Rig {
    let checks = timeouts_ms
        .iter()
        .enumerate()
        .map(|(n, timeout_ms)| CheckDecl {
            timeout_ms: *timeout_ms,
            ..claim_check(&format!("c{n}"))
        })
        .collect();
    let mut rig = Rig::open(policy, checks);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rig
}

/// The check that is asked for: which, which try, with how much time.
fn asked(rig: &Rig) -> (u32, u32, u64) {
    let [Effect::RunCheck { check, tries, timeout_ms, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    (check.0, tries, timeout_ms)
}

#[test]
fn the_wait_doubles_and_comes_off_the_time_of_the_check() {
    let mut rig = checking(policy(5, 100), &[10_000]);
    let mut spent_ms = 0;
    assert_eq!(asked(&rig), (0, 1, 10_000));
    for (tries, wait_ms) in [(2, 100), (3, 200), (4, 400), (5, 800)] {
        rig.wait(50).finish(inconclusive());
        assert_eq!(rig.machine.stage(), Stage::Settled);
        assert_eq!(rig.due, []);
        assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + wait_ms));
        assert_eq!(rig.timer(), Ok(Handled::Accepted));
        spent_ms += 50 + wait_ms;
        assert_eq!(asked(&rig), (0, tries, 10_000 - spent_ms));
    }
    rig.finish(inconclusive());
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "http_timeout"));
    assert_eq!(rig.machine.attempts(), 0);
    assert_eq!(rig.merged()[0].drift, Some(Drift::Red));
}

#[test]
fn the_wait_is_capped() {
    let mut rig = checking(policy(100, 60_000), &[3_600_000]);
    rig.finish(inconclusive());
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + Policy::MAX_BACKOFF_MS));
    let mut rig = checking(policy(100, 1), &[3_600_000]);
    for tries in 1..100 {
        rig.finish(inconclusive());
        let wait_ms = rig.machine.poll_timeout().unwrap() - rig.now_ms;
        assert_eq!(wait_ms, (1u64 << (tries - 1).min(20)).min(10_000), "after try {tries}");
        rig.timer().unwrap();
    }
    rig.finish(inconclusive());
    assert_eq!(rig.ended().0, Outcome::Inconclusive);
}

#[test]
fn a_try_that_would_start_at_the_end_of_the_time_is_not_made() {
    for (took_ms, retried) in [(799, true), (800, false), (801, false), (5_000, false)] {
        let mut rig = checking(policy(5, 200), &[1_000]);
        rig.elapsed_ms = 0;
        rig.wait(took_ms).finish(inconclusive());
        if retried {
            rig.timer().unwrap();
            assert_eq!(asked(&rig), (0, 2, 1));
        } else {
            assert_eq!(rig.ended().0, Outcome::Inconclusive);
        }
    }
}

/// A try in less time than the last one took would only be cut off.
#[test]
fn a_try_with_less_time_than_the_last_one_took_is_not_made() {
    // The next try is due 200 ms behind the last one.
    for (took_ms, left_ms) in [(399, Some(401)), (400, None), (401, None), (900, None)] {
        let mut rig = checking(policy(5, 200), &[1_000]);
        rig.elapsed_ms = took_ms;
        rig.wait(took_ms).finish(inconclusive());
        match left_ms {
            Some(left_ms) => {
                rig.timer().unwrap();
                assert_eq!(asked(&rig), (0, 2, left_ms));
            }
            None => {
                assert_eq!(rig.ended(), (Outcome::Inconclusive, "http_timeout"));
                assert_eq!(rig.now_ms, 1_000 + took_ms, "nothing was waited for");
            }
        }
    }
    // It is the last try that counts, not the first.
    let mut rig = checking(policy(5, 200), &[2_000]);
    rig.elapsed_ms = 700;
    rig.wait(700).finish(inconclusive());
    rig.timer().unwrap();
    rig.elapsed_ms = 10;
    rig.wait(10).finish(inconclusive());
    rig.timer().unwrap();
    assert_eq!(asked(&rig), (0, 3, 2_000 - 700 - 200 - 10 - 400));
}

#[test]
fn one_try_means_one() {
    let mut rig = checking(policy(1, 1), &[10_000]);
    rig.finish(inconclusive());
    assert_eq!(rig.ended().0, Outcome::Inconclusive);
}

#[test]
fn a_later_try_decides() {
    for (finding, outcome) in
        [(pass(), Outcome::Verified), (fail(), Outcome::Rejected), (fault(), Outcome::Faulted)]
    {
        let mut rig = checking(policy(3, 10), &[10_000]);
        rig.finish(inconclusive());
        rig.timer().unwrap();
        rig.finish(finding);
        assert_eq!(rig.ended().0, outcome);
    }
    let mut rig = checking(policy(3, 10), &[10_000]);
    rig.finish(inconclusive());
    rig.timer().unwrap();
    rig.finish(revise());
    assert_eq!(rig.verdicts(), ["revise counted"]);
}

#[test]
fn what_decides_anyway_is_not_waited_for() {
    for finding in [revise(), fail(), fault()] {
        for findings in [[inconclusive(), finding.clone()], [finding.clone(), inconclusive()]] {
            let mut rig = checking(policy(5, 100), &[10_000, 10_000]);
            for finding in findings {
                rig.finish(finding);
            }
            assert_eq!(rig.merged().len(), 1, "{finding:?}");
            assert_ne!(rig.verdicts(), ["inconclusive"]);
        }
    }
}

#[test]
fn only_the_inconclusive_check_runs_again_and_the_one_that_is_due_first() {
    let mut rig = checking(policy(5, 100), &[10_000, 10_000, 10_000]);
    rig.finish(inconclusive()).wait(30).finish(pass()).wait(30).finish(inconclusive());
    // Check 0 came back 60 ms before check 2.
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 40));
    rig.timer().unwrap();
    assert_eq!(asked(&rig).0, 0);
    rig.finish(pass());
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 60));
    rig.timer().unwrap();
    assert_eq!(asked(&rig), (2, 2, 10_000 - 130));
    rig.finish(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn a_wait_that_is_over_when_the_others_come_back_is_not_waited_again() {
    let mut rig = checking(policy(5, 100), &[10_000, 10_000]);
    rig.finish(inconclusive()).wait(500).finish(pass());
    assert_eq!(asked(&rig), (0, 2, 9_500));
}

#[test]
fn drift_is_yellow_unless_it_was_a_timeout() {
    let unreachable = verdict(VerdictKind::Inconclusive, "connection_refused");
    let mut rig = checking(policy(1, 1), &[10]);
    rig.finish(unreachable);
    assert_eq!(rig.merged()[0].drift, Some(Drift::Yellow));
}

#[test]
fn an_interruption_while_waiting_goes_on_waiting() {
    let mut rig = checking(policy(5, 1_000), &[10_000]);
    rig.finish(inconclusive());
    let due_ms = rig.machine.poll_timeout();
    rig.wait(10).crash();
    assert_eq!(rig.machine.stage(), Stage::Settled);
    assert_eq!(rig.machine.poll_timeout(), due_ms);
    rig.timer().unwrap();
    let [Effect::RunCheck { tries: 2, is_replay: false, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
}

#[test]
fn an_interruption_longer_than_the_check_costs_it_no_time() {
    let mut rig = checking(policy(5, 100), &[1_000]);
    rig.finish(inconclusive());
    rig.wait(3_600_000).crash();
    // The second try was due long ago; it starts at once and has the whole time.
    assert_eq!(asked(&rig), (0, 2, 1_000));
}

#[test]
fn a_check_in_flight_is_run_again_with_the_same_name_and_says_so() {
    let mut rig = checking(policy(5, 100), &[1_000]);
    let [Effect::RunCheck { submission: Some(before), is_replay: false, .. }] = &rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    let before = before.clone();
    for _ in 0..2 {
        rig.wait(5_000).crash();
        let [Effect::RunCheck { submission, tries, is_replay, timeout_ms, .. }] = &rig.due[..]
        else {
            panic!("{:?}", rig.due);
        };
        assert_eq!(submission.as_ref(), Some(&before));
        assert_eq!((*tries, *is_replay, *timeout_ms), (1, true, 1_000));
    }
    rig.finish(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    assert_eq!(rig.machine.interruptions(), 2);
}

#[test]
fn a_cancel_ends_the_wait() {
    let mut rig = checking(policy(5, 100), &[1_000]);
    rig.finish(inconclusive()).cancel();
    assert_eq!(rig.ended(), (Outcome::Cancelled, "user"));
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
}
