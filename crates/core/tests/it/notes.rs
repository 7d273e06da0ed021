//! What a delegate writes down in the midst of its work, what it waits for, and the budgets that it
//! keeps itself.

use probity_core::{
    Answer, Delegation, Effect, Entry, Event, Handled, HookPoint, Input, NoteKind, Noted,
    OnFailure, Outcome, Parking, Phase, Policy, Refusal, ReplayError, Rung, Stage, StageBudgets,
    Step, Terms, Turn, Usage, Woken,
};

use crate::rig::{PARKED_FOR, Rig, WOKEN_BY, claim_checks, code, d, hook, pass, revise, turn};
use crate::terms::terms;

const SPENT: Usage = Usage { tokens: 10, tool_calls: 1 };

fn failed(turn: Turn, word: &str) -> Input {
    Input::DelegateFailed { turn, code: code(word), detail: d(3) }
}

/// Contents of the notes that the machine holds, with their turns.
fn noted(rig: &Rig) -> Vec<(u32, u8)> {
    let notes = rig.machine.notes().iter();
    notes.map(|Noted { turn, content, .. }| (turn.number, content.as_bytes()[0])).collect()
}

#[test]
fn a_note_is_recorded_and_the_delegate_stays_at_work() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    let held = rig.log.len();
    for content in 50..53 {
        rig.wait(1).note(content, SPENT);
        assert_eq!(rig.due, [], "a note asks for nothing and stops nothing");
        assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(0) });
    }
    let names: Vec<_> = rig.log[held..].iter().map(|entry| entry.event.name()).collect();
    assert_eq!(names, ["delegate.noted"; 3]);
    assert_eq!(noted(&rig), [(0, 50), (0, 51), (0, 52)]);
    assert_eq!(rig.machine.notes()[0].kind, NoteKind::Model);
    rig.turn(1, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

/// Inputs that come without a drain between them share one append.
#[test]
fn notes_that_come_at_once_go_into_one_append() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    for content in 50..53 {
        let handled = rig.machine.handle(rig.now_ms, Rig::noted(turn(0), content, SPENT));
        assert_eq!(handled, Ok(Handled::Accepted));
    }
    let claimed = rig.claimed(turn(0), 1);
    assert_eq!(rig.machine.handle(rig.now_ms, claimed), Ok(Handled::Accepted));
    let Some(Effect::Append(entries)) = rig.machine.poll_effect() else { panic!("no append") };
    let names: Vec<_> = entries.iter().map(|entry| entry.event.name()).collect();
    assert_eq!(names, ["delegate.noted", "delegate.noted", "delegate.noted", "claim.received"]);
    assert_eq!(rig.machine.poll_effect(), Some(Effect::Snapshot { phase: Phase::After }));
    assert_eq!(rig.machine.poll_effect(), None);
}

#[test]
fn only_the_turn_at_work_writes_notes_and_waits() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[revise()]);
    for input in [Rig::noted(turn(0), 50, SPENT), Rig::parked(turn(0), None)] {
        let wrong = Refusal::WrongTurn { expected: turn(1), got: turn(0) };
        assert_eq!(rig.feed(input), Err(wrong));
    }
    rig.claim(2);
    for input in [Rig::noted(turn(1), 50, SPENT), Rig::parked(turn(1), Some(9_000))] {
        assert!(matches!(rig.feed(input), Err(Refusal::NotNow { .. })));
    }
    assert_eq!(noted(&rig), []);
    assert_eq!(rig.machine.usage(), Usage::default());
}

#[test]
fn notes_of_earlier_rounds_stay_in_order_through_rejections_and_crashes() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.note(50, SPENT).crash().note(51, SPENT).turn(1, &[revise()]);
    rig.note(52, SPENT).crash().crash();
    assert_eq!(noted(&rig), [(0, 50), (0, 51), (1, 52)]);
    let again = rig.due.clone();
    assert!(
        matches!(again[..], [Effect::Dispatch { is_replay: true, attempt: 2, .. }]),
        "{again:?}"
    );
    rig.turn(2, &[pass()]);
    assert_eq!(rig.machine.attempts(), 2);
    assert_eq!(rig.machine.interruptions(), 3);
}

