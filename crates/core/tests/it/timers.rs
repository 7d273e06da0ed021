//! The clock: when the machine wants to be woken, and what a wake-up too early or too late does.

use probity_core::{Effect, Handled, Input, Outcome, Phase, Policy, Stage};

use crate::rig::{Rig, claim_check, fail, inconclusive, pass, revise, world_check};

const WALL_MS: u64 = 60_000;
/// The rig opens runs at 1 s.
const DEADLINE_MS: u64 = 1_000 + WALL_MS;

fn policy() -> Policy {
    Policy {
        wall_ms: Some(WALL_MS),
        on_fail: probity_core::OnFailure::Escalate,
        ..Policy::default()
    }
}

/// A run in each stage that waits for something, with what its wall time ends as.
fn stages() -> Vec<(Rig, Option<(Outcome, &'static str)>)> {
    let exhausted = Some((Outcome::Exhausted, "budget_wall"));
    let inconclusive_end = Some((Outcome::Inconclusive, "wall_timeout"));
    let opened = Rig::open(policy(), vec![world_check("a"), claim_check("b")]);
    let mut red = opened.clone();
    red.observe(Phase::Before);
    let mut delegated = red.clone();
    delegated.finish(revise());
    let mut claimed = delegated.clone();
    claimed.claim(1);
    let mut checking = claimed.clone();
    checking.observe(Phase::After);
    let mut again = checking.clone();
    again.finish(revise()).finish(pass());
    let mut waiting = checking.clone();
    waiting.finish(pass()).finish(inconclusive());
    let mut escalated = checking.clone();
    escalated.finish(pass()).finish(fail());
    let mut decided = checking.clone();
    decided.finish(pass()).finish(pass());
    let mut sealed = decided.clone();
    sealed.ok(Input::Sealed);
    vec![
        (opened, exhausted),
        (red, exhausted),
        (delegated, exhausted),
        (again, exhausted),
        (claimed, inconclusive_end),
        (checking, inconclusive_end),
        (waiting, inconclusive_end),
        (escalated, None),
        (decided, None),
        (sealed, None),
    ]
}

#[test]
fn the_wall_time_of_a_run_ends_it_in_every_stage_to_the_millisecond() {
    for (rig, expected) in stages() {
        let stage = rig.machine.stage();
        let mut early = rig.clone();
        early.now_ms = DEADLINE_MS - 1;
        if stage != Stage::Settled {
            assert_eq!(early.feed(Input::Timer), Ok(Handled::Unchanged), "{stage:?}");
            assert_eq!(rig.machine.poll_timeout(), expected.map(|_| DEADLINE_MS), "{stage:?}");
        }
        for late_ms in [0, 1, 1_000_000] {
            let mut late = rig.clone();
            late.now_ms = DEADLINE_MS + late_ms;
            match expected {
                Some(end) => {
                    assert_eq!(late.feed(Input::Timer), Ok(Handled::Accepted), "{stage:?}");
                    assert_eq!(late.ended(), end, "{stage:?}");
                    assert_eq!(late.machine.ending().unwrap().at_ms, DEADLINE_MS + late_ms);
                }
                None => assert_eq!(late.feed(Input::Timer), Ok(Handled::Unchanged), "{stage:?}"),
            }
        }
    }
}

#[test]
fn a_cancel_ends_the_run_in_every_stage_that_is_not_the_end() {
    for (mut rig, _) in stages() {
        let stage = rig.machine.stage();
        match stage {
            Stage::Decided { .. } | Stage::Sealed { .. } => {
                rig.feed(Input::Cancel { code: crate::rig::code("user") }).unwrap_err();
            }
            _ => {
                rig.cancel();
                assert_eq!(rig.ended(), (Outcome::Cancelled, "user"), "{stage:?}");
                assert_eq!(rig.machine.poll_timeout(), None);
            }
        }
    }
}

#[test]
fn a_timer_before_it_is_due_changes_nothing() {
    for (rig, _) in stages() {
        let due_ms = rig.machine.poll_timeout().unwrap_or(u64::MAX);
        for now_ms in [0, rig.now_ms, due_ms - 1] {
            let mut rig = rig.clone();
            rig.now_ms = now_ms;
            // The rig checks that the value is the same afterwards.
            assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
            assert_eq!(rig.due, []);
        }
    }
}

#[test]
fn the_timeout_that_is_named_is_the_one_that_does_something() {
    for (mut rig, _) in stages() {
        let Some(due_ms) = rig.machine.poll_timeout() else {
            continue;
        };
        rig.now_ms = due_ms;
        assert_eq!(rig.feed(Input::Timer), Ok(Handled::Accepted));
    }
}

#[test]
fn without_a_wall_time_only_a_retry_has_a_timer() {
    let policy = Policy { wall_ms: None, ..policy() };
    let mut rig = Rig::open(policy, vec![claim_check("a")]);
    assert_eq!(rig.machine.poll_timeout(), None);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    assert_eq!(rig.machine.poll_timeout(), None);
    rig.finish(inconclusive());
    assert_eq!(rig.machine.poll_timeout(), Some(1_000 + 200));
}

#[test]
fn the_end_of_the_run_comes_before_a_retry_that_lies_behind_it() {
    let policy = Policy { wall_ms: Some(100), verify_backoff_ms: 1_000, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.turn(1, &[inconclusive()]);
    assert_eq!(rig.machine.poll_timeout(), Some(1_100));
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "wall_timeout"));
}

#[test]
fn work_is_given_no_more_time_than_the_run_has_left() {
    let policy = Policy { wall_ms: Some(5_000), ..Policy::default() };
    let mut rig = Rig::open(policy, vec![world_check("a")]);
    rig.wait(1_000).observe(Phase::Before);
    let [Effect::RunCheck { timeout_ms: 4_000, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    rig.wait(1_000).finish(revise());
    let [Effect::Dispatch { timeout_ms: Some(3_000), .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    rig.wait(2_000).claim(1).observe(Phase::After);
    let [Effect::RunCheck { timeout_ms: 1_000, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
}

#[test]
fn work_asked_for_after_the_end_gets_one_millisecond_and_the_timer_is_due() {
    let mut rig = Rig::open(policy(), vec![claim_check("a")]);
    rig.observe(Phase::Before).claim(1);
    rig.now_ms = DEADLINE_MS + 10;
    rig.observe(Phase::After);
    let [Effect::RunCheck { timeout_ms: 1, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    assert!(rig.machine.poll_timeout().unwrap() <= rig.now_ms);
    rig.feed(Input::Timer).unwrap();
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "wall_timeout"));
}

#[test]
fn a_clock_that_is_set_back_does_not_take_the_run_with_it() {
    let mut rig = Rig::delegated(policy(), 1);
    rig.now_ms = 40_000;
    rig.claim(1);
    rig.now_ms = 2_000;
    rig.observe(Phase::After).finish(pass());
    assert_eq!(rig.machine.now_ms(), 40_000);
    let times: Vec<_> = rig.log.iter().map(|entry| entry.at_ms).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn the_closing_entry_has_the_time_of_the_decision() {
    let mut rig = Rig::delegated(policy(), 1);
    rig.turn(1, &[pass()]);
    let decided_ms = rig.now_ms;
    rig.wait(5_000).ok(Input::Sealed);
    assert_eq!(rig.log.last().unwrap().at_ms, decided_ms);
}

#[test]
fn time_at_the_end_of_its_range_does_not_wrap() {
    let mut rig = Rig::delegated(policy(), 1);
    rig.now_ms = u64::MAX;
    rig.claim(1).observe(Phase::After).finish(inconclusive());
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "http_timeout"));
}
