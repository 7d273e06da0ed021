//! Where policy calls a human: what they may answer, and what a waiver is not.

use probity_core::{
    Answer, Counting, Delegation, Effect, Handled, Input, OnFailure, Outcome, Phase, Policy,
    Refusal, Stage, Usage,
};

use crate::rig::{Rig, code, fail, pass, revise, turn};

fn policy() -> Policy {
    Policy {
        max_attempts: 2,
        on_fail: OnFailure::Escalate,
        on_exhausted: OnFailure::Escalate,
        ..Policy::default()
    }
}

fn exhausted() -> Rig {
    let mut rig = Rig::delegated(policy(), 1);
    rig.turn(1, &[revise()]).turn(2, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig
}

fn rejected() -> Rig {
    let mut rig = Rig::delegated(policy(), 1);
    rig.turn(1, &[fail()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Rejected });
    rig
}

#[test]
fn a_refusal_ends_the_run_as_it_would_have_ended() {
    assert_eq!(exhausted().answer(Answer::Reject).ended(), (Outcome::Exhausted, "attempts"));
    assert_eq!(rejected().answer(Answer::Reject).ended(), (Outcome::Rejected, "forbidden"));
}

#[test]
fn a_waiver_is_a_label_and_never_a_verification() {
    for (mut rig, outcome) in [(exhausted(), Outcome::Exhausted), (rejected(), Outcome::Rejected)] {
        rig.answer(Answer::Waive);
        assert_eq!(rig.ended().0, outcome);
        let ending = rig.machine.ending().unwrap();
        assert!(ending.waived);
        assert_ne!(ending.outcome.exit_code(), 0);
        assert_eq!(rig.due[0], Effect::Reject { outcome });
    }
    assert!(!exhausted().answer(Answer::Reject).machine.ending().unwrap().waived);
}

#[test]
fn more_attempts_are_counted_from_those_that_were_charged() {
    for attempts in [1, 3] {
        let mut rig = exhausted();
        rig.answer(Answer::Continue { attempts });
        assert_eq!(rig.machine.max_attempts(), 2 + attempts);
        let [Effect::Dispatch { turn: at, attempt, max_attempts, correction, .. }] = rig.due[..]
        else {
            panic!("{:?}", rig.due);
        };
        assert_eq!((at, attempt, max_attempts), (turn(2), 3, 2 + attempts));
        assert_eq!(correction, Some(turn(1)));
        for _ in 0..attempts {
            assert_eq!(rig.machine.ending(), None);
            rig.turn(3, &[revise()]);
        }
        assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
        assert_eq!(rig.machine.attempts(), 2 + attempts);
    }
}

/// What was allowed and not used is not added: the human said how many.
#[test]
fn attempts_that_were_left_do_not_add_to_what_a_human_allows() {
    let policy = Policy { max_attempts: 50, ..policy() };
    let mut rig = Rig::delegated(policy, 1);
    rig.turn(1, &[revise()]).turn(2, &[fail()]);
    rig.answer(Answer::Continue { attempts: 2 });
    assert_eq!(rig.machine.max_attempts(), 4);
    rig.turn(3, &[revise()]).turn(4, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig.answer(Answer::Reject);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "attempts"));
}

#[test]
fn tokens_and_tool_calls_begin_anew_at_the_answer() {
    for (max_tokens, max_tool_calls, why) in
        [(Some(30), None, "budget_tokens"), (None, Some(6), "budget_tool_calls")]
    {
        let policy = Policy { max_attempts: 100, max_tokens, max_tool_calls, ..policy() };
        let mut rig = Rig::delegated(policy, 1);
        rig.usage = Usage { tokens: 15, tool_calls: 3 };
        for _ in 0..3 {
            rig.turn(1, &[revise()]);
            assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
            rig.turn(2, &[revise()]);
            assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
            rig.answer(Answer::Continue { attempts: 50 });
        }
        assert_eq!(rig.machine.usage(), Usage { tokens: 90, tool_calls: 18 });
        rig.turn(1, &[revise()]).turn(2, &[revise()]).answer(Answer::Reject);
        assert_eq!(rig.ended(), (Outcome::Exhausted, why));
    }
}

