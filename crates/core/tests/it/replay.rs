//! `replay(events) == live`, and what a log that was tampered with comes to.

use std::collections::BTreeMap;

use probity_core::{
    Answer, Charter, Delegation, Effect, Entry, Event, Feature, Handled, HookDecision, HookPoint,
    Input, OnFailure, Outcome, Phase, Policy, ReplayError, Rung, Stage, Step, Terms, Usage,
};
use proptest::prelude::*;

use crate::rig::{
    Rig, claim_check, code, d, fail, hook, hook_check, human_check, inconclusive, pass, revise,
    turn, world_check,
};
use crate::schedule::{charters, input, play, steps};
use crate::terms::terms;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// After every input of a random schedule, illegal ones included: the rig compares.
    #[test]
    fn a_replayed_log_is_the_live_value_at_every_append(
        charter in charters(), steps in steps(),
    ) {
        let rig = play(charter, &steps);
        // Any prefix that ends where an append ended is a run too, and can be taken up.
        for boundary in rig.boundaries {
            let prefix = Delegation::replay(&rig.log[..boundary]);
            prop_assert!(prefix.is_ok(), "{prefix:?}");
        }
    }

    /// What a run that is taken up is asked for is what the live one was in the middle of.
    #[test]
    fn a_resumed_run_is_asked_for_what_was_pending(
        charter in charters(), steps in steps(),
    ) {
        let policy = Policy { max_interruptions: 1_000, ..charter.policy };
        let mut rig = Rig::of(Charter { policy, ..charter });
        let mut pending = rig.due.clone();
        for step in &steps {
            rig.wait(step.wait_ms);
            let input = input(&mut rig, step);
            let is_beside = matches!(
                input,
                Input::Noted { .. }
                    | Input::Release
                    | Input::RequestCancel { .. }
                    | Input::Steer { .. }
            );
            if rig.feed(input) == Ok(Handled::Accepted) {
                // A note, a release or a wish leaves what was asked for before it as it is.
                if !(is_beside && rig.due.is_empty()) {
                    pending.clone_from(&rig.due);
                }
                let mut resumed = rig.clone();
                resumed.machine = Delegation::replay(&rig.log).unwrap();
                match resumed.feed(Input::Resume) {
                    // The time of a human who is asked, or of a wait, may have ended.
                    Ok(handled)
                        if matches!(
                            rig.machine.stage(),
                            Stage::Awaiting { .. } | Stage::Parked { .. }
                        ) =>
                    {
                        let is_same = resumed.due == pending;
                        prop_assert_eq!(is_same, handled == Handled::Unchanged);
                    }
                    // The next try of an inconclusive check may have come due, or the end of the run.
                    Ok(_) if rig.machine.stage() == Stage::Settled => {
                        prop_assert_eq!(&rig.due, &[]);
                        let mut begun = resumed.due.iter().filter(|effect| effect.acts());
                        prop_assert!(begun.all(|effect| !is_replay(effect)));
                    }
                    Ok(_) => {
                        prop_assert_eq!(plain(&resumed.due), plain(&pending));
                        prop_assert!(resumed.due.iter().all(is_replay));
                    }
                    Err(_) => {
                        let is_sealed = matches!(rig.machine.stage(), Stage::Sealed { .. });
                        prop_assert!(is_sealed);
                    }
                }
            }
        }
    }

    /// A log in which one entry is gone, doubled, swapped or changed is refused, or it is a log that
    /// the machine could have written; then it replays, entry by entry, like one.
    #[test]
    fn a_damaged_log_is_refused_or_is_legal(
        charter in charters(), steps in steps(),
        at in any::<prop::sample::Index>(), how in 0u8..4,
    ) {
        let rig = play(charter, &steps);
        let at = at.index(rig.log.len());
        let mut log = rig.log.clone();
        match how {
            0 => drop(log.remove(at)),
            1 => log.insert(at, log[at].clone()),
            2 if at + 1 < log.len() => log.swap(at, at + 1),
            _ => log[at].at_ms = log[at].at_ms.wrapping_add(1_000),
        }
        if let Ok(machine) = Delegation::replay(&log) {
            prop_assert_eq!(machine.entries() as usize, log.len());
            let counted = log.iter().filter(|entry| is_counted(&entry.event)).count();
            prop_assert_eq!(machine.attempts() as usize, counted);
        }
    }
}

