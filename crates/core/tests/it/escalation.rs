//! Where policy calls a human: what they may answer, and what a waiver is not.

use probity_core::{
    Answer, Counting, Delegation, Effect, Handled, Input, OnFailure, Outcome, Phase, Policy,
    Refusal, Stage,
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
fn more_attempts_are_added_to_those_that_were_allowed() {
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
    rig.answer(Answer::Continue { attempts: 1 });
    rig.turn(2, &[revise()]).turn(3, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(4) });
    rig.turn(4, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig.answer(Answer::Reject);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "rejections"));
}

#[test]
fn an_answer_has_bounds() {
    for (attempts, legal) in [(0, false), (1, true), (100, true), (101, false), (u32::MAX, false)] {
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
