//! With crashes: the run comes to the same, and nothing is lost, repeated or counted twice.

use probity_core::{Outcome, Policy};
use probity_sim::{Crash, Moment, Report, Rng, Script, Tempo, World, predict};

const SEEDS: u64 = 1_000;
const MOMENTS: [Moment; 3] = [Moment::BeforeAppend, Moment::AfterAppend, Moment::AfterAct];

fn run(script: &Script, crashes: &[Crash], seed: u64) -> Report {
    World::new(script, crashes)
        .run()
        .unwrap_or_else(|violation| panic!("{seed} {crashes:?}: {violation}\n{script:#?}"))
}

/// The same in everything but the time.
fn assert_same(seed: u64, script: &Script, crashes: &[Crash], report: &Report) {
    let mut expected = predict(script);
    assert!(report.account.ended_ms >= expected.ended_ms);
    expected.ended_ms = report.account.ended_ms;
    assert_eq!(report.account, expected, "{seed} {crashes:?}\n{script:#?}");
    assert_eq!(report.interruptions, report.resumed, "{seed} {crashes:?}");
    let deaths = crashes.len() + report.lost as usize;
    assert!(report.interruptions as usize <= deaths);
    let dispatches = expected.dispatched.len() + expected.waits as usize;
    assert!(report.asked as usize <= dispatches + deaths);
}

/// Every append point and every act of 1,000 schedules, one crash each.
#[test]
fn one_crash_anywhere_changes_nothing() {
    let (mut runs, mut noted) = (0u64, 0u64);
    for seed in 0..SEEDS {
        let script = Script::random(&mut Rng::new(seed), Tempo::Relaxed);
        let whole = run(&script, &[], seed);
        for moment in MOMENTS {
            let points = if moment == Moment::AfterAct { whole.acts } else { whole.appends };
            for nth in 0..points {
                let crashes = [Crash { moment, nth }];
                let report = run(&script, &crashes, seed);
                assert_same(seed, &script, &crashes, &report);
                runs += 1;
                noted += u64::from(report.account.notes.len() > 1);
            }
        }
    }
    assert!(runs > 20 * SEEDS && noted > 5 * SEEDS, "{noted} of {runs}");
}

/// Several crashes in one run, also while it recovers from the one before.
#[test]
fn many_crashes_change_nothing() {
    for seed in 0..10 * SEEDS {
        let mut rng = Rng::new(seed);
        let script = Script::random(&mut rng, Tempo::Relaxed);
        let crashes: Vec<_> = (0..rng.between(2, 12))
            .map(|_| Crash {
                moment: *rng.pick(&MOMENTS).unwrap_or(&Moment::AfterAct),
                nth: u32::try_from(rng.below(30)).unwrap_or(0),
            })
            .collect();
        let report = run(&script, &crashes, seed);
        assert_same(seed, &script, &crashes, &report);
    }
}

/// Where time binds, a crash may change the outcome, because it costs time. What the world checks at
/// every step holds all the same, and the run ends.
#[test]
fn crashes_near_a_deadline_break_no_rule() {
    for seed in 0..5 * SEEDS {
        let mut rng = Rng::new(seed);
        let script = Script::random(&mut rng, Tempo::Tight);
        let crashes: Vec<_> = (0..rng.between(1, 6))
            .map(|_| Crash {
                moment: *rng.pick(&MOMENTS).unwrap_or(&Moment::AfterAct),
                nth: u32::try_from(rng.below(20)).unwrap_or(0),
            })
            .collect();
        let report = run(&script, &crashes, seed);
        assert_eq!(report.interruptions, report.resumed);
        let counted = report.account.rows.iter().filter(|row| row.counted).count();
        assert_eq!(report.account.attempts as usize, counted);
    }
}

/// A run that dies again and again ends, and the delegate is charged nothing for it.
#[test]
fn the_budget_of_interruptions_ends_a_run_that_keeps_dying() {
    for max_interruptions in 0..4 {
        for seed in 0..100 {
            let mut script = Script::random(&mut Rng::new(seed), Tempo::Relaxed);
            script.policy = Policy { max_interruptions, ..script.policy };
            let crashes: Vec<_> =
                (0..8).map(|nth| Crash { moment: Moment::AfterAct, nth }).collect();
            let report = run(&script, &crashes, seed);
            let whole = run(&script, &[], seed);
            if report.resumed > max_interruptions
                && report.account.outcome == Outcome::Exhausted
                && report.account.code == "interruptions"
            {
                assert_eq!(report.interruptions, max_interruptions + 1);
                assert!(report.account.attempts <= whole.account.attempts);
            } else {
                assert_eq!(report.account.outcome, whole.account.outcome);
            }
        }
    }
}
