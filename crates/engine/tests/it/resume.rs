//! Taken up from every prefix of a log: the same end, nothing counted twice, nothing recorded asked
//! for again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use probity_core::{Claim, Event, Outcome, Phase, Turn, Verdict};
use probity_delegate::{Answered, FunctionDelegate, ScriptedDelegate, Step};
use probity_engine::{Check, Clock, Engine, Plan, Report, SystemClock};
use probity_record::submission_id;
use probity_store::{Batch, MemoryStore, RunLog};
use probity_store_sqlite::{Options, SqliteStore};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::rig::{
    Eye, Hangs, Look, Rig, Unwatched, When, bounded, late_worker, liar, run_id, timeless, writes,
};

const CHECKS: usize = 2;

/// A whole run: two turns, two checks, red first.
struct Whole {
    batches: Vec<Batch>,
    events: Vec<Event>,
    report: Report,
}

impl Whole {
    async fn new() -> Self {
        let (rig, store) = Rig::watched();
        let (eyes, plan) = plan(&rig);
        drop(eyes);
        let (_, report) = rig.whole(plan).await;
        let events = rig.log().await.entries.iter().map(timeless).collect();
        Self { batches: store.batches(), events, report }
    }

    /// The first appends, and the world as it was then. A store keeps an append whole or not at
    /// all, so a log never ends inside of one.
    async fn prefix(&self, appends: usize) -> Rig {
        let rig = Rig::new();
        let mut len = 0;
        for batch in &self.batches[..appends] {
            len = rig.store.append(&run_id(), len, batch.clone()).await.unwrap();
        }
        let claimed =
            |event: &Event| matches!(event, Event::ClaimReceived { turn, .. } if turn.number == 1);
        if self.count(self.len(appends), claimed) > 0 {
            rig.write("out.txt", "hello");
        }
        rig
    }

    /// Records of the first appends.
    fn len(&self, appends: usize) -> usize {
        self.batches[..appends].iter().map(|batch| batch.records.len()).sum()
    }

    fn count(&self, len: usize, is_it: impl Fn(&Event) -> bool) -> usize {
        self.events[..len].iter().filter(|event| is_it(event)).count()
    }
}

fn plan(rig: &Rig) -> (Vec<Arc<Eye>>, Plan) {
    let eyes: Vec<_> = (0..CHECKS).map(|_| Eye::file(rig, "out.txt")).collect();
    let checks: Vec<Check> = eyes.iter().zip(["a", "b"]).map(|(eye, id)| eye.check(id)).collect();
    (eyes, rig.plan(late_worker(rig), checks))
}

fn is_finished(event: &Event) -> bool {
    matches!(event, Event::CheckFinished { .. } | Event::CheckRed { .. })
}

fn is_claim(event: &Event) -> bool {
    matches!(event, Event::ClaimReceived { .. })
}

#[tokio::test]
async fn every_prefix_comes_to_the_same_end() {
    let whole = Whole::new().await;
    let all = whole.events.len();
    assert!(all > 20);
    for appends in 1..=whole.batches.len() {
        let rig = whole.prefix(appends).await;
        let len = whole.len(appends);
        let (eyes, plan) = plan(&rig);
        let ended = rig.resume(plan).await.unwrap();
        let report = rig.report().await;
        let is_sealed = len == all;

        assert_eq!(ended.outcome, Outcome::Verified, "{len}");
        assert_eq!(ended.delivered.unwrap().response, "done, round 1", "{len}");
        assert_eq!((report.attempts, report.history.len()), (2, 2), "{len}");
        assert_eq!(report.interruptions, u32::from(!is_sealed), "{len}");
        let events = rig.log().await.entries.iter().map(timeless).collect::<Vec<_>>();
        let events = events.into_iter().filter(|it| !matches!(it, Event::RunResumed { .. }));
        assert_eq!(events.collect::<Vec<_>>(), whole.events, "{len}");

        // What is recorded is not asked for again.
        let asked = whole.count(all, is_claim) - whole.count(len, is_claim);
        assert_eq!(rig.account.count("ask"), asked, "{len}");
        let looked = whole.count(all, is_finished) - whole.count(len, is_finished);
        assert_eq!(eyes.iter().map(|eye| eye.looks().len()).sum::<usize>(), looked, "{len}");

        // Only the look that was interrupted is a repeat, under the name it had.
        let interrupted = match &whole.events[len - 1] {
            Event::CheckStarted { phase, check, .. } => Some((*phase, check.as_usize())),
            _ => None,
        };
        let repeats: Vec<(usize, Look)> = eyes
            .iter()
            .enumerate()
            .flat_map(|(check, eye)| eye.looks().into_iter().map(move |look| (check, look)))
            .filter(|(_, look)| look.is_replay)
            .collect();
        let expected = interrupted.map(|(phase, check)| {
            let submission = whole.events[..len].iter().rev().find_map(|event| match event {
                Event::ClaimReceived { submission, .. } => Some(submission.clone()),
                _ => None,
            });
            (check, phase, submission)
        });
        let repeats: Vec<_> =
            repeats.into_iter().map(|(check, look)| (check, look.phase, look.submission)).collect();
        assert_eq!(repeats, expected.into_iter().collect::<Vec<_>>(), "{len}");
    }
}

