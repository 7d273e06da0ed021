//! The clock: when the machine wants to be woken, and what a wake-up too early or too late does.

use probity_core::{
    Charter, CheckIndex, Drift, Effect, Event, Finding, Handled, HookDecision, HookPoint, Input,
    OnFailure, Outcome, Phase, Policy, Stage, VerdictKind,
};

use crate::rig::{
    Rig, claim_check, d, fail, fault, hook, inconclusive, pass, revise, verdict, world_check,
};

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
    let red_done = delegated.clone();
    delegated.observe(Phase::Before);
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
        (red_done, exhausted),
        (delegated, exhausted),
        (again, exhausted),
        (claimed, inconclusive_end),
        (checking, inconclusive_end),
        // What is known decides: the check said itself why it could not tell.
        (waiting, Some((Outcome::Inconclusive, "http_timeout"))),
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
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "http_timeout"));
    assert_eq!(rig.verdicts(), ["inconclusive"]);
}

#[test]
fn work_is_given_no_more_time_than_the_run_has_left() {
    let policy = Policy { wall_ms: Some(5_000), ..Policy::default() };
    let mut rig = Rig::open(policy, vec![world_check("a")]);
    rig.wait(1_000).observe(Phase::Before);
    let [Effect::RunCheck { timeout_ms: 4_000, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    rig.wait(1_000).finish(revise()).observe(Phase::Before);
    let [Effect::Dispatch { timeout_ms: Some(3_000), .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    rig.wait(2_000).claim(1).observe(Phase::After);
    let [Effect::RunCheck { timeout_ms: 1_000, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
}

#[test]
fn a_check_taken_up_after_the_end_gets_one_millisecond_and_the_timer_is_due() {
    let mut rig = Rig::open(policy(), vec![claim_check("a")]);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rig.now_ms = DEADLINE_MS + 10;
    rig.crash();
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
    rig.claim(1);
    rig.now_ms = u64::MAX;
    rig.observe(Phase::After);
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "wall_timeout"));
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.now_ms = u64::MAX;
    rig.claim(1).observe(Phase::After).finish(inconclusive());
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "http_timeout"));
}

/// Three checks of the claim, one try each; the first said `finding`, the second is in flight.
fn second_of_three(finding: Finding) -> Rig {
    let policy = Policy { wall_ms: Some(WALL_MS), max_verify_tries: 1, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 3);
    rig.claim(1).observe(Phase::After).wait(30).finish(finding);
    rig
}

fn wall_timeout() -> Finding {
    verdict(VerdictKind::Inconclusive, "wall_timeout")
}

/// What a check had found when the time ended, how the run ends, and the code of the verdict.
fn known_by_then() -> [(Finding, Outcome, &'static str, &'static str); 6] {
    use Outcome::{Exhausted, Faulted, Inconclusive, Rejected};
    [
        (fault(), Faulted, "script_raised", "script_raised"),
        (fail(), Rejected, "forbidden", "forbidden"),
        (revise(), Exhausted, "budget_wall", "file_missing"),
        (inconclusive(), Inconclusive, "http_timeout", "http_timeout"),
        (pass(), Inconclusive, "wall_timeout", "wall_timeout"),
        (Finding::NotApplicable, Inconclusive, "wall_timeout", "wall_timeout"),
    ]
}

#[test]
fn what_is_known_when_the_time_ends_decides_and_the_rest_is_inconclusive() {
    for (finding, outcome, code, verdict_code) in known_by_then() {
        let mut rig = second_of_three(finding.clone());
        let held = rig.log.len();
        rig.timer().unwrap();
        assert_eq!(rig.ended(), (outcome, code), "{finding:?}");
        let events: Vec<_> = rig.log[held..].iter().map(|entry| entry.event.name()).collect();
        assert_eq!(events, ["check.finished", "verdict.merged", "outcome.decided"]);
        let cut_off = Event::CheckFinished {
            check: CheckIndex(1),
            finding: wall_timeout(),
            judge: None,
            elapsed_ms: WALL_MS - 30,
            rewrite: None,
        };
        assert_eq!(rig.log[held].event, cut_off);
        assert_eq!(rig.merged()[0].code, verdict_code);
        let kept = [Some(finding), Some(wall_timeout()), None];
        assert_eq!(rig.machine.judged()[0].findings, kept);
    }
}

#[test]
fn a_check_that_comes_back_behind_the_end_is_the_last_one() {
    for (finding, outcome, code, verdict_code) in known_by_then() {
        for late_ms in [0, 1, 1_000_000] {
            let mut rig = second_of_three(pass());
            rig.now_ms = DEADLINE_MS + late_ms;
            rig.finish(finding.clone());
            assert_eq!(rig.ended(), (outcome, code), "{finding:?}");
            assert_eq!(rig.merged()[0].code, verdict_code);
            // What shuts the gate is kept; what would open it came just in time, or not.
            let opens = matches!(finding.verdict(), Some(VerdictKind::Pass))
                || finding == Finding::NotApplicable;
            let kept = if opens && late_ms > 0 { wall_timeout() } else { finding.clone() };
            assert_eq!(rig.machine.judged()[0].findings, [Some(pass()), Some(kept), None]);
        }
        let mut rig = second_of_three(pass());
        rig.now_ms = DEADLINE_MS - 1;
        rig.finish(finding);
        assert!(matches!(rig.machine.stage(), Stage::Checking { check: CheckIndex(2), .. }));
    }
}

/// A driver that was suspended hears of the end and of the check at once. The end came first.
#[test]
fn a_pass_of_the_last_check_is_one_until_the_time_is_over() {
    for (late_ms, expected) in [
        (0, (Outcome::Verified, "ok")),
        (1, (Outcome::Inconclusive, "wall_timeout")),
        (1_000_000, (Outcome::Inconclusive, "wall_timeout")),
    ] {
        for crashes in [false, true] {
            let mut rig = second_of_three(pass());
            rig.finish(pass());
            if crashes {
                rig.crash();
            }
            rig.now_ms = DEADLINE_MS + late_ms;
            rig.finish(pass());
            assert_eq!(rig.ended(), expected, "{late_ms} ms late");
        }
    }
}

#[test]
fn a_late_pass_beside_a_touched_judge_is_no_mere_timeout() {
    let mut rig = second_of_three(pass());
    rig.finish(pass());
    (rig.now_ms, rig.judge) = (DEADLINE_MS + 1, crate::rig::TOUCHED);
    rig.finish(pass());
    assert_eq!(rig.merged()[0].code, "judge_tampered");
}

/// What comes behind the end of the time is what the timer would have found, in every way a run may
/// go on there.
#[test]
fn a_claim_behind_the_end_is_not_taken() {
    for on_exhausted in [OnFailure::Reject, OnFailure::Escalate] {
        for (late_ms, is_taken) in [(0, true), (1, false), (1_000_000, false)] {
            for crashes in [false, true] {
                let policy = Policy { on_exhausted, ..policy() };
                let mut rig = Rig::delegated(policy, 1);
                if crashes {
                    rig.crash();
                }
                let mut timed = rig.clone();
                rig.now_ms = DEADLINE_MS + late_ms;
                timed.now_ms = rig.now_ms;
                rig.claim(1);
                assert_eq!(rig.machine.stage() == Stage::Claimed, is_taken, "{late_ms} ms late");
                if !is_taken {
                    timed.ok(Input::Timer);
                    assert_eq!(rig.log, timed.log);
                }
            }
        }
    }
}

/// A hook that lets the claim through must do so in time; one that stops it may be late.
#[test]
fn a_hook_that_allows_behind_the_end_lets_nothing_through() {
    let modify = HookDecision::Modify { to: d(70), delta: d(71) };
    let block = HookDecision::Block { reason: d(72) };
    for (decision, in_time, late) in [
        (HookDecision::Allow, (Outcome::Verified, "ok"), "wall_timeout"),
        (HookDecision::NotApplicable, (Outcome::Verified, "ok"), "wall_timeout"),
        (modify, (Outcome::Verified, "ok"), "wall_timeout"),
        (block, (Outcome::Rejected, "hook_blocked"), "hook_blocked"),
    ] {
        for late_ms in [0, 1] {
            let charter = Charter {
                hooks: vec![hook("post", HookPoint::DelegationPost)],
                ..Charter::new(policy(), vec![claim_check("a")])
            };
            let mut rig = Rig::of(charter);
            rig.observe(Phase::Before).claim(1).observe(Phase::After).finish(pass());
            rig.now_ms = DEADLINE_MS + late_ms;
            rig.hook(decision.clone());
            let expected = if late_ms == 0 { in_time.1 } else { late };
            assert_eq!(rig.ended().1, expected, "{decision:?}");
            assert_eq!(rig.ended().0.delivers(), late_ms == 0 && in_time.0.delivers());
        }
    }
}

#[test]
fn a_reading_behind_the_end_starts_no_check() {
    let mut rig = Rig::delegated(policy(), 2);
    rig.claim(1);
    rig.now_ms = DEADLINE_MS;
    rig.observe(Phase::After);
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "wall_timeout"));
    assert_eq!(rig.machine.judged()[0].findings, [None, None]);
    assert_eq!(rig.merged()[0].drift, Some(Drift::Red));
    assert_eq!(rig.machine.attempts(), 0);
}