/// Effects without what a resumption changes: the mark, and the time that is left.
fn plain(effects: &[Effect]) -> Vec<Effect> {
    let mut effects = effects.to_vec();
    for effect in &mut effects {
        match effect {
            Effect::RunCheck { is_replay, timeout_ms, .. } => {
                (*is_replay, *timeout_ms) = (false, 0)
            }
            Effect::CallHook { is_replay, timeout_ms, .. } => {
                (*is_replay, *timeout_ms) = (false, 0)
            }
            Effect::Dispatch { is_replay, timeout_ms, .. } => {
                (*is_replay, *timeout_ms) = (false, None)
            }
            _ => {}
        }
    }
    effects
}

/// Whether an effect is marked as asked for again; those that carry no mark count as marked.
fn is_replay(effect: &Effect) -> bool {
    match effect {
        Effect::RunCheck { is_replay, .. }
        | Effect::CallHook { is_replay, .. }
        | Effect::Dispatch { is_replay, .. } => *is_replay,
        _ => true,
    }
}

fn is_counted(event: &Event) -> bool {
    matches!(event, Event::VerdictMerged { counted: true, .. })
}

/// A run with one of everything: red check, note, waits, retry, rejection, crash, pass, seal.
pub(crate) fn full() -> Rig {
    let mut rig = Rig::open(
        Policy { wall_ms: Some(90_000), ..Policy::default() },
        vec![world_check("a"), claim_check("b")],
    );
    rig.usage = Usage { tokens: 5, tool_calls: 1 };
    rig.observe(Phase::Before).wait(10).finish(revise()).observe(Phase::Before).wait(10);
    rig.note(80, Usage { tokens: 7, tool_calls: 0 }).wait(10).park(Some(1_000));
    rig.timer().unwrap();
    rig.wait(10).park(None).wait(10).wake().wait(10).note(81, Usage::default()).wait(10);
    rig.turn(1, &[pass(), inconclusive()]);
    rig.timer().unwrap();
    rig.finish(revise()).wait(10).crash().wait(10);
    rig.turn(2, &[pass(), pass()]).ok(Input::Sealed);
    rig
}

/// A decision with one of everything: approval, a cached bundle, hooks at every point, a rewrite, a
/// human who sends it back and one who does not answer, a crash inside a hook, a waiver.
pub(crate) fn decided() -> Rig {
    let rung = |step| Rung { step, max_extra_ms: None, is_ready: true };
    let terms = Terms {
        needs_approval: true,
        features: vec![Feature { captured_at_ms: 900, ttl_ms: 50 }],
        ladder: vec![rung(Step::CacheBundle), rung(Step::Hitl)],
        ..terms()
    };
    let charter = Charter {
        policy: Policy { wall_ms: Some(90_000), ..Policy::default() },
        checks: vec![world_check("a"), hook_check("b"), human_check("c")],
        hooks: HookPoint::ALL.map(|point| hook(point.as_str(), point)).to_vec(),
        terms: Some(terms),
        parent: None,
    };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before).wait(10).finish(revise()).observe(Phase::Before).wait(10);
    rig.hook(HookDecision::Modify { to: d(70), delta: d(71) }).wait(10);
    rig.answer(Answer::Continue { attempts: 2 }).wait(10).crash();
    rig.hook(HookDecision::Allow).wait(10).turn(1, &[pass()]);
    let rewritten = rig.rewritten(1, pass(), 50);
    rig.wait(10).ok(rewritten).wait(10).human(revise());
    rig.hook(HookDecision::Allow).wait(10).hook(HookDecision::NotApplicable);
    rig.turn(2, &[pass(), pass()]);
    rig.timer().unwrap();
    rig.wait(10).hook(HookDecision::Allow).wait(10).answer(Answer::Waive).ok(Input::Sealed);
    let kinds: std::collections::BTreeSet<_> = rig.log.iter().map(|it| it.event.name()).collect();
    assert_eq!(kinds.len(), 18, "all but what could not be read and who failed: {kinds:?}");
    rig
}