/// Every driver dies as soon as it has announced its next check.
#[tokio::test]
async fn a_run_that_is_interrupted_again_and_again_still_ends() {
    let whole = Whole::new().await;
    let rig = whole.prefix(1).await;
    let mut lives = 0;
    let ended = loop {
        let (_, plan) = plan(&rig);
        let (engine, died) = (rig.engine(), Notify::new());
        let watch = When("check.started", || died.notify_one());
        let resume = engine.resume(plan, &watch, CancellationToken::new());
        lives += 1;
        tokio::select! {
            biased;
            () = died.notified() => {}
            ended = bounded(resume) => break ended.unwrap(),
        }
    };
    assert_eq!(ended.outcome, Outcome::Verified);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (2, lives));
    let starts = whole.count(whole.events.len(), |it| matches!(it, Event::CheckStarted { .. }));
    assert_eq!(lives as usize, starts + 1);
    assert_eq!(rig.account.count("ask"), 2);
}

#[tokio::test]
async fn the_session_and_the_last_response_outlive_the_driver() {
    let rig = Rig::new();
    let steps = || {
        [
            Step::claim("I wrote it.").session("s-1").rejected_with("does not exist"),
            writes("out.txt", "hello"),
        ]
    };
    let check = || Eye::file(&rig, "out.txt").check("c");
    let first = Arc::new(ScriptedDelegate::new(rig.path(), steps()));
    let engine = rig.engine();
    let stop = Notify::new();
    let asked = AtomicU32::new(0);
    let watch = When("delegate.dispatched", || {
        if asked.fetch_add(1, Ordering::SeqCst) == 1 {
            stop.notify_one();
        }
    });
    tokio::select! {
        biased;
        () = stop.notified() => {}
        _ = engine.run(rig.plan(first, [check()]), &watch, CancellationToken::new()) => panic!("it ended"),
    }
    let delegate = ScriptedDelegate::new(rig.path(), steps()).allow_repeats();
    let second = Arc::new(delegate);
    let ended = rig.resume(rig.plan(second.clone(), [check()])).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(second.violations(), Vec::<String>::new());
    let request = &second.requests()[0];
    assert_eq!((request.attempt, request.session.as_deref()), (2, Some("s-1")));
    assert_eq!(request.prompt.last_response.as_deref(), Some("I wrote it."));
    assert!(request.prompt.correction.as_deref().unwrap().contains("does not exist"));
}

#[tokio::test]
async fn a_sealed_run_is_read_and_not_driven() {
    let rig = Rig::new();
    let (_, first) = plan(&rig);
    let ended = rig.run(first).await;
    let (records, done) = (rig.records().await, rig.account.lines());
    let (_, again) = plan(&rig);
    assert_eq!(rig.resume(again).await.unwrap(), ended);
    assert_eq!((rig.records().await, rig.account.lines()), (records, done));
}

#[tokio::test]
async fn a_refused_run_delivers_nothing_when_it_is_read_again() {
    let rig = Rig::new();
    let plan = || rig.plan(liar(), [Eye::file(&rig, "out.txt").check("c")]);
    let ended = rig.run(plan()).await;
    assert_eq!((ended.outcome, &ended.delivered), (Outcome::Exhausted, &None));
    assert_eq!(rig.resume(plan()).await.unwrap(), ended);
}