#[test]
fn what_a_note_tells_of_is_spent_at_once_and_once() {
    let policy = Policy { max_tokens: Some(100), max_tool_calls: Some(9), ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    assert_eq!((rig.machine.tokens_left(), rig.machine.tool_calls_left()), (Some(100), Some(9)));
    rig.note(50, SPENT).note(51, SPENT);
    assert_eq!(rig.machine.usage(), Usage { tokens: 20, tool_calls: 2 });
    assert_eq!((rig.machine.tokens_left(), rig.machine.tool_calls_left()), (Some(80), Some(7)));
    rig.usage = Usage { tokens: 5, tool_calls: 0 };
    rig.turn(1, &[revise()]);
    assert_eq!(rig.machine.usage(), Usage { tokens: 25, tool_calls: 2 });
    rig.crash();
    assert_eq!(rig.machine.usage(), Usage { tokens: 25, tool_calls: 2 });
    rig.note(52, Usage { tokens: 90, tool_calls: 0 });
    assert_eq!(rig.machine.tokens_left(), Some(0), "no less than nothing");
    rig.turn(2, &[revise()]);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_tokens"));
}

#[test]
fn what_is_not_bounded_has_nothing_left_to_tell() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.note(50, SPENT);
    assert_eq!((rig.machine.tokens_left(), rig.machine.tool_calls_left()), (None, None));
}