/// A child that lies in a queue, is handed over in the midst of a round, is lost while a check runs and
/// behind the outcome; others ask it to stop and talk to it.
fn handed_over() -> Rig {
    let mut rig = Rig::of(Charter {
        parent: Some("run-0".parse().unwrap()),
        ..Charter::new(Policy { wall_ms: Some(1_000), ..Policy::default() }, vec![world_check("a")])
    });
    rig.release().wait(5_000).lease().wait(10);
    rig.observe(Phase::Before).wait(10).finish(revise()).observe(Phase::Before).wait(10);
    rig.ok(Input::Steer { content: d(90) }).wait(10).release().wait(5_000);
    rig.ok(Input::Steer { content: d(91) }).wait(10).lease().wait(10).claim(1).wait(10);
    rig.ok(Input::RequestCancel { by: d(92) }).wait(10).observe(Phase::After).wait(10).lease();
    rig.finish(pass()).wait(10).lease().ok(Input::Sealed);
    rig
}

#[test]
fn a_log_that_is_no_log() {
    assert_eq!(Delegation::replay(&[]), Err(ReplayError::Empty));
    let rig = full();
    let refused = Delegation::replay(&rig.log[1..]);
    assert_eq!(refused, Err(ReplayError::NotOpened { got: "world.observed" }));
    let mut twice = rig.log.clone();
    twice.insert(1, rig.log[0].clone());
    let refused = Delegation::replay(&twice);
    assert!(
        matches!(refused, Err(ReplayError::Impossible { seq: 1, got: "run.opened", .. })),
        "{refused:?}"
    );
    let mut illegal = rig.log.clone();
    let Event::RunOpened { policy, .. } = &mut illegal[0].event else { panic!() };
    policy.max_attempts = 0;
    assert!(matches!(Delegation::replay(&illegal), Err(ReplayError::Open(_))));
}

#[test]
fn nothing_follows_a_seal() {
    for rig in [full(), decided()] {
        for entry in &rig.log {
            let mut longer = rig.log.clone();
            longer.push(Entry { at_ms: u64::MAX, event: entry.event.clone() });
            assert!(Delegation::replay(&longer).is_err(), "{}", entry.event.name());
        }
    }
}

#[test]
fn every_entry_that_is_dropped_doubled_or_swapped_is_missed() {
    for rig in [full(), decided()] {
        let length = rig.log.len();
        for at in 0..length {
            let mut dropped = rig.log.clone();
            let gone = dropped.remove(at);
            let is_missed = Delegation::replay(&dropped).is_err();
            // Without its last entry a log is the log of a run that goes on, an interruption that nobody
            // recorded was none, and nobody need write a note.
            let is_extra =
                matches!(gone.event, Event::RunResumed { .. } | Event::DelegateNoted { .. });
            let is_legal = at == length - 1 || is_extra;
            assert_eq!(is_missed, !is_legal, "without entry {at}, {}", gone.event.name());

            let mut doubled = rig.log.clone();
            doubled.insert(at, gone.clone());
            assert_eq!(
                Delegation::replay(&doubled).is_err(),
                !matches!(gone.event, Event::DelegateNoted { .. }),
                "entry {at} twice, {}",
                gone.event.name()
            );

            if at + 1 < length {
                let mut swapped = rig.log.clone();
                swapped.swap(at, at + 1);
                let names = (gone.event.name(), rig.log[at + 1].event.name());
                assert!(Delegation::replay(&swapped).is_err(), "{names:?} swapped");
            }
        }
    }
}

