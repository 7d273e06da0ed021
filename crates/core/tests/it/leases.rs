//! Who drives a run: leases, releases, what they count and whose time passes meanwhile.

use probity_core::{
    Answer, Charter, Effect, Entry, Event, Handled, HookDecision, HookPoint, Input, OnFailure,
    Outcome, Phase, Policy, Refusal, Stage, Terms,
};
use proptest::prelude::*;

use crate::rig::{
    Rig, claim_checks, fail, hook, human_check, inconclusive, pass, revise, world_check,
};
use crate::schedule::{Step, charters, input, steps};
use crate::stage_by_input::{columns, effect_word};
use crate::terms::terms;

/// A worker that takes the run up, where somebody drives it and where it was left: `+` where that is an
/// interruption, and what it is asked to do. Nobody can leave a run that has its outcome.
const TABLE: &str = "
Op + snapshot before | - snapshot before
RC + run c0 try 1 again | - run c0 try 1
RD + snapshot before | - snapshot before
Hs + call h0 again | - call h0
De + dispatch 0 again | - dispatch 0
Pt - park 0 | - park 0
Pa - park 0 | - park 0
Cl + snapshot after | - snapshot after
Wa +  | - 
Ch + run c0 try 1 again | - run c0 try 1
Aw - ask c2 | - ask c2
He + call h1 again | - call h1
Es - escalate rejected | - escalate rejected
Dc + commit, seal | ended
Sd ended | ended
";

#[test]
fn a_lease_is_an_interruption_exactly_where_somebody_was_at_work() {
    let mut table = "\n".to_owned();
    for (name, rig) in columns() {
        let taken = |is_left: bool| {
            let mut rig = rig.clone();
            if is_left {
                if let Err(refusal) = rig.feed(Input::Release) {
                    assert!(matches!(refusal, Refusal::Ended { .. }), "{refusal}");
                    return "ended".to_owned();
                }
                assert!(rig.machine.is_released());
            }
            if let Err(refusal) = rig.feed(Rig::leased(1)) {
                assert!(matches!(refusal, Refusal::Ended { .. }), "{refusal}");
                return "ended".to_owned();
            }
            assert!(!rig.machine.is_released());
            assert_eq!(rig.machine.epoch(), 1);
            let mark = match rig.machine.interruptions() {
                0 => '-',
                1 => '+',
                more => panic!("{more}"),
            };
            let effects: Vec<_> = rig.due.iter().map(effect_word).collect();
            format!("{mark} {}", effects.join(", "))
        };
        table.push_str(&format!("{name} {} | {}\n", taken(false), taken(true)));
    }
    assert_eq!(table, TABLE, "the table as it is:\n{table}");
}

/// The time in the queue moves every end of time by as much, except where the run waits for others: they
/// were given a time.
#[test]
fn the_time_in_a_queue_is_nobodys() {
    const QUEUED_MS: u64 = 3_600_000;
    for (name, rig) in columns() {
        let mut rig = rig.clone();
        rig.wait(7);
        let before = rig.machine.poll_timeout();
        if rig.feed(Input::Release).is_err() {
            assert!(matches!(name, "Dc" | "Sd"));
            continue;
        }
        assert_eq!(rig.machine.poll_timeout(), before, "{name}: until somebody takes it up");
        rig.wait(QUEUED_MS).lease();
        let moved = match name {
            "Pt" | "Pa" | "Aw" | "Es" => before,
            // The pause before the next try passed in the queue, so that it is made at once.
            "Wa" => {
                assert_eq!(effect_word(&rig.due[0]), "run c1 try 2");
                Some(101_000 + QUEUED_MS)
            }
            _ => before.map(|before| before + QUEUED_MS),
        };
        assert_eq!(rig.machine.poll_timeout(), moved, "{name}");
        let left = rig.due.iter().find_map(timeout_ms);
        let expected = match name {
            "De" => Some(99_993),
            "Ch" => Some(9_993),
            // A red check has its time from when it is asked for.
            "RC" => Some(10_000),
            "Wa" | "Hs" | "He" => Some(9_993),
            _ => None,
        };
        assert_eq!(left, expected, "{name}: what its effect has left");
    }
}

