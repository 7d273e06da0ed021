//! Hooks and crashes: at every append of a run that has one of each, the driver dies or the store
//! fails. The end is the same, each is answered once, and none is called before its announcement.

use std::sync::Arc;

use probity_core::{Event, HookPoint, Outcome};
use probity_engine::{Ended, Plan, Reply, Report, VerifyEvent};
use probity_store::Batch;
use probity_store_sqlite::{Options, SqliteStore};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::hand::{Call, Hand};
use crate::ledger::Break;
use crate::rig::{Eye, Rig, When, bounded, late_worker, run_id, timeless};

/// Text that a hook at a place appends, and where.
const EDITS: [(&str, &str, &str); 4] = [
    ("pre", "task", " Really."),
    ("start", "prompt", " Now."),
    ("style", "response", " (styled)"),
    ("post", "response", " (signed)"),
];

/// One closure is all hooks: two turns, one check of the world, one hook of each kind.
fn plan(rig: &Rig) -> (Arc<Hand>, Arc<Eye>, Plan) {
    let hand = Hand::new(rig, |ctx, mut payload| {
        let edit = EDITS.iter().find(|(id, ..)| *id == ctx.check.as_str());
        let reply = match edit {
            None => Reply::Allow,
            Some((_, key, text)) => {
                let was = payload[*key].as_str().unwrap().to_owned();
                payload.insert((*key).to_owned(), format!("{was}{text}").into());
                Reply::Modify { payload }
            }
        };
        std::future::ready(Ok(reply))
    });
    let eye = Eye::file(rig, "out.txt");
    let checks = [eye.check("out"), hand.check(VerifyEvent::PostVerify, "style")];
    let mut plan = rig.plan(late_worker(rig), checks);
    plan.hooks = vec![
        hand.at(HookPoint::DelegationPre, "pre"),
        hand.at(HookPoint::AttemptStart, "start"),
        hand.at(HookPoint::AttemptEnd, "end"),
        hand.at(HookPoint::DelegationPost, "post"),
    ];
    (hand, eye, plan)
}

struct Whole {
    batches: Vec<Batch>,
    events: Vec<Event>,
    report: Report,
    ended: Ended,
}

impl Whole {
    async fn new() -> Self {
        let (rig, store) = Rig::watched();
        let (_, _, plan) = plan(&rig);
        let (ended, report) = rig.whole(plan).await;
        announced(&rig.account.lines());
        Self { batches: store.batches(), events: events(&rig).await, report, ended }
    }

    /// The first appends, and the world as it was then.
    async fn prefix(&self, appends: usize) -> Rig {
        let (rig, _) = Rig::watched();
        let mut len = 0;
        for batch in &self.batches[..appends] {
            len = rig.store.append(&run_id(), len, batch.clone()).await.unwrap();
        }
        let is_second =
            |event: &Event| matches!(event, Event::ClaimReceived { turn, .. } if turn.number == 1);
        if self.events[..self.len(appends)].iter().any(is_second) {
            rig.write("out.txt", "hello");
        }
        rig
    }

    fn len(&self, appends: usize) -> usize {
        self.batches[..appends].iter().map(|batch| batch.records.len()).sum()
    }

    /// How many events behind the first appends are like this.
    fn behind(&self, appends: usize, is_it: impl Fn(&Event) -> bool) -> usize {
        self.events[self.len(appends)..].iter().filter(|event| is_it(event)).count()
    }
}

/// Without times and resumptions.
async fn events(rig: &Rig) -> Vec<Event> {
    let log = rig.log().await;
    let events = log.entries.iter().map(timeless);
    events.filter(|event| !matches!(event, Event::RunResumed { .. })).collect()
}