/// A note overdraws a budget; the delegate that works on is not stopped for it, and a claim that passes
/// is handed on.
#[test]
fn notes_beyond_a_budget_do_not_shut_the_gate() {
    let policy = Policy { max_tokens: Some(5), ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.note(50, SPENT).note(51, SPENT).turn(1, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn what_a_note_tells_of_is_spent_though_the_attempt_fails() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.note(50, SPENT).ok(failed(turn(0), "exit_1"));
    assert_eq!(rig.ended(), (Outcome::DelegateFailed, "exit_1"));
    assert_eq!(rig.machine.usage(), SPENT);
    assert_eq!(rig.machine.attempts(), 0);
}

#[test]
fn a_human_who_lets_the_run_go_on_gives_the_budgets_anew() {
    let policy =
        Policy { max_tokens: Some(10), on_exhausted: OnFailure::Escalate, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.note(50, SPENT).turn(1, &[revise()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    assert_eq!(rig.machine.tokens_left(), Some(0));
    rig.answer(Answer::Continue { attempts: 1 });
    assert_eq!(rig.machine.tokens_left(), Some(10));
    assert_eq!(noted(&rig), [(0, 50)], "the next round is told what the first one did");
}

#[test]
fn a_note_behind_the_end_of_the_runs_time_ends_it() {
    let policy = Policy { wall_ms: Some(1_000), ..Policy::default() };
    let at_the_end = |late_ms: u64| {
        let mut rig = Rig::delegated(policy.clone(), 1);
        rig.now_ms = 2_000 + late_ms;
        rig
    };
    let mut rig = at_the_end(0);
    rig.note(50, SPENT);
    assert_eq!(noted(&rig), [(0, 50)], "just then is in time");
    for input in [Rig::noted(turn(0), 50, SPENT), Rig::parked(turn(0), None)] {
        let mut rig = at_the_end(1);
        rig.ok(input);
        assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
        assert_eq!(noted(&rig), []);
        assert_eq!(rig.machine.parking(), None);
    }
}

#[test]
fn a_wait_for_a_time_ends_with_the_timer() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.wait(10).park(Some(5_000));
    let (at_ms, until_ms) = (rig.now_ms, rig.now_ms + 5_000);
    let parking =
        Parking { turn: turn(0), until_ms: Some(until_ms), detail: d(PARKED_FOR), since_ms: at_ms };
    assert_eq!(rig.machine.parking(), Some(&parking));
    assert_eq!(rig.due, [Effect::Park { turn: turn(0), until_ms: Some(until_ms) }]);
    assert_eq!(rig.machine.poll_timeout(), Some(until_ms));
    rig.now_ms = until_ms - 1;
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    let answer = Input::Woken { answer: d(WOKEN_BY) };
    assert!(matches!(rig.feed(answer), Err(Refusal::NotNow { .. })), "nobody was asked");
    assert_eq!(rig.timer(), Ok(Handled::Accepted));
    let woken = Woken { turn: turn(0), detail: d(PARKED_FOR), answer: None };
    assert_eq!((rig.machine.woken(), rig.machine.parking()), (Some(&woken), None));
    let due = rig.due.clone();
    assert!(matches!(due[..], [Effect::Dispatch { is_replay: false, attempt: 1, .. }]), "{due:?}");
    rig.turn(1, &[pass()]);
    assert_eq!(rig.machine.attempts(), 1);
    assert_eq!(rig.machine.interruptions(), 0);
}

#[test]
fn a_wait_for_an_answer_has_no_end_of_its_own() {
    let mut rig = Rig::delegated(Policy { wall_ms: Some(1_000), ..Policy::default() }, 1);
    rig.park(None);
    assert_eq!(rig.machine.poll_timeout(), None);
    rig.wait(30 * 24 * 3_600_000);
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    rig.wake();
    let woken = Woken { turn: turn(0), detail: d(PARKED_FOR), answer: Some(d(WOKEN_BY)) };
    assert_eq!((rig.machine.woken(), rig.machine.parking()), (Some(&woken), None));
    let again = Input::Woken { answer: d(WOKEN_BY) };
    assert!(matches!(rig.feed(again), Err(Refusal::NotNow { .. })), "it was answered");
}

#[test]
fn a_wait_takes_nothing_off_the_runs_time() {
    for for_ms in [Some(5_000), None] {
        let mut rig = Rig::delegated(Policy { wall_ms: Some(1_000), ..Policy::default() }, 1);
        rig.wait(400).park(for_ms).wait(5_000);
        match for_ms {
            Some(_) => drop(rig.ok(Input::Timer)),
            None => drop(rig.wake()),
        }
        let due = rig.due.clone();
        let [Effect::Dispatch { timeout_ms, .. }] = due[..] else { panic!("{due:?}") };
        assert_eq!(timeout_ms, Some(600), "what was left when it began to wait");
        assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 600));
        // A timer that was heard late costs nothing either: the run did not work meanwhile.
        rig.wait(100).park(Some(50)).wait(1_000).ok(Input::Timer);
        assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 500));
        rig.timer().unwrap();
        assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
    }
}

/// The act stage of a decision is worked, not waited.
#[test]
fn a_wait_takes_nothing_off_the_act_stage() {
    let stages = StageBudgets { act_ms: 1_000, ..terms().stages };
    let charter = probity_core::Charter {
        policy: Policy::default(),
        checks: claim_checks(1),
        hooks: vec![],
        terms: Some(Terms { stages, ladder: vec![], ..terms() }),
        parent: None,
    };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before).wait(900).park(None).wait(5_000).wake();
    assert!(rig.machine.poll_timeout() >= Some(rig.now_ms + 100));
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_act"));
}

#[test]
fn a_parked_run_can_be_cancelled() {
    for for_ms in [Some(5_000), None] {
        let mut rig = Rig::delegated(Policy::default(), 1);
        rig.park(for_ms).wait(10).cancel();
        assert_eq!(rig.ended(), (Outcome::Cancelled, "user"));
        assert!(matches!(rig.feed(Input::Woken { answer: d(9) }), Err(Refusal::NotNow { .. })));
    }
}