fn timeout_ms(effect: &Effect) -> Option<u64> {
    match effect {
        Effect::RunCheck { timeout_ms, .. } | Effect::CallHook { timeout_ms, .. } => {
            Some(*timeout_ms)
        }
        Effect::Dispatch { timeout_ms, .. } => *timeout_ms,
        _ => None,
    }
}

/// Act and verify have their own ends under terms.
#[test]
fn stages_do_not_run_out_in_a_queue() {
    let terms = Terms { ladder: vec![], ..terms() };
    let (act_ms, verify_ms) = (terms.stages.act_ms, terms.stages.verify_ms);
    let policy = Policy { wall_ms: Some(act_ms + verify_ms + 10_000), ..Policy::default() };
    let charter = Charter { terms: Some(terms), ..Charter::new(policy, claim_checks(1)) };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before).wait(act_ms - 1).release().wait(1_000_000).lease();
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 1));
    rig.wait(1).claim(1).observe(Phase::After);
    rig.wait(verify_ms - 1).release().wait(1_000_000).lease();
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 1));
    rig.wait(1).finish(pass());
    assert_eq!(rig.ended().0, Outcome::Verified);
}

/// A wait is counted by whoever waits, once, however many workers come and go in it.
#[test]
fn the_time_of_a_wait_is_counted_once() {
    let policy = Policy { wall_ms: Some(1_000), ..Policy::default() };
    let checks = vec![world_check("a"), human_check("b")];
    let mut rig = Rig::of(Charter::new(policy, checks));
    rig.observe(Phase::Before).finish(revise()).observe(Phase::Before).wait(100);
    let handed_over = |rig: &mut Rig| {
        for _ in 0..3 {
            rig.release().wait(700).lease().wait(700).lease().wait(100);
        }
        assert_eq!(rig.machine.interruptions(), 0);
    };
    rig.park(None);
    handed_over(&mut rig);
    rig.wake();
    assert_eq!(rig.machine.poll_timeout(), Some(2_000 + 3 * 1_500), "900 ms are left");
    rig.turn(1, &[pass()]);
    assert!(matches!(rig.machine.stage(), Stage::Awaiting { .. }));
    handed_over(&mut rig);
    rig.human(revise());
    assert_eq!(rig.machine.poll_timeout(), Some(2_000 + 6 * 1_500), "and still are");
}

/// What a human lets go on has its whole time from then.
#[test]
fn workers_come_and_go_while_a_human_is_called() {
    let policy = Policy { wall_ms: Some(1_000), on_fail: OnFailure::Escalate, ..Policy::default() };
    let mut rig = Rig::open(policy, claim_checks(1));
    rig.observe(Phase::Before).turn(1, &[fail()]);
    rig.release().wait(5_000).lease().wait(5_000).lease();
    assert_eq!(rig.machine.interruptions(), 0);
    rig.answer(Answer::Continue { attempts: 1 });
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 1_000));
}

/// The tries of a check have one time; the queue is no part of it.
#[test]
fn a_retry_has_what_the_tries_before_it_left() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.claim(1).observe(Phase::After).wait(4_000).finish(inconclusive());
    rig.wait(1).release().wait(1_000_000).lease();
    let [Effect::RunCheck { tries: 2, is_replay: false, timeout_ms, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    let left_ms = 5_999;
    assert_eq!(timeout_ms, left_ms);
    rig.wait(1_000).release().wait(1_000_000).lease();
    assert_eq!(rig.due.iter().find_map(timeout_ms_of_check), Some(left_ms - 1_000));
}

/// Whoever waits for the next try may do so in the queue, in as many parts as it takes.
#[test]
fn the_pause_before_a_retry_passes_in_a_queue() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.claim(1).observe(Phase::After).finish(inconclusive());
    let due_ms = rig.machine.poll_timeout().unwrap();
    let pause_ms = due_ms - rig.now_ms;
    rig.release().wait(pause_ms / 2).lease();
    assert_eq!(rig.machine.poll_timeout(), Some(due_ms));
    rig.release().wait(pause_ms).lease();
    assert!(matches!(rig.due[..], [Effect::RunCheck { tries: 2, .. }]), "{:?}", rig.due);
}

fn timeout_ms_of_check(effect: &Effect) -> Option<u64> {
    matches!(effect, Effect::RunCheck { .. }).then(|| timeout_ms(effect)).flatten()
}