/// Every act stands right behind the append whose last event announces it. Behind a resumption the
/// announcement is the one that the log ended with.
fn announced(lines: &[String]) {
    let mut last = "";
    for line in lines {
        let announces: &[&str] = match line.split(' ').next() {
            Some("append") => {
                last = line.rsplit(' ').next().unwrap();
                continue;
            }
            Some("ask") => &["delegate.dispatched"],
            Some("look") => &["check.started"],
            Some("call") if line.starts_with("call delegation.post_verify") => &["check.started"],
            Some("call") => &["hook.called"],
            Some("read") => &["run.opened", "check.red", "claim.received"],
            Some("broken") => continue,
            _ => panic!("what is `{line}`?"),
        };
        assert!(announces.contains(&last) || last == "run.resumed", "{line} behind {last}");
        last = "";
    }
}

fn of_hook(event: &Event) -> bool {
    match event {
        Event::HookAnswered { .. } => true,
        Event::CheckFinished { check, .. } => check.as_usize() == 1,
        _ => false,
    }
}

fn of_check(event: &Event) -> bool {
    match event {
        Event::CheckRed { .. } => true,
        Event::CheckFinished { check, .. } => check.as_usize() == 0,
        _ => false,
    }
}

#[tokio::test]
async fn the_whole_run_is_what_it_should_be() {
    let whole = Whole::new().await;
    assert_eq!(whole.ended.outcome, Outcome::Verified);
    assert!(whole.ended.is_edited);
    let delivered = whole.ended.delivered.as_ref().unwrap();
    assert_eq!(delivered.response, "done, round 1 (styled) (signed)");
    assert_eq!(whole.report.claim.as_ref().unwrap().response, "done, round 1 (styled)");
    assert_eq!((whole.report.attempts, whole.batches.len()), (2, 18));
    // pre, then start, style and end in each of two rounds, then post.
    assert_eq!(whole.behind(0, of_hook), 8);
}

#[tokio::test]
async fn every_prefix_comes_to_the_same_end_and_asks_nothing_twice() {
    let whole = Whole::new().await;
    for appends in 1..=whole.batches.len() {
        let rig = whole.prefix(appends).await;
        let before = rig.account.lines().len();
        let (hand, eye, plan) = plan(&rig);
        let ended = rig.resume(plan).await.unwrap();
        assert_eq!(ended, whole.ended, "{appends}");
        assert_eq!(events(&rig).await, whole.events, "{appends}");
        announced(&rig.account.lines()[before..]);

        assert_eq!(hand.calls().len(), whole.behind(appends, of_hook), "{appends}");
        assert_eq!(eye.looks().len(), whole.behind(appends, of_check), "{appends}");
        let claims = whole.behind(appends, |event| matches!(event, Event::ClaimReceived { .. }));
        assert_eq!(rig.account.count("ask"), claims, "{appends}");

        // Only the call that was interrupted is a repeat.
        let is_interrupted = match &whole.events[whole.len(appends) - 1] {
            Event::HookCalled { .. } => true,
            Event::CheckStarted { check, .. } => check.as_usize() == 1,
            _ => false,
        };
        let replays: Vec<_> = hand.calls().iter().map(|call: &Call| call.is_replay).collect();
        let expected: Vec<_> = (0..replays.len()).map(|nth| nth == 0 && is_interrupted).collect();
        assert_eq!(replays, expected, "{appends}");

        let report = rig.report().await;
        let is_sealed = appends == whole.batches.len();
        assert_eq!(report.interruptions, u32::from(!is_sealed));
        let unbroken = Report { interruptions: 0, ..report };
        let (mut now, mut then) = (unbroken, whole.report.clone());
        // Times differ from run to run.
        for report in [&mut now, &mut then] {
            let history = report.history.iter_mut().flat_map(|attempt| &mut attempt.checks);
            report.checks.iter_mut().chain(history).for_each(|check| check.elapsed_ms = 0);
            report.hooks.iter_mut().for_each(|hook| hook.elapsed_ms = 0);
            report.seal = None;
        }
        assert_eq!(now, then, "{appends}");
    }
}

#[tokio::test]
async fn every_prefix_can_be_reported() {
    let whole = Whole::new().await;
    for appends in 1..=whole.batches.len() {
        let report = whole.prefix(appends).await.report().await;
        let is_decided = appends == whole.batches.len();
        assert_eq!(report.outcome, is_decided.then_some(Outcome::Verified), "{appends}");
        // Nothing is delivered, edited or not, before the log says so.
        assert_eq!((report.edited, report.delivered.is_some()), (is_decided, is_decided));
    }
}

