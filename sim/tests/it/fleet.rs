//! Workers, stores and people in the simulated world: schedules by seed, against every invariant.
//!
//! `PROBITY_FLEET_SEEDS` sets the number of schedules, 10,000 by default, in `PARTS` parts that run at the
//! same time. `PROBITY_SIM_SEED` is the seed that `fleet_replay` plays, with its whole trace.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use probity_sim::fleet::{Defect, FleetTally, Invariant, Schedule, play, play_with};

const PARTS: u64 = 4;
/// Seeds within which every defect must be found.
const DEFECT_SEEDS: u64 = 400;

/// Seeds whose schedules once broke something.
const REGRESSIONS: [(u64, &str); 7] = [
    (7, "a store that did not answer once made a delegate fail that was reading its notes"),
    (28, "the pause before the next try of a check never passed in a queue"),
    (98, "the schedule itself: a fenced holder is not told of what is done behind its back"),
    (
        1_706,
        "the schedule itself: one worker with two leases of a run is not told apart from itself",
    ),
    (9_400, "the schedule itself: the same, once the later one has ended"),
    (221, "a worker that was told to stop in the midst of an append began the next check"),
    (134, "the schedule itself: a delegate that was told to stop went on submitting"),
];

fn seeds() -> u64 {
    let seeds = std::env::var("PROBITY_FLEET_SEEDS").ok().and_then(|text| text.parse().ok());
    seeds.unwrap_or(10_000)
}

/// One of the parts: every `PARTS`-th seed.
fn fleet(part: u64) {
    let mut tally = FleetTally::default();
    for seed in (0..seeds()).filter(|seed| seed % PARTS == part) {
        let report = play(seed);
        assert!(report.breaches.is_empty(), "{report}");
        tally.add(&report.tally);
    }
    println!("{tally}");
    if tally.schedules < 500 {
        return;
    }
    // Nothing is proved about what did not happen.
    for (count, what) in [
        (tally.crashes, "crashes"),
        (tally.drains, "drains"),
        (tally.freezes, "freezes"),
        (tally.partitions, "partitions"),
        (tally.clock_jumps, "clock jumps"),
        (tally.lost_replies, "lost replies"),
        (tally.refusals, "refusals"),
        (tally.early_expiries, "early expiries"),
        (tally.duplicates, "duplicates"),
        (tally.plan_failures, "plan failures"),
        (tally.dead_letters, "dead letters"),
        (tally.taken_over, "runs that were taken over"),
        (tally.stale_acts, "acts behind a later lease"),
        (tally.children, "children"),
        (tally.cancelled, "cancelled runs"),
        (tally.steers, "steers"),
        (tally.answers, "answers"),
    ] {
        assert!(count > 0, "no {what}: {tally}");
    }
}

#[test]
fn fleet_schedules_0() {
    fleet(0);
}

#[test]
fn fleet_schedules_1() {
    fleet(1);
}

#[test]
fn fleet_schedules_2() {
    fleet(2);
}

#[test]
fn fleet_schedules_3() {
    fleet(3);
}

#[test]
fn fleet_replay() {
    let Some(seed) = std::env::var("PROBITY_SIM_SEED").ok().and_then(|text| text.parse().ok())
    else {
        return;
    };
    let report = play(seed);
    report.trace.iter().for_each(|line| println!("{line}"));
    assert!(report.breaches.is_empty(), "{report}");
}

#[test]
fn fleet_regressions() {
    for (seed, what) in REGRESSIONS {
        let report = play(seed);
        assert!(report.breaches.is_empty(), "{what}\n{report}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..200 {
        let (one, other) = (play(seed), play(seed));
        let differs = one.trace.iter().zip(&other.trace).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{seed}");
        assert_eq!(one.trace.len(), other.trace.len(), "{seed}");
        assert_eq!(one.tally, other.tally, "{seed}");
    }
}

/// Every defect that is built in on purpose is found, under the name of what it breaks.
#[test]
fn built_in_defects_are_found() {
    let named: BTreeSet<_> = Defect::ALL.iter().map(|(_, invariant)| *invariant).collect();
    assert!(Invariant::ALL.iter().all(|invariant| named.contains(invariant)), "{named:?}");
    let next = AtomicU64::new(0);
    let missed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((defect, invariant)) =
                    usize::try_from(next.fetch_add(1, Ordering::SeqCst))
                        .ok()
                        .and_then(|index| Defect::ALL.get(index))
                {
                    let finds = |seed: &u64| {
                        let report = play_with(Schedule::of(*seed), Some(*defect));
                        report.breaches.iter().any(|breach| breach.invariant == *invariant)
                    };
                    match (0..DEFECT_SEEDS).find(finds) {
                        Some(seed) => {
                            println!("{defect:?} is found as {invariant:?} with seed {seed}")
                        }
                        None => {
                            println!("{defect:?} is not found as {invariant:?}");
                            missed.store(true, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    assert!(!missed.load(Ordering::SeqCst), "a defect was not found");
}