#[test]
fn a_lost_lease_gives_what_was_in_flight_its_whole_time_again() {
    let mut leased = Rig::delegated(Policy::default(), 1);
    leased.claim(1).observe(Phase::After).wait(4_000);
    let mut resumed = leased.clone();
    leased.lease();
    resumed.ok(Input::Resume);
    assert_eq!(leased.due, resumed.due);
    assert_eq!(leased.due.iter().find_map(timeout_ms), Some(10_000));
}

#[test]
fn a_lease_beyond_the_bound_ends_the_run() {
    for max_interruptions in 0..3 {
        let policy = Policy { max_interruptions, ..Policy::default() };
        let mut rig = Rig::delegated(policy, 1);
        for _ in 0..max_interruptions {
            rig.lease();
            // What was left is no interruption, however often.
            rig.release().lease().release().lease();
            assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
        }
        assert_eq!(rig.machine.interruptions(), max_interruptions);
        rig.lease();
        assert_eq!(rig.ended(), (Outcome::Exhausted, "interruptions"));
        // Somebody must write the seal all the same.
        rig.lease();
        assert_eq!(rig.ended(), (Outcome::Exhausted, "interruptions"));
        rig.ok(Input::Sealed);
        let ended = Refusal::Ended { outcome: Outcome::Exhausted };
        assert_eq!(rig.feed(Rig::leased(1_000)), Err(ended));
    }
}

#[test]
fn an_epoch_only_rises() {
    let mut rig = Rig::delegated(Policy { max_interruptions: 100, ..Policy::default() }, 1);
    let stale = |held, got| Err(Refusal::StaleEpoch { held, got });
    assert_eq!(rig.machine.epoch(), 0);
    assert_eq!(rig.feed(Rig::leased(0)), stale(0, 0));
    rig.ok(Rig::leased(7));
    for got in [0, 6, 7] {
        assert_eq!(rig.feed(Rig::leased(got)), stale(7, got));
    }
    rig.ok(Rig::leased(8)).ok(Rig::leased(u64::MAX));
    assert_eq!(rig.feed(Rig::leased(u64::MAX)), stale(u64::MAX, u64::MAX));
    assert_eq!(rig.machine.epoch(), u64::MAX);
}

#[test]
fn a_run_is_left_once_until_somebody_takes_it_up() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    assert!(!rig.machine.is_released());
    rig.release();
    assert_eq!(rig.wait(5).feed(Input::Release), Ok(Handled::Unchanged));
    // Who talks to it does not take it up.
    rig.ok(Input::Steer { content: crate::rig::d(1) });
    rig.ok(Input::RequestCancel { by: crate::rig::d(2) });
    assert!(rig.machine.is_released());
    assert_eq!(rig.feed(Input::Release), Ok(Handled::Unchanged));
    rig.lease();
    assert!(!rig.machine.is_released());
    rig.release();
    // Nor does whoever goes on with it without a lease leave it in the queue.
    rig.claim(1);
    assert!(!rig.machine.is_released());
}

/// Since the release, not since what was said behind it.
#[test]
fn what_is_said_in_the_queue_does_not_stop_its_clock() {
    let policy = Policy { wall_ms: Some(1_000), ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.wait(100).release().wait(5_000).ok(Input::Steer { content: crate::rig::d(1) });
    rig.wait(5_000).ok(Input::RequestCancel { by: crate::rig::d(2) }).wait(5_000).lease();
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 900));
}

#[test]
fn a_hook_in_flight_keeps_its_time_in_the_queue() {
    let hooks = vec![hook("h", HookPoint::DelegationPre)];
    let mut rig = Rig::of(Charter { hooks, ..Charter::new(Policy::default(), claim_checks(1)) });
    rig.observe(Phase::Before).wait(4_000).release().wait(1_000_000).lease();
    assert_eq!(rig.due.iter().find_map(timeout_ms), Some(6_000));
    rig.hook(HookDecision::Allow);
    assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
}

/// A hand-over behind one step of a schedule: the run is left, lies in a queue, and is taken up.
struct Handover {
    behind: usize,
    queued_ms: u64,
}

