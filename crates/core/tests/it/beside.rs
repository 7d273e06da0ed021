//! What is appended beside the driver: requests to stop, and what is said to the delegate.

use probity_core::{
    Delegation, Entry, Event, Handled, Input, MAX_STEERS, Outcome, Phase, Policy, Refusal,
    ReplayError, Steered,
};
use proptest::prelude::*;

use crate::replay::{decided, full};
use crate::rig::{Rig, d, inconclusive, pass, revise, turn};
use crate::schedule::{charters, input, steps};

fn steer(n: u8) -> Input {
    Input::Steer { content: d(n) }
}

fn request(n: u8) -> Input {
    Input::RequestCancel { by: d(n) }
}

fn without(log: &[Entry]) -> Vec<Entry> {
    log.iter().filter(|entry| !entry.event.is_beside()).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Two drivers of one schedule, one of which hears of something between any two inputs, at whatever
    /// time: they are asked for the same, and come to the same.
    #[test]
    fn what_is_appended_beside_changes_nothing_of_the_run(
        charter in charters(), steps in steps(), wishes in prop::collection::vec(0u8..8, 60),
        slowness in prop::sample::select(vec![1u64, 20]),
    ) {
        let mut quiet = Rig::of(charter);
        let mut heard = quiet.clone();
        for (step, wish) in steps.iter().zip(wishes) {
            // What the schedule itself says and asks is left to the others.
            if step.act >= 47 {
                continue;
            }
            let wait_ms = step.wait_ms * slowness;
            for rig in [&mut quiet, &mut heard] {
                rig.wait(wait_ms);
            }
            let early_ms = if wish % 2 == 0 { wait_ms } else { wait_ms / 2 };
            heard.now_ms -= early_ms;
            let said = match wish {
                0..=2 => Some(heard.beside(steer(wish))),
                3 => Some(heard.beside(request(wish))),
                _ => None,
            };
            if let Some(Err(refusal)) = said {
                let is_ended = matches!(refusal, Refusal::Ended { .. });
                prop_assert!(is_ended && heard.machine.stage().outcome().is_some());
            }
            heard.now_ms += early_ms;
            let inputs = [input(&mut quiet, step), input(&mut heard, step)];
            prop_assert_eq!(&inputs[0], &inputs[1]);
            let [one, other] = inputs;
            prop_assert_eq!(quiet.feed(one), heard.feed(other));
            prop_assert_eq!(quiet.machine.stage(), heard.machine.stage());
            prop_assert_eq!(&quiet.due, &heard.due);
            prop_assert_eq!(quiet.machine.poll_timeout(), heard.machine.poll_timeout());
            prop_assert_eq!(quiet.machine.attempts(), heard.machine.attempts());
            prop_assert_eq!(quiet.machine.interruptions(), heard.machine.interruptions());
            prop_assert_eq!(&quiet.log, &without(&heard.log));
        }
        let resumed = |rig: &Rig| {
            let mut rig = rig.clone();
            rig.machine = Delegation::replay(&rig.log).unwrap();
            (rig.feed(Input::Resume), rig.due)
        };
        prop_assert_eq!(resumed(&quiet), resumed(&heard));
    }
}