/// Which fields the machine proves, and which it only carries: the ones that come from outside. The
/// hash chain of the record is what guards those.
#[test]
fn what_the_machine_decides_cannot_be_altered_in_the_log() {
    let runs = [
        (full(), CARRIED),
        (decided(), CARRIED_IN_A_DECISION),
        (handed_over(), CARRIED_FROM_HAND_TO_HAND),
    ];
    for (rig, expected) in runs {
        let mut carried = BTreeMap::<&str, Vec<String>>::new();
        let mut refused = 0;
        for at in 0..rig.log.len() {
            let json = serde_json::to_value(&rig.log[at]).unwrap();
            let mut places = vec![];
            leaves("", &json, &mut places);
            for place in places {
                let mut altered = json.clone();
                alter(altered.pointer_mut(&place).unwrap());
                let Ok(entry) = serde_json::from_value::<Entry>(altered) else {
                    continue;
                };
                let mut log = rig.log.clone();
                log[at] = entry;
                if Delegation::replay(&log).is_ok() {
                    let seen = carried.entry(rig.log[at].event.name()).or_default();
                    if !seen.contains(&place) {
                        seen.push(place);
                    }
                } else {
                    refused += 1;
                }
            }
        }
        let mut list = String::new();
        for (name, places) in carried {
            list.push_str(&format!("{name}: {}\n", places.join(" ")));
        }
        assert!(refused > 50, "{refused}");
        assert_eq!(list, expected, "the list as it is:\n{list}");
    }
}

/// Codes of checks that passed, elapsed times, blobs that only a reader needs, bounds that were not
/// reached, names, the judge as a first reading found it that a second one replaces, and times as far as
/// the entries beside them leave room.
const CARRIED: &str = "\
check.finished: /event/elapsed_ms /event/finding/code
check.red: /event/elapsed_ms /event/finding/code
check.started: /at_ms
claim.received: /event/claim /event/usage/tokens /event/usage/tool_calls /event/work
delegate.dispatched: /at_ms
delegate.noted: /at_ms /event/content /event/kind /event/usage/tokens /event/usage/tool_calls
delegate.parked: /at_ms /event/detail
delegate.woken: /at_ms /event/answer
run.opened: /event/checks/0/id /event/checks/0/timeout_ms /event/checks/1/id \
/event/checks/1/timeout_ms /event/policy/max_attempts /event/policy/max_interruptions \
/event/policy/max_verify_tries /event/policy/on_exhausted /event/policy/on_fail \
/event/policy/wall_ms /event/request /event/run
run.resumed: /at_ms
run.sealed: /at_ms
world.observed: /event/judge /event/manifest
";

/// Besides those: what a hook or a human brought in, and the terms as far as nothing came of them.
const CARRIED_IN_A_DECISION: &str = "\
check.answered: /event/by
check.awaits: /at_ms
check.finished: /event/elapsed_ms /event/finding/code /event/rewrite/candidate \
/event/rewrite/claim /event/rewrite/delta
check.red: /event/elapsed_ms /event/finding/code
check.started: /at_ms
claim.received: /event/claim /event/usage/tokens /event/usage/tool_calls /event/work
delegate.dispatched: /at_ms
hook.answered: /event/decision/delta /event/decision/to /event/elapsed_ms /event/decision/action
hook.called: /at_ms
run.answered: /event/answer/attempts /event/by
run.escalated: /at_ms
run.opened: /event/checks/0/id /event/checks/0/timeout_ms /event/checks/1/id \
/event/checks/1/timeout_ms /event/checks/2/id /event/hooks/0/timeout_ms \
/event/hooks/1/timeout_ms /event/hooks/2/timeout_ms /event/hooks/3/timeout_ms \
/event/policy/max_attempts /event/policy/max_interruptions /event/policy/max_verify_tries \
/event/policy/on_exhausted /event/policy/on_fail /event/policy/verify_backoff_ms \
/event/policy/wall_ms /event/request /event/run /event/terms/envelope \
/event/terms/features/0/captured_at_ms /event/terms/features/0/ttl_ms \
/event/terms/is_required /event/terms/ladder/1/is_ready /event/terms/stages/act_ms \
/event/terms/stages/context_ms /event/terms/stages/plan_ms /event/terms/stages/verify_ms
run.sealed: /at_ms
world.observed: /event/judge /event/manifest
";