/// Plays a schedule; also how long the log was behind each step, and whether the run can be handed over
/// there: somebody works on it, and nothing is overdue that whoever takes it up would do first.
fn play(
    charter: &Charter,
    steps: &[Step],
    handover: Option<&Handover>,
) -> (Rig, Vec<(usize, bool)>) {
    let mut rig = Rig::of(charter.clone());
    let mut seen = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        rig.wait(step.wait_ms);
        let input = input(&mut rig, step);
        let _: Result<Handled, Refusal> = rig.feed(input);
        let stage = rig.machine.stage();
        let is_due = rig.machine.poll_timeout().is_some_and(|due_ms| due_ms <= rig.now_ms);
        let can = stage.outcome().is_none() && !waits(stage) && !is_due;
        seen.push((rig.log.len(), can));
        if let Some(handover) = handover.filter(|it| it.behind == at) {
            rig.release().wait(handover.queued_ms).lease();
        }
    }
    (rig, seen)
}

/// Time passes for the run there, whoever has it.
const fn waits(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::Parked { .. } | Stage::Awaiting { .. } | Stage::Escalated { .. } | Stage::Settled
    )
}

/// The log without the hand-over, and with its times as they were without it.
fn without(log: &[Entry], from: usize, queued_ms: u64) -> Vec<Entry> {
    let mut entries = log.to_vec();
    // The first of them is the release itself.
    for entry in entries.iter_mut().skip(from.saturating_add(1)) {
        entry.at_ms -= queued_ms;
        match &mut entry.event {
            Event::CheckAwaits { until_ms, .. }
            | Event::DelegateParked { until_ms: Some(until_ms), .. } => *until_ms -= queued_ms,
            _ => {}
        }
    }
    entries.retain(|it| !matches!(it.event, Event::RunReleased | Event::LeaseTaken { .. }));
    entries
}

/// Nothing of the schedule leaves, takes up, or depends on the time of day, as the pause before the next
/// try of a check does.
fn plain((mut charter, mut steps): (Charter, Vec<Step>)) -> (Charter, Vec<Step>) {
    if let Some(terms) = &mut charter.terms {
        terms.features = vec![];
    }
    charter.policy.max_verify_tries = 1;
    steps.retain(|step| step.act < 43);
    (charter, steps)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A run that was handed over in the midst of its work goes on as the one that was not, entry by
    /// entry, later by the time in the queue.
    #[test]
    fn a_run_that_was_handed_over_goes_on_as_if_nothing_had_been(
        plan in (charters(), steps()).prop_map(plain),
        behind in any::<prop::sample::Index>(), queued_ms in 0u64..1_000_000,
    ) {
        let (charter, steps) = plan;
        let (whole, seen) = play(&charter, &steps, None);
        let places: Vec<_> = seen.iter().enumerate().filter(|(_, (_, can))| *can).collect();
        if places.is_empty() {
            return Ok(());
        }
        let (behind, (from, _)) = *behind.get(&places);
        let (handed, _) = play(&charter, &steps, Some(&Handover { behind, queued_ms }));
        prop_assert_eq!(handed.log.len(), whole.log.len() + 2);
        prop_assert_eq!(without(&handed.log, *from, queued_ms), whole.log);
        prop_assert_eq!(handed.machine.interruptions(), whole.machine.interruptions());
        let later = whole.machine.poll_timeout().map(|due_ms| due_ms + queued_ms);
        prop_assert_eq!(handed.machine.poll_timeout(), later);
    }

    /// Workers that come and go while the run waits for somebody else change nothing at all.
    #[test]
    fn a_hand_over_in_a_wait_changes_nothing(
        plan in (charters(), steps()).prop_map(plain), flags in prop::collection::vec(any::<bool>(), 60),
    ) {
        let (charter, steps) = plan;
        let mut flags = flags.into_iter();
        let (whole, _) = play(&charter, &steps, None);
        let mut rig = Rig::of(charter);
        for step in &steps {
            // The wait goes on in the queue.
            let in_queue = waits(rig.machine.stage()) && flags.next() == Some(true);
            if in_queue {
                rig.release();
            }
            rig.wait(step.wait_ms);
            if in_queue {
                rig.lease();
            }
            let input = input(&mut rig, step);
            let _: Result<Handled, Refusal> = rig.feed(input);
        }
        prop_assert_eq!(without(&rig.log, 0, 0), whole.log);
        prop_assert_eq!(rig.machine.interruptions(), whole.machine.interruptions());
    }
}