#[test]
fn a_touched_judge_outweighs_the_end_of_the_time() {
    let mut rig = Rig::delegated(policy(), 2);
    rig.judge = crate::rig::TOUCHED;
    rig.claim(1);
    rig.now_ms = DEADLINE_MS;
    rig.observe(Phase::After);
    assert_eq!(rig.merged()[0].code, "judge_tampered");
}

#[test]
fn nothing_is_started_before_the_delegate_behind_the_end() {
    let opened = Rig::open(policy(), vec![world_check("a"), world_check("b")]);
    let mut red = opened.clone();
    red.observe(Phase::Before);
    let mut red_done = red.clone();
    red_done.finish(revise()).finish(revise());
    let no_red = Rig::open(policy(), vec![claim_check("a")]);
    for (mut rig, is_red) in [(opened, false), (red, true), (red_done, false), (no_red, false)] {
        let stage = rig.machine.stage();
        rig.now_ms = DEADLINE_MS;
        if is_red {
            rig.finish(revise())
        } else {
            rig.observe(Phase::Before)
        };
        assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"), "{stage:?}");
    }
}

#[test]
fn a_rejection_behind_the_end_is_not_sent_back() {
    let policy = Policy { wall_ms: Some(WALL_MS), ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.claim(1).observe(Phase::After);
    rig.now_ms = DEADLINE_MS;
    rig.finish(revise());
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
    assert_eq!(rig.verdicts(), ["revise counted"]);
}

/// An attempt budget that is used up as well is named first.
#[test]
fn the_attempts_are_named_before_the_time() {
    let policy = Policy { wall_ms: Some(WALL_MS), max_attempts: 1, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.claim(1).observe(Phase::After);
    rig.now_ms = DEADLINE_MS;
    rig.finish(revise());
    assert_eq!(rig.ended(), (Outcome::Exhausted, "attempts"));
}

/// The record says how long the try that was cut off ran, without the tries and waits before it.
#[test]
fn the_time_of_a_cut_off_try_is_its_own() {
    let policy = Policy { wall_ms: Some(5_000), verify_backoff_ms: 1_000, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.claim(1).observe(Phase::After).wait(500).finish(inconclusive());
    rig.timer().unwrap();
    assert!(matches!(rig.machine.stage(), Stage::Checking { tries: 2, .. }));
    let mut crashed = rig.clone();
    rig.timer().unwrap();
    assert_eq!(rig.machine.judged()[0].elapsed_ms, [3_500]);
    crashed.wait(1_000).crash().timer().unwrap();
    assert_eq!(crashed.machine.judged()[0].elapsed_ms, [2_500]);
}
