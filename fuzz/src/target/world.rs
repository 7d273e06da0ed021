//! The machine in the simulated world, beside the reference model.

use probity_sim::{Crash, Moment, Report, Rng, Script, Tempo, World, predict};

use super::Target;
use crate::seed;

pub(super) const TARGETS: [Target; 2] = [
    Target::new("world", world, || seed::tapes(24, 192)),
    Target::new("crash", crash, || seed::tapes(24, 192)),
];

/// A script, played without a crash: the machine does what the model says, to the millisecond.
fn world(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let tempo = if first % 2 == 0 { Tempo::Relaxed } else { Tempo::Tight };
    let script = Script::random(&mut Rng::of_tape(rest), tempo);
    let report = played(&script, &[]);
    assert_eq!(report.account, predict(&script), "{script:#?}");
    assert_eq!((report.interruptions, report.resumed), (report.lost, report.lost));
}

/// A script, and deaths of the driver at any append and behind any act: the run comes to the same, and
/// nothing is lost, repeated or counted twice.
fn crash(bytes: &[u8]) {
    let Some((count, rest)) = bytes.split_first() else { return };
    let mut rng = Rng::of_tape(rest);
    let tempo = if count % 2 == 0 { Tempo::Relaxed } else { Tempo::Tight };
    let moments = [Moment::BeforeAppend, Moment::AfterAppend, Moment::AfterAct];
    let crashes: Vec<Crash> = (0..1 + count / 2 % 6)
        .map(|_| Crash {
            moment: *rng.pick(&moments).unwrap_or(&Moment::AfterAct),
            nth: u32::try_from(rng.below(40)).unwrap_or(0),
        })
        .collect();
    let script = Script::random(&mut rng, tempo);
    let report = played(&script, &crashes);
    assert_eq!(report.interruptions, report.resumed, "{crashes:?}\n{script:#?}");
    let counted = report.account.rows.iter().filter(|row| row.counted).count();
    assert_eq!(report.account.attempts as usize, counted);
    // Where time binds, a crash costs some of it and may change the end.
    if tempo == Tempo::Relaxed && report.account.code != "interruptions" {
        let mut expected = predict(&script);
        assert!(report.account.ended_ms >= expected.ended_ms);
        expected.ended_ms = report.account.ended_ms;
        assert_eq!(report.account, expected, "{crashes:?}\n{script:#?}");
        let deaths = crashes.len() + report.lost as usize;
        let dispatches = expected.dispatched.len() + expected.waits as usize;
        assert!(report.interruptions as usize <= deaths);
        assert!(report.asked as usize <= dispatches + deaths);
    }
}

#[expect(clippy::panic, reason = "a rule that is broken is what the fuzzer looks for")]
fn played(script: &Script, crashes: &[Crash]) -> Report {
    match World::new(script, crashes).run() {
        Ok(report) => report,
        Err(violation) => panic!("{violation} {crashes:?}\n{script:#?}"),
    }
}