#[tokio::test]
async fn another_plan_is_refused_and_leaves_no_trace() {
    let rig = Rig::new();
    let base = || rig.plan(liar(), [Eye::file(&rig, "out.txt").check("c")]);
    rig.run(base()).await;
    let before = (rig.records().await, rig.account.lines());
    let request = Plan { request: b"{}".to_vec(), ..base() };
    let id = Plan { checks: vec![Eye::file(&rig, "out.txt").check("d")], ..base() };
    let time = Plan { checks: vec![Eye::file(&rig, "out.txt").timed("c", 1)], ..base() };
    let more = {
        let mut plan = base();
        plan.checks.push(Eye::file(&rig, "out.txt").check("d"));
        plan
    };
    let none = Plan { checks: Vec::new(), ..base() };
    for plan in [request, id, time, more, none] {
        assert_eq!(rig.resume(plan).await.unwrap_err().code(), "run_plan_differs");
    }
    assert_eq!((rig.records().await, rig.account.lines()), before);
}

#[tokio::test]
async fn a_run_that_is_not_there_cannot_be_taken_up() {
    let rig = Rig::new();
    let error = rig.resume(rig.plan(liar(), [])).await.unwrap_err();
    assert_eq!(error.code(), "run_missing");
    assert!(rig.records().await.is_empty());
}

#[tokio::test]
async fn a_damaged_log_is_not_driven() {
    let whole = Whole::new().await;
    let store = MemoryStore::new();
    let mut records: Vec<_> =
        whole.batches.iter().flat_map(|batch| batch.records.clone()).take(8).collect();
    records.remove(4);
    store.append(&run_id(), 0, Batch::of(records)).await.unwrap();
    let rig = Rig::on(Arc::new(store));
    let (_, plan) = plan(&rig);
    assert_eq!(rig.resume(plan).await.unwrap_err().code(), "log_damaged");
    assert_eq!(rig.account.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_blob_that_is_gone_stops_the_run_before_it_acts() {
    let whole = Whole::new().await;
    let store = MemoryStore::new();
    let records: Vec<_> =
        whole.batches.iter().flat_map(|batch| batch.records.clone()).take(8).collect();
    store.append(&run_id(), 0, Batch::of(records)).await.unwrap();
    let rig = Rig::on(Arc::new(store));
    let (_, plan) = plan(&rig);
    assert_eq!(rig.resume(plan).await.unwrap_err().code(), "blob_missing");
    assert_eq!(rig.account.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn interruptions_are_bounded_and_never_charged_to_the_delegate() {
    let rig = Rig::new();
    let stuck = || {
        let mut plan = rig.plan(Arc::new(Hangs(rig.account.clone())), []);
        plan.policy.max_interruptions = 2;
        plan
    };
    let engine = rig.engine();
    let mut last = None;
    for life in 0..4 {
        let stop = Notify::new();
        let watch = When(if life == 0 { "delegate.dispatched" } else { "run.resumed" }, || {
            stop.notify_one()
        });
        let live = async {
            if life == 0 {
                engine.run(stuck(), &watch, CancellationToken::new()).await
            } else {
                engine.resume(stuck(), &watch, CancellationToken::new()).await
            }
        };
        tokio::pin!(live);
        last = tokio::select! {
            ended = &mut live => Some(ended.unwrap()),
            () = stop.notified() => {
                if life == 3 { Some(live.await.unwrap()) } else { None }
            }
        };
    }
    let ended = last.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "interruptions"));
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (0, 3));
}

#[tokio::test]
async fn a_run_is_taken_up_on_the_durable_store_by_another_engine() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("runs.db");
    let open = || SqliteStore::open(&path, Options::default()).unwrap();
    let mut rig = Rig::on(Arc::new(open()));
    let stop = Notify::new();
    {
        let watch = When("verdict.merged", || stop.notify_one());
        let (_, plan) = plan(&rig);
        let engine = rig.engine();
        tokio::select! {
            biased;
            () = stop.notified() => {}
            _ = engine.run(plan, &watch, CancellationToken::new()) => panic!("it ended"),
        }
    }
    rig.store = Arc::new(open());
    let (_, plan) = plan(&rig);
    assert_eq!(rig.resume(plan).await.unwrap().outcome, Outcome::Verified);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (2, 1));
}