#[tokio::test]
async fn every_append_may_fail_in_every_way() {
    let whole = Whole::new().await;
    for nth in 0..whole.batches.len() {
        for how in Break::ALL {
            let (rig, store) = Rig::on_ledger(|ledger| ledger.breaking(nth, how));
            let (hand, _, first) = plan(&rig);
            let result = rig.try_run(first).await;
            announced(&rig.account.lines());
            if matches!(how, Break::UnknownStored | Break::UnknownLost) {
                assert_eq!(result.unwrap(), whole.ended, "{nth} {how:?}");
                assert_eq!(hand.calls().len(), whole.behind(0, of_hook), "{nth} {how:?}");
            } else {
                assert!(result.is_err(), "{nth} {how:?}");
                assert_eq!(rig.account.lines().last().unwrap(), "broken", "{nth} {how:?}");
                assert_eq!(store.batches().len(), nth);
                let (_, _, second) = plan(&rig);
                let ended = match nth {
                    0 => rig.run(second).await,
                    _ => rig.resume(second).await.unwrap(),
                };
                assert_eq!(ended, whole.ended, "{nth} {how:?}");
                announced(&rig.account.lines());
            }
            assert_eq!(events(&rig).await, whole.events, "{nth} {how:?}");
        }
    }
}

/// The engine's future is dropped behind each append in turn.
#[tokio::test]
async fn the_driver_may_die_behind_every_append() {
    let whole = Whole::new().await;
    for appends in 1..whole.batches.len() {
        let (rig, store) = Rig::watched();
        let engine = rig.engine();
        {
            let (_, _, plan) = plan(&rig);
            let stop = Notify::new();
            let watch = Nth { store: Arc::clone(&store), appends, stop: &stop };
            let cancel = CancellationToken::new();
            tokio::select! {
                biased;
                () = stop.notified() => {}
                ended = engine.run(plan, &watch, cancel) => drop(ended.unwrap()),
            }
        }
        let (_, _, plan) = plan(&rig);
        assert_eq!(rig.resume(plan).await.unwrap(), whole.ended, "{appends}");
        assert_eq!(events(&rig).await, whole.events, "{appends}");
    }
}

/// On the durable store, opened anew by every driver; each dies as it has announced its next hook.
#[tokio::test]
async fn a_run_that_dies_at_every_hook_ends_on_the_durable_store() {
    let whole = Whole::new().await;
    let dir = tempfile::TempDir::new().unwrap();
    let open = || {
        let path = dir.path().join("runs.db");
        Arc::new(SqliteStore::open(&path, Options::default()).unwrap())
    };
    let mut rig = Rig::on(open());
    let mut lives = 0;
    let ended = loop {
        let (_, _, plan) = plan(&rig);
        let (engine, died) = (rig.engine(), Notify::new());
        let watch = When("hook.called", || died.notify_one());
        let cancel = CancellationToken::new();
        let life = async {
            match lives {
                0 => engine.run(plan, &watch, cancel).await,
                _ => engine.resume(plan, &watch, cancel).await,
            }
        };
        tokio::select! {
            biased;
            () = died.notified() => {}
            ended = bounded(life) => break ended.unwrap(),
        }
        lives += 1;
        rig.store = open();
    };
    assert_eq!(ended, whole.ended);
    assert_eq!(events(&rig).await, whole.events);
    let called = whole.behind(0, |event| matches!(event, Event::HookCalled { .. }));
    assert_eq!((lives, rig.report().await.interruptions as usize), (called, called));
}

/// Says stop once so many appends are durable.
struct Nth<'a> {
    store: Arc<crate::ledger::Ledger>,
    appends: usize,
    stop: &'a Notify,
}

impl probity_engine::Watch for Nth<'_> {
    fn entry(&self, _: &probity_core::Entry) {
        if self.store.batches().len() >= self.appends {
            self.stop.notify_one();
        }
    }
}
