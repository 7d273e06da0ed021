//! A store that fails at any append, in any way: the run stops, nothing is done behind it, and a
//! resumption comes to the same end. Where only the answer was lost the run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_core::{Entry, Event, Outcome};
use probity_engine::{Plan, Report, Watch};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ledger::{Break, Ledger};
use crate::rig::{Eye, Rig, When, bounded, late_worker, timeless};

/// Appends of the whole run: two turns, two checks, red first.
const APPENDS: usize = 13;

/// A store that breaks, with the rig around it.
struct Broken {
    rig: Rig,
    store: Arc<Ledger>,
}

impl Broken {
    fn new(change: impl FnOnce(Ledger) -> Ledger) -> Self {
        let (rig, store) = Rig::on_ledger(change);
        Self { rig, store }
    }

    fn plan(&self) -> Plan {
        let checks = ["a", "b"].map(|id| Eye::file(&self.rig, "out.txt").check(id));
        self.rig.plan(late_worker(&self.rig), checks)
    }

    /// The log without resumptions and times.
    async fn events(&self) -> Vec<Event> {
        let log = self.rig.log().await;
        let events = log.entries.iter().map(timeless);
        events.filter(|event| !matches!(event, Event::RunResumed { .. })).collect()
    }
}

fn same_end(report: &Report, expected: &Report) {
    assert_eq!(report.outcome, Some(Outcome::Verified));
    assert_eq!((report.attempts, report.history.len()), (2, 2));
    let candidates = |report: &Report| -> Vec<_> {
        report.history.iter().map(|it| (it.turn, it.verdict, it.counted, it.candidate)).collect()
    };
    assert_eq!(candidates(report), candidates(expected));
}