/// The name of a submission is a function of run, turn and candidate: another driver finds the same.
#[tokio::test]
async fn the_name_of_a_submission_needs_no_memory() {
    let rig = Rig::new();
    let eye = Eye::then(&rig, Ok(Verdict::pass()));
    let delegate = FunctionDelegate::new("f", |_| async { Ok(Answered::of(Claim::text("x"))) });
    let (_, report) = rig.whole(rig.plan(Arc::new(delegate), [eye.check("c")])).await;
    let expected = submission_id(&run_id(), Turn::FIRST, &report.history[0].candidate);
    assert_eq!(eye.after()[0].submission, Some(expected));
    assert_eq!(eye.looks()[0].submission, None);
    assert_eq!(eye.looks()[0].phase, Phase::Before);
}

/// Nothing is lost if the driver dies behind its first record.
#[tokio::test]
async fn a_run_that_was_only_opened_is_taken_up() {
    let whole = Whole::new().await;
    let rig = whole.prefix(1).await;
    let (_, plan) = plan(&rig);
    let engine = rig.engine();
    let ended = engine.resume(plan, &Unwatched, CancellationToken::new()).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(rig.report().await.history.len(), whole.report.history.len());
}

#[tokio::test]
async fn every_prefix_can_be_reported() {
    let whole = Whole::new().await;
    let mut attempts = 0;
    for appends in 1..=whole.batches.len() {
        let rig = whole.prefix(appends).await;
        let report = rig.report().await;
        let events = &whole.events[..whole.len(appends)];
        let is_decided = events.iter().any(|it| matches!(it, Event::OutcomeDecided { .. }));
        assert_eq!(report.outcome, is_decided.then_some(Outcome::Verified), "{appends}");
        assert_eq!(report.seal.is_some(), appends == whole.batches.len());
        let claims = events.iter().filter(|it| is_claim(it)).count();
        let claim = report.claim.map(|claim| claim.response);
        assert_eq!(claim, claims.checked_sub(1).map(|round| format!("done, round {round}")));
        assert!((attempts..=attempts + 1).contains(&report.attempts), "{appends}");
        assert_eq!(report.history.len(), report.attempts as usize);
        attempts = report.attempts;
    }
    assert_eq!(attempts, 2);
}

/// Who takes a run up cannot change its bounds.
#[tokio::test]
async fn the_bounds_are_those_of_the_log() {
    let whole = Whole::new().await;
    let rig = whole.prefix(1).await;
    let (_, mut plan) = plan(&rig);
    plan.policy.max_attempts = 1;
    assert_eq!(rig.resume(plan).await.unwrap().outcome, Outcome::Verified);
    assert_eq!(rig.report().await.max_attempts, 3);
}

/// The wall time of a run goes on while nobody drives it.
#[tokio::test]
async fn a_run_whose_time_is_over_is_not_driven_on() {
    let rig = Rig::new();
    let bounded_plan = || {
        let mut plan = rig.plan(Arc::new(Hangs(rig.account.clone())), []);
        plan.policy.wall_ms = Some(1_000);
        plan
    };
    let (engine, stop) = (rig.engine(), Notify::new());
    let watch = When("run.opened", || stop.notify_one());
    tokio::select! {
        biased;
        () = stop.notified() => {}
        _ = engine.run(bounded_plan(), &watch, CancellationToken::new()) => panic!("it ended"),
    }
    let later = Engine::new(Arc::clone(&rig.store), Arc::new(Later));
    let resume = later.resume(bounded_plan(), &Unwatched, CancellationToken::new());
    let ended = bounded(resume).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
    assert_eq!(rig.account.count("ask"), 0);
}

/// An hour has passed.
struct Later;

impl Clock for Later {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms() + 3_600_000
    }
}

/// No store that keeps its contract holds one: it was copied in part.
#[tokio::test]
async fn a_log_that_ends_inside_an_append_is_refused_and_left_as_it_is() {
    let whole = Whole::new().await;
    let ends: Vec<usize> = (1..=whole.batches.len()).map(|appends| whole.len(appends)).collect();
    let records: Vec<_> = whole.batches.iter().flat_map(|it| it.records.clone()).collect();
    // An outcome may stand without its seal: another driver may have written it so.
    let last = whole.events.len() - 1;
    for len in (1..last).filter(|len| !ends.contains(len)) {
        let store = Arc::new(MemoryStore::new());
        store.append(&run_id(), 0, Batch::of(records[..len].to_vec())).await.unwrap();
        let rig = Rig::on(store);
        let (_, plan) = plan(&rig);
        assert_eq!(rig.resume(plan).await.unwrap_err().code(), "log_illegal", "{len}");
        assert_eq!(rig.records().await.len(), len);
        assert_eq!(rig.account.lines(), Vec::<String>::new());
    }
}