/// Besides those: who took a lease, how far above the last one, and what others asked; the times of a
/// release and of the lease behind it as far as the run still has time.
const CARRIED_FROM_HAND_TO_HAND: &str = "\
check.finished: /event/elapsed_ms
check.red: /event/elapsed_ms /event/finding/code
check.started: /at_ms
claim.received: /at_ms /event/claim /event/usage/tokens /event/usage/tool_calls /event/work
delegate.dispatched: /at_ms
lease.taken: /at_ms /event/worker /event/epoch
outcome.decided: /at_ms
run.cancel_requested: /at_ms /event/by
run.opened: /event/checks/0/id /event/checks/0/timeout_ms /event/parent \
/event/policy/max_attempts /event/policy/max_interruptions /event/policy/max_verify_tries \
/event/policy/on_exhausted /event/policy/on_fail /event/policy/verify_backoff_ms \
/event/policy/wall_ms /event/request /event/run
run.released: /at_ms
run.sealed: /at_ms
run.steered: /at_ms /event/content
world.observed: /event/judge /event/manifest
";

fn leaves(at: &str, value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            let fields = fields.into_iter();
            fields.for_each(|(key, value)| leaves(&format!("{at}/{key}"), value, found));
        }
        serde_json::Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| leaves(&format!("{at}/{index}"), value, found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// Another legal value of the same kind.
fn alter(value: &mut serde_json::Value) {
    let altered = match &*value {
        serde_json::Value::Bool(flag) => (!flag).into(),
        serde_json::Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
        serde_json::Value::String(text) if text.len() == 64 => "ab".repeat(32).into(),
        serde_json::Value::String(text) => match text.as_str() {
            "pass" => "revise",
            "revise" | "inconclusive" => "pass",
            "before" => "after",
            "after" => "before",
            "world" => "claim",
            "claim" => "world",
            "yellow" => "red",
            "warn" => "off",
            "reject" => "escalate",
            "verified" => "unverified",
            "discriminating" => "non_discriminating",
            "allow" => "not_applicable",
            "not_applicable" => "allow",
            "hook" => "claim",
            "human" => "hook",
            "hitl" => "abstain",
            "model" => "tool",
            "cache_bundle" => "small_model",
            "approval" => "verification",
            "verification" => "approval",
            "freshness" => "time",
            "delegation.pre" => "attempt.start",
            "attempt.start" => "attempt.end",
            "attempt.end" => "delegation.post",
            "delegation.post" => "delegation.pre",
            _ => "another",
        }
        .into(),
        other => panic!("{other}"),
    };
    *value = altered;
}

#[test]
fn a_log_may_not_go_back_in_time() {
    let mut log = full().log;
    for back_ms in [1, 7] {
        log[3].at_ms = log[2].at_ms - back_ms;
        assert_eq!(Delegation::replay(&log), Err(ReplayError::Time { seq: 3, back_ms }));
    }
}

#[test]
fn a_timer_that_was_not_due_is_refused() {
    let mut rig = Rig::delegated(Policy { wall_ms: Some(100), ..Policy::default() }, 1);
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
    let mut log = rig.log.clone();
    log.last_mut().unwrap().at_ms -= 1;
    assert!(matches!(Delegation::replay(&log), Err(ReplayError::Impossible { .. })));
}

#[test]
fn a_pass_that_nobody_gave_is_refused() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[revise()]);
    let mut log = rig.log;
    let dispatched = log.pop().unwrap();
    assert_eq!(dispatched.event.name(), "delegate.dispatched");
    let forged =
        Event::OutcomeDecided { outcome: Outcome::Verified, code: code("ok"), waived: false };
    log.push(Entry { at_ms: dispatched.at_ms, event: forged });
    let refused = Delegation::replay(&log);
    assert!(matches!(refused, Err(ReplayError::Impossible { .. })), "{refused:?}");
}