#[test]
fn the_wall_time_begins_anew_at_the_answer() {
    let mut rig = Rig::delegated(Policy { wall_ms: Some(5_000), ..policy() }, 1);
    rig.turn(1, &[fail()]);
    rig.wait(3_600_000).answer(Answer::Continue { attempts: 1 });
    let [Effect::Dispatch { timeout_ms: Some(5_000), .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 5_000));
    rig.wait(4_999).turn(2, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

/// The delegate used up the time; the human gives it another turn, under another name.
#[test]
fn a_delegate_that_takes_too_long_is_a_matter_for_a_human_too() {
    for judged in 0..2 {
        let mut rig = Rig::delegated(Policy { wall_ms: Some(5_000), ..policy() }, 1);
        for _ in 0..judged {
            rig.turn(1, &[revise()]);
        }
        let given_up = rig.claimed(turn(judged), 7);
        rig.timer().unwrap();
        assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
        let mut refused = rig.clone();
        refused.answer(Answer::Reject);
        assert_eq!(refused.ended(), (Outcome::Exhausted, "budget_wall"));
        rig.answer(Answer::Continue { attempts: 1 });
        assert_eq!(rig.machine.turn(), turn(judged + 1));
        let (expected, got) = (turn(judged + 1), turn(judged));
        assert_eq!(rig.feed(given_up), Err(Refusal::WrongTurn { expected, got }));
        rig.turn(2, &[pass()]);
        assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    }
}

#[test]
fn a_rejection_behind_the_end_of_the_time_is_a_matter_for_a_human_too() {
    let mut rig = Rig::delegated(Policy { wall_ms: Some(5_000), ..policy() }, 1);
    rig.claim(1).observe(Phase::After).wait(5_000).finish(revise());
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig.answer(Answer::Reject);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
}

#[test]
fn a_run_that_went_on_can_be_verified() {
    let mut rig = rejected();
    rig.answer(Answer::Continue { attempts: 1 }).turn(2, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    assert!(!rig.machine.ending().unwrap().waived);
    assert_eq!(rig.machine.attempts(), 2);
}

#[test]
fn going_on_resets_the_belts() {
    let policy = Policy {
        max_attempts: 5,
        counting: Counting::ByCandidate {
            count_after_work: true,
            max_identical: 1,
            max_rejections: 3,
            reuse_rejection: true,
        },
        ..policy()
    };
    let mut rig = Rig::delegated(policy, 1);
    rig.turn(1, &[revise()]).turn(1, &[]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig.answer(Answer::Continue { attempts: 4 });
    rig.turn(2, &[revise()]).turn(3, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(4) });
    rig.turn(4, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig.answer(Answer::Reject);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "rejections"));
}

#[test]
fn an_answer_has_bounds() {
    // Two attempts are charged; a run has 100 in all.
    for (attempts, legal) in [(0, false), (1, true), (98, true), (99, false), (u32::MAX, false)] {
        let mut rig = exhausted();
        let result = rig.feed(Rig::answered(Answer::Continue { attempts }));
        let expected =
            if legal { Ok(Handled::Accepted) } else { Err(Refusal::Answer { attempts }) };
        assert_eq!(result, expected);
    }
}

#[test]
fn a_waiting_run_can_be_cancelled_and_has_no_timeout() {
    let mut rig = exhausted();
    assert_eq!(rig.machine.poll_timeout(), None);
    rig.cancel();
    assert_eq!(rig.ended(), (Outcome::Cancelled, "user"));
}

#[test]
fn a_judged_turn_stays_judged_while_a_human_thinks() {
    let mut rig = exhausted();
    let again = rig.claimed(turn(1), 2);
    assert!(matches!(rig.feed(again), Ok(Handled::Replay(_))));
    let late = rig.claimed(turn(2), 2);
    assert!(matches!(rig.feed(late), Err(Refusal::NotNow { .. })));
}

/// The log says that a human is to be called, not that they were: the call goes out again.
#[test]
fn a_waiting_run_that_is_taken_up_calls_again_and_counts_no_interruption() {
    let mut rig = rejected();
    let held = rig.log.len();
    rig.machine = Delegation::replay(&rig.log).unwrap();
    assert_eq!(rig.feed(Input::Resume), Ok(Handled::Unchanged));
    assert_eq!(rig.due, [Effect::Escalate { instead_of: Outcome::Rejected }]);
    assert_eq!((rig.log.len(), rig.machine.interruptions()), (held, 0));
}

#[test]
fn without_the_policy_nobody_is_called() {
    let mut rig = Rig::delegated(Policy { max_attempts: 1, ..Policy::default() }, 1);
    rig.claim(1).observe(Phase::After).finish(revise());
    assert_eq!(rig.ended(), (Outcome::Exhausted, "attempts"));
    let refused = rig.feed(Rig::answered(Answer::Waive));
    assert!(matches!(refused, Err(Refusal::NotNow { .. })), "{refused:?}");
    assert_eq!(
        rig.feed(Input::Cancel { code: code("user") }),
        Err(Refusal::Ended { outcome: Outcome::Exhausted })
    );
}