/// At every place of a log, early and late: between two appends it may stand, within one it may not, and
/// behind the outcome neither.
#[test]
fn an_entry_beside_stands_between_two_appends_and_nowhere_else() {
    let events = [Event::Steered { content: d(1) }, Event::CancelRequested { by: d(2) }];
    let (mut taken, mut refused) = (0, 0);
    for rig in [full(), decided()] {
        let whole = Delegation::replay(&rig.log).unwrap();
        let ends = rig.log.iter().position(|it| matches!(it.event, Event::OutcomeDecided { .. }));
        for at in 1..=rig.log.len() {
            let is_boundary = rig.boundaries.contains(&at) && at <= ends.unwrap();
            let last_ms = rig.log[at - 1].at_ms;
            let next_ms = rig.log.get(at).map_or(last_ms, |entry| entry.at_ms);
            for at_ms in [last_ms, next_ms] {
                for event in &events {
                    let mut log = rig.log.clone();
                    log.insert(at, Entry { at_ms, event: event.clone() });
                    match Delegation::replay(&log) {
                        Ok(machine) => {
                            assert!(is_boundary, "{} at {at}", event.name());
                            assert_eq!(machine.stage(), whole.stage());
                            assert_eq!(machine.attempts(), whole.attempts());
                            assert_eq!(machine.judged(), whole.judged());
                            assert_eq!(machine.ending(), whole.ending());
                            taken += 1;
                        }
                        Err(error) => {
                            let is_there = matches!(
                                error,
                                ReplayError::Impossible { seq, .. } if seq == at as u64
                            );
                            assert!(!is_boundary && is_there, "{} at {at}: {error}", event.name());
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(taken > 100 && refused > 50, "{taken} {refused}");
}

/// A try that is due is not made by whoever talks to the run, and not forgotten either.
#[test]
fn a_retry_that_is_due_waits_for_the_driver() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[inconclusive()]);
    let due_ms = rig.machine.poll_timeout().unwrap();
    for (n, wish) in [steer(1), request(2), steer(3)].into_iter().enumerate() {
        rig.wait(3_600_000);
        let said = if n == 0 { rig.feed(wish) } else { rig.beside(wish) };
        assert_eq!(said, Ok(Handled::Accepted));
        assert_eq!(rig.machine.poll_timeout(), Some(due_ms));
        assert!(rig.due.is_empty());
    }
    // What is overdue may be overtaken.
    let mut cancelled = rig.clone();
    cancelled.cancel();
    assert_eq!(cancelled.ended().0, Outcome::Cancelled);
    rig.ok(Input::Timer).finish(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

/// Whoever leaves a run does not drive it on, either.
#[test]
fn a_retry_that_is_due_is_not_made_by_whoever_leaves() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[inconclusive()]).wait(3_600_000).release();
    assert!(rig.due.is_empty());
    assert_eq!(rig.log.last().unwrap().event, Event::RunReleased);
    rig.lease();
    assert_eq!(rig.log.last().unwrap().event.name(), "check.started");
}

#[test]
fn the_first_request_to_stop_is_kept() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    assert_eq!(rig.machine.cancel_requested(), None);
    assert_eq!(rig.beside(request(1)), Ok(Handled::Accepted));
    assert_eq!(rig.wait(5).feed(request(2)), Ok(Handled::Unchanged));
    assert_eq!(rig.machine.cancel_requested(), Some(d(1)));
    // It ends nothing of itself: the run may still come to something else.
    rig.turn(1, &[pass()]);
    assert_eq!(rig.ended().0, Outcome::Verified);
    let ended = Err(Refusal::Ended { outcome: Outcome::Verified });
    assert_eq!(rig.feed(request(3)), ended);
    assert_eq!(rig.feed(steer(3)), ended);
    assert_eq!(rig.feed(Input::Release), ended);
}

#[test]
fn what_is_said_is_kept_with_the_round_it_was_said_in() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.ok(steer(1)).ok(steer(1)).turn(1, &[revise()]).ok(steer(2));
    let said = |number, n| Steered { turn: turn(number), content: d(n) };
    assert_eq!(rig.machine.steers(), [said(0, 1), said(0, 1), said(1, 2)]);
}

#[test]
fn a_run_holds_so_many_words_and_no_more() {
    let mut machine = Rig::delegated(Policy::default(), 1).machine;
    for n in 0..MAX_STEERS {
        let at_ms = machine.now_ms();
        assert_eq!(machine.handle(at_ms, steer(n as u8)), Ok(Handled::Accepted));
    }
    let full = Refusal::TooMany { what: "steers", max: MAX_STEERS };
    let before = machine.clone();
    assert_eq!(machine.handle(u64::MAX, steer(1)), Err(full.clone()));
    let entry = Entry { at_ms: u64::MAX, event: Event::Steered { content: d(1) } };
    assert_eq!(machine.overhear(&entry), Err(full));
    assert_eq!(machine, before);
}

/// Nothing but what others append is overheard, and that only where it may stand.
#[test]
fn what_cannot_be_overheard_changes_nothing() {
    let refused = |rig: &Rig, entry: &Entry| {
        let mut machine = rig.machine.clone();
        let refusal = machine.overhear(entry).unwrap_err();
        assert_eq!(machine, rig.machine, "{}", entry.event.name());
        refusal
    };
    let mut rig = Rig::delegated(Policy::default(), 1);
    let stage = rig.machine.stage();
    let mut tried = std::collections::BTreeSet::new();
    let released = Entry { at_ms: rig.now_ms, event: Event::RunReleased };
    for entry in full().log.iter().chain(&decided().log).chain([&released]) {
        let input = entry.event.name();
        assert_eq!(refused(&rig, entry), Refusal::NotNow { stage, input });
        tried.insert(input);
    }
    assert!(tried.len() > 20, "{tried:?}");

    let asked = Entry { at_ms: rig.now_ms, event: Event::CancelRequested { by: d(1) } };
    assert_eq!(rig.beside(request(1)), Ok(Handled::Accepted));
    let input = "run.cancel_requested";
    assert_eq!(refused(&rig, &asked), Refusal::NotNow { stage, input });

    rig.cancel();
    let said = Entry { at_ms: rig.now_ms, event: Event::Steered { content: d(1) } };
    for entry in [said, asked] {
        let ended = Refusal::Ended { outcome: Outcome::Cancelled };
        assert_eq!(refused(&rig, &entry), ended);
    }
}

/// What is overheard does not mark what is asked for next as asked for again, and does not unmark it.
#[test]
fn a_mark_outlives_what_is_overheard() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.crash().wait(10).beside(steer(1)).unwrap();
    rig.wait(10).claim(1).observe(Phase::After).finish(pass());
    let mut other = Rig::delegated(Policy::default(), 1);
    other.crash().wait(20).claim(1).observe(Phase::After).finish(pass());
    assert_eq!(without(&rig.log), other.log);
    assert_eq!(rig.due, other.due);
}