/// The store appends all or nothing, so a log that ends inside an append lost something. One that
/// ends where an append ended is a run that can be taken up.
#[test]
fn a_log_cut_inside_an_append_is_refused() {
    let mut missed = std::collections::BTreeSet::new();
    for whole in [full(), decided(), waived(), worn_out(), handed_over(), lost_too_often()] {
        for length in 1..=whole.log.len() {
            let replayed = Delegation::replay(&whole.log[..length]);
            if whole.boundaries.contains(&length) {
                assert!(replayed.is_ok(), "{replayed:?}");
                continue;
            }
            let missing = whole.log[length].event.name();
            let cut = ReplayError::Cut { seq: length as u64 - 1, next: missing };
            assert_eq!(replayed, Err(cut));
            missed.insert(missing);
        }
    }
    let missed: Vec<_> = missed.into_iter().collect();
    assert_eq!(
        missed,
        [
            "check.awaits",
            "check.started",
            "degrade.chosen",
            "delegate.dispatched",
            "hook.called",
            "outcome.decided",
            "run.escalated",
            "verdict.merged"
        ]
    );
}

/// A rejection that a human waives.
fn waived() -> Rig {
    let policy = Policy { on_fail: OnFailure::Escalate, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.turn(1, &[fail()]).answer(Answer::Waive);
    rig
}

/// A run that is interrupted once too often.
fn worn_out() -> Rig {
    let mut rig = Rig::delegated(Policy { max_interruptions: 0, ..Policy::default() }, 1);
    rig.crash();
    assert_eq!(rig.ended(), (Outcome::Exhausted, "interruptions"));
    rig
}

/// The same by leases.
fn lost_too_often() -> Rig {
    let mut rig = Rig::delegated(Policy { max_interruptions: 1, ..Policy::default() }, 1);
    rig.lease().lease();
    assert_eq!(rig.ended(), (Outcome::Exhausted, "interruptions"));
    rig
}

/// What follows of itself stands in the same append, so nothing can have come between, whatever
/// would be welcome there.
#[test]
fn what_follows_of_itself_cannot_be_replaced() {
    for whole in [full(), decided()] {
        let others = [
            Event::OutcomeDecided {
                outcome: Outcome::Cancelled,
                code: code("user"),
                waived: false,
            },
            Event::RunResumed { interruptions: 1 },
            Event::LeaseTaken { epoch: 9, worker: "w".parse().unwrap(), interruptions: 1 },
            Event::RunReleased,
            Event::CancelRequested { by: d(1) },
            Event::Steered { content: d(1) },
        ];
        let mut refused = 0;
        for at in 1..whole.log.len() {
            if whole.boundaries.contains(&at) {
                continue;
            }
            for other in &others {
                let mut log = whole.log[..=at].to_vec();
                let is_same = log[at].event.name() == other.name();
                log[at].event = other.clone();
                let (seq, got) = (at as u64, other.name());
                match Delegation::replay(&log) {
                    Err(ReplayError::Differs { seq: s, got: g }) => {
                        assert_eq!((s, g, is_same), (seq, got, true));
                    }
                    Err(ReplayError::Impossible { seq: s, got: g, .. }) => {
                        assert_eq!((s, g, is_same), (seq, got, false));
                    }
                    other => panic!("entry {at}: {other:?}"),
                }
                refused += 1;
            }
        }
        assert!(refused >= 14, "{refused}");
    }
}

/// What only became due later may be overtaken: a cancel while a try is waited for.
#[test]
fn what_is_not_due_yet_can_be_overtaken() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[inconclusive()]).wait(3_600_000).cancel();
    assert!(Delegation::replay(&rig.log).is_ok());
}