#[tokio::test]
async fn every_append_may_fail_in_every_way() {
    let whole = Broken::new(|store| store);
    let (_, expected) = whole.rig.whole(whole.plan()).await;
    let (events, appends) = (whole.events().await, whole.store.batches().len());
    let effects = ["read", "look", "ask"].map(|effect| whole.rig.account.count(effect));
    assert_eq!(appends, APPENDS);

    for nth in 0..appends {
        for how in Break::ALL {
            let broken = Broken::new(|store| store.breaking(nth, how));
            let rig = &broken.rig;
            let result = rig.try_run(broken.plan()).await;
            if matches!(how, Break::UnknownStored | Break::UnknownLost) {
                // The tail was read and said what had happened.
                assert_eq!(result.unwrap().outcome, Outcome::Verified, "{nth} {how:?}");
                let now = ["read", "look", "ask"].map(|effect| rig.account.count(effect));
                assert_eq!(now, effects, "{nth} {how:?}");
                assert_eq!(broken.events().await, events, "{nth} {how:?}");
                same_end(&rig.report().await, &expected);
                continue;
            }
            let code = match (how, nth) {
                (Break::Unavailable, _) => "store_io",
                (_, 0) => "run_exists",
                _ => "run_fenced",
            };
            assert_eq!(result.unwrap_err().code(), code, "{nth} {how:?}");
            let lines = rig.account.lines();
            assert_eq!(lines.last().unwrap(), "broken", "{nth} {how:?}: {lines:#?}");
            assert_eq!(broken.store.batches().len(), nth);
            if nth == 0 {
                let missing = rig.resume(broken.plan()).await.unwrap_err();
                assert_eq!(missing.code(), "run_missing");
                rig.run(broken.plan()).await;
            } else {
                assert_eq!(rig.resume(broken.plan()).await.unwrap().outcome, Outcome::Verified);
            }
            let report = rig.report().await;
            same_end(&report, &expected);
            assert_eq!(report.interruptions, u32::from(nth > 0));
            assert_eq!(broken.events().await, events, "{nth} {how:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_stays_unknown_stops_the_run() {
    for (nth, how) in [(0, Break::UnknownLost), (6, Break::UnknownLost)] {
        let broken = Broken::new(|store| store.breaking_from(nth, how));
        let error = broken.rig.try_run(broken.plan()).await.unwrap_err();
        assert_eq!(error.code(), "append_unknown");
        assert_eq!(broken.rig.account.count("broken"), 5, "tries are bounded");
        assert_eq!(broken.rig.account.lines().last().unwrap(), "broken");
        broken.store.mend();
        let ended = match nth {
            0 => broken.rig.run(broken.plan()).await,
            _ => broken.rig.resume(broken.plan()).await.unwrap(),
        };
        assert_eq!(ended.outcome, Outcome::Verified);
    }
}

/// Every answer is lost, yet everything is there: no duplicate, no stop.
#[tokio::test]
async fn a_store_that_never_answers_but_stores_is_no_hindrance() {
    let broken = Broken::new(|store| store.breaking_from(0, Break::UnknownStored));
    let (ended, report) = broken.rig.whole(broken.plan()).await;
    assert_eq!((ended.outcome, report.attempts), (Outcome::Verified, 2));
    assert_eq!(broken.store.batches().len(), APPENDS);
}

/// What a correction quotes is read back, and so is what is handed on.
#[tokio::test]
async fn a_blob_that_cannot_be_read_stops_the_run_and_a_resumption_goes_on() {
    for (event, at, asked) in
        [("claim.received", 1, 1), ("run.opened", 0, 1), ("claim.received", 2, 2)]
    {
        let broken = Broken::new(|store| store);
        let (engine, rig) = (broken.rig.engine(), &broken.rig);
        let watch = When(event, || {
            if rig.account.count("ask") == at {
                broken.store.blind();
            }
        });
        let cancel = CancellationToken::new();
        let error = bounded(engine.run(broken.plan(), &watch, cancel)).await.unwrap_err();
        assert_eq!((error.code(), rig.account.count("ask")), ("store_io", asked), "{event}");
        broken.store.mend();
        let decided = broken.events().await.iter().any(|event| event.name() == "outcome.decided");
        assert_eq!(decided, at == 2, "{event}: what was decided is in the log");
        let ended = rig.resume(broken.plan()).await.unwrap();
        assert_eq!((ended.outcome, rig.account.count("ask")), (Outcome::Verified, 2), "{event}");
        assert_eq!(ended.delivered.unwrap().response, "done, round 1");
    }
}

/// Drivers that die at any entry, on a store that breaks at any append, several times per run.
#[tokio::test]
async fn however_often_it_breaks_the_log_tells_the_same() {
    let whole = Broken::new(|store| store);
    let (_, expected) = whole.rig.whole(whole.plan()).await;
    let events = whole.events().await;
    let mut interruptions = 0;
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let broken = Broken::new(|store| store);
        let mut lives = 0;
        while !broken.live(&mut dice, lives < 8).await {
            lives += 1;
            assert!(lives < 9, "{seed}");
        }
        let report = broken.rig.report().await;
        same_end(&report, &expected);
        assert_eq!(broken.events().await, events, "{seed}");
        assert!(report.interruptions <= lives, "{seed}");
        interruptions += report.interruptions;
    }
    assert!(interruptions > 60, "hardly anything broke: {interruptions}");
}

/// Marsaglia's xorshift, so that a failure can be had again by its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        let mut state = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0 = state;
        usize::try_from(state % sides as u64).unwrap()
    }
}

impl Broken {
    /// One driver. Whether it came to the end.
    async fn live(&self, dice: &mut Dice, breaks: bool) -> bool {
        self.store.mend();
        let entries = AtomicUsize::new(0);
        let (last, died) = (dice.below(12), Notify::new());
        let is_killed = breaks && dice.below(2) == 0;
        if breaks && !is_killed {
            self.store.break_later(dice.below(10), Break::ALL[dice.below(4)]);
        }
        let watch = Each(|| {
            if entries.fetch_add(1, Ordering::SeqCst) == last && is_killed {
                died.notify_one();
            }
        });
        let (engine, plan, cancel) = (self.rig.engine(), self.plan(), CancellationToken::new());
        let is_new = self.rig.records().await.is_empty();
        let live = async {
            match is_new {
                true => engine.run(plan, &watch, cancel).await,
                false => engine.resume(plan, &watch, cancel).await,
            }
        };
        tokio::select! {
            biased;
            () = died.notified() => false,
            ended = bounded(Box::pin(live)) => match ended {
                Ok(ended) => ended.outcome == Outcome::Verified,
                Err(error) => {
                    assert!(["store_io", "run_fenced", "run_exists"].contains(&error.code()));
                    false
                }
            },
        }
    }
}

/// Does something at every durable entry.
struct Each<F>(F);

impl<F: Fn() + Send + Sync> Watch for Each<F> {
    fn entry(&self, _: &Entry) {
        (self.0)();
    }
}