/// A driver that comes and goes while the run waits interrupts nothing.
#[test]
fn a_parked_run_is_taken_up_without_an_interruption() {
    let policy = Policy { max_interruptions: 0, ..Policy::default() };
    for for_ms in [Some(5_000), None] {
        let mut rig = Rig::delegated(policy.clone(), 1);
        rig.park(for_ms);
        let asked = rig.due.clone();
        for _ in 0..3 {
            rig.machine = Delegation::replay(&rig.log).unwrap();
            assert_eq!(rig.feed(Input::Resume), Ok(Handled::Unchanged));
            assert_eq!(rig.due, asked, "the wait is asked for again");
        }
        rig.machine = Delegation::replay(&rig.log).unwrap();
        match for_ms {
            Some(for_ms) => drop(rig.wait(for_ms).ok(Input::Resume)),
            None => drop(rig.wake()),
        }
        assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(0) });
        assert_eq!(rig.machine.interruptions(), 0);
        rig.turn(1, &[pass()]);
        assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    }
}

/// Behind the wake the delegate is at work, and a crash is an interruption again.
#[test]
fn a_crash_behind_a_wait_gives_the_answer_again() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.note(50, SPENT).park(None).wake().crash();
    assert_eq!(rig.machine.interruptions(), 1);
    assert_eq!(rig.machine.woken().and_then(|woken| woken.answer), Some(d(WOKEN_BY)));
    assert_eq!(noted(&rig), [(0, 50)]);
}

#[test]
fn a_round_may_wait_as_often_as_it_likes() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    for wait in 0..20u8 {
        rig.park(None).wait(5).wake().note(wait, SPENT);
    }
    rig.park(Some(0));
    assert_eq!(rig.timer(), Ok(Handled::Accepted), "a time that has come is over at once");
    rig.turn(1, &[pass()]);
    assert_eq!(rig.machine.attempts(), 1);
    assert_eq!(rig.machine.notes().len(), 20);
}

#[test]
fn a_budget_that_the_delegate_kept_ends_as_exhausted() {
    let rows = [
        ("budget_tokens", Outcome::Exhausted),
        ("budget_tool_calls", Outcome::Exhausted),
        ("budget_model_calls", Outcome::Exhausted),
        ("budget_wall", Outcome::DelegateFailed),
        ("budget", Outcome::DelegateFailed),
        ("exit_1", Outcome::DelegateFailed),
    ];
    for (word, outcome) in rows {
        let mut rig = Rig::delegated(Policy::default(), 1);
        rig.ok(failed(turn(0), word));
        assert_eq!(rig.ended(), (outcome, word));
        assert_eq!(rig.machine.attempts(), 0);
    }
}

#[test]
fn a_used_up_budget_calls_a_human_where_the_policy_says_so() {
    let policy = Policy {
        on_exhausted: OnFailure::Escalate,
        on_fail: OnFailure::Reject,
        max_tokens: Some(10),
        ..Policy::default()
    };
    let escalated = || {
        let mut rig = Rig::delegated(policy.clone(), 1);
        rig.note(50, SPENT).ok(failed(turn(0), "budget_tokens"));
        assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
        rig
    };
    let mut rig = escalated();
    rig.answer(Answer::Reject);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_tokens"));
    let mut rig = escalated();
    rig.answer(Answer::Continue { attempts: 1 });
    assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(1) });
    assert_eq!(rig.machine.tokens_left(), Some(10));
    rig.turn(1, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    // Other failures of a delegate are nobody's to answer.
    let mut rig = Rig::delegated(policy.clone(), 1);
    rig.ok(failed(turn(0), "exit_1"));
    assert_eq!(rig.ended(), (Outcome::DelegateFailed, "exit_1"));
}

#[test]
fn a_used_up_budget_goes_down_the_ladder_of_a_decision() {
    for (step, is_asked) in [(Step::Hitl, true), (Step::Abstain, false)] {
        let rung = Rung { step, max_extra_ms: None, is_ready: true };
        let charter = probity_core::Charter {
            policy: Policy::default(),
            checks: claim_checks(1),
            hooks: vec![hook("h0", HookPoint::AttemptStart)],
            terms: Some(Terms { ladder: vec![rung], ..terms() }),
            parent: None,
        };
        let mut rig = Rig::of(charter);
        rig.observe(Phase::Before).hook(probity_core::HookDecision::Allow);
        rig.ok(failed(turn(0), "budget_model_calls"));
        let is_escalated =
            rig.machine.stage() == Stage::Escalated { instead_of: Outcome::Exhausted };
        assert_eq!(is_escalated, is_asked, "{:?}", rig.machine.stage());
        if !is_asked {
            assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_model_calls"));
        }
    }
}