/// A rejection cannot be hidden behind a cancel.
#[test]
fn a_cancel_in_the_place_of_a_refusal_is_refused() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[fail()]);
    let mut log = rig.log;
    let at_ms = log.pop().unwrap().at_ms;
    for late_ms in [0, 1, 60_000] {
        let event = Event::OutcomeDecided {
            outcome: Outcome::Cancelled,
            code: code("user"),
            waived: false,
        };
        let forged = Entry { at_ms: at_ms + late_ms, event };
        let mut log = log.clone();
        log.push(forged);
        let (seq, got) = (log.len() as u64 - 1, "outcome.decided");
        assert_eq!(Delegation::replay(&log), Err(ReplayError::Differs { seq, got }));
    }
}

/// The end of the run's time stands in the log as findings; before that time it may not.
#[test]
fn an_end_of_time_that_had_not_come_is_refused() {
    let mut rig = Rig::delegated(Policy { wall_ms: Some(100), ..Policy::default() }, 2);
    rig.claim(1).observe(Phase::After).finish(revise());
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
    let held = rig.log.len();
    assert!(Delegation::replay(&rig.log).is_ok());
    let mut log = rig.log;
    for entry in &mut log[held - 3..] {
        entry.at_ms -= 1;
    }
    assert!(Delegation::replay(&log).is_err());
}

#[test]
fn a_second_claim_of_a_turn_is_no_log() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.claim(1).observe(Phase::After);
    let mut log = rig.log.clone();
    let again = Event::ClaimReceived {
        turn: turn(0),
        submission: crate::rig::submission(turn(0)),
        candidate: d(2),
        claim: d(3),
        work: 0,
        usage: Usage::default(),
    };
    log.push(Entry { at_ms: rig.now_ms, event: again });
    assert!(matches!(Delegation::replay(&log), Err(ReplayError::Impossible { .. })));
}

/// Of a kind that belongs there: the event is not the one. Of another kind: nothing like it belongs there.
#[test]
fn an_altered_event_is_told_from_one_that_has_no_place() {
    let mut rig = Rig::open(Policy::default(), vec![world_check("a")]);
    rig.observe(Phase::Before).finish(revise());
    let mut log = rig.log.clone();
    let Event::CheckRed { discrimination, .. } = &mut log.last_mut().unwrap().event else {
        panic!("{log:?}");
    };
    *discrimination = probity_core::Discrimination::NonDiscriminating;
    let seq = log.len() as u64 - 1;
    assert_eq!(Delegation::replay(&log), Err(ReplayError::Differs { seq, got: "check.red" }));

    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[inconclusive()]);
    rig.timer().unwrap();
    let log = rig.log;
    let (seq, last) = (log.len() as u64 - 1, log.last().unwrap().clone());
    let Event::CheckStarted { phase, check, tries: 2 } = last.event else { panic!("{last:?}") };
    let with = |event: Event| {
        let mut log = log.clone();
        log.last_mut().unwrap().event = event;
        Delegation::replay(&log)
    };
    let third = with(Event::CheckStarted { phase, check, tries: 3 });
    assert_eq!(third, Err(ReplayError::Differs { seq, got: "check.started" }));
    let got = "world.observed";
    let foreign = with(Event::WorldObserved { phase: Phase::Before, manifest: d(1), judge: d(2) });
    assert!(
        matches!(foreign, Err(ReplayError::Impossible { seq: s, got: g, .. }) if (s, g) == (seq, got))
    );
}