/// The log of a run that noted, waited for a time, for an answer, and was verified.
fn whole() -> Rig {
    let mut rig = Rig::delegated(Policy { wall_ms: Some(1_000), ..Policy::default() }, 1);
    rig.wait(1).note(50, SPENT).wait(1).park(Some(5_000)).wait(5_000).ok(Input::Timer);
    rig.wait(1).park(None).wait(5_000).wake().wait(1).turn(1, &[pass()]);
    rig
}

fn place(log: &[Entry], name: &str, nth: usize) -> usize {
    let places = log.iter().enumerate().filter(|(_, entry)| entry.event.name() == name);
    places.map(|(at, _)| at).nth(nth).unwrap()
}

#[test]
fn a_forged_wait_is_no_log() {
    let rig = whole();
    assert!(Delegation::replay(&rig.log).is_ok());
    let parked = place(&rig.log, "delegate.parked", 0);
    let (timed, answered) =
        (place(&rig.log, "delegate.woken", 0), place(&rig.log, "delegate.woken", 1));
    let noted = place(&rig.log, "delegate.noted", 0);
    type Forge = Box<dyn Fn(&mut Vec<Entry>)>;
    let rows: Vec<(&str, usize, Forge)> = vec![
        ("woken early", timed, Box::new(move |log| log[timed].at_ms -= 1)),
        ("woken and never parked", parked, Box::new(move |log| drop(log.remove(parked)))),
        (
            "woken twice",
            timed + 1,
            Box::new(move |log| {
                let again = log[timed].clone();
                log.insert(timed + 1, again);
            }),
        ),
        (
            "an answer to a wait for a time",
            timed,
            Box::new(move |log| {
                log[timed].event =
                    Event::DelegateWoken { turn: turn(0), answer: Some(d(WOKEN_BY)) };
            }),
        ),
        (
            "a wait for an answer that a time ends",
            answered,
            Box::new(move |log| {
                log[answered].event = Event::DelegateWoken { turn: turn(0), answer: None };
            }),
        ),
        (
            "a note of another turn",
            noted,
            Box::new(move |log| {
                let Event::DelegateNoted { turn, .. } = &mut log[noted].event else { panic!() };
                turn.number = 1;
            }),
        ),
        (
            "a note while it waits",
            parked + 1,
            Box::new(move |log| {
                let note = Entry { at_ms: log[parked].at_ms, ..log[noted].clone() };
                log.insert(parked + 1, note);
            }),
        ),
        (
            "another turn is woken",
            timed,
            Box::new(move |log| {
                log[timed].event = Event::DelegateWoken { turn: turn(1), answer: None };
            }),
        ),
    ];
    for (name, at, forge) in rows {
        let mut log = rig.log.clone();
        forge(&mut log);
        match Delegation::replay(&log) {
            Err(ReplayError::Impossible { seq, .. } | ReplayError::Differs { seq, .. }) => {
                assert_eq!(seq, at as u64, "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn an_ending_that_its_budget_code_does_not_lead_to_is_no_log() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.ok(failed(turn(0), "budget_tokens"));
    for (word, outcome) in
        [("budget_tokens", Outcome::DelegateFailed), ("exit_1", Outcome::Exhausted)]
    {
        let mut log = rig.log.clone();
        let at = place(&log, "delegate.failed", 0);
        log[at].event = Event::DelegateFailed { turn: turn(0), code: code(word), detail: d(3) };
        log[at + 1].event = Event::OutcomeDecided { outcome, code: code(word), waived: false };
        let refused = Delegation::replay(&log);
        assert!(matches!(refused, Err(ReplayError::Differs { .. })), "{refused:?}");
    }
}
