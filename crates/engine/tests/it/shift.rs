//! Runs under a lease, and what others say to them meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Claim, Digest, Entry, Event, Outcome, RunId};
use probity_delegate::{Answered, DelegateError, FunctionDelegate, Parked, Request};
use probity_engine::{Engine, EngineError, Plan, Post, Posted, Rest, Shift, SystemClock, Watch};
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, LogState, MemoryStore, ReadError, RunLog,
    RunSummary,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Hangs, Rig, Unwatched, When, bounded, late_worker, liar, run_id, timeless};

fn shift(epoch: u64) -> Shift {
    Shift {
        epoch,
        worker: "w-1".parse().unwrap(),
        answer: None,
        patience: Duration::from_secs(60),
        stop: CancellationToken::new(),
    }
}

async fn work(rig: &Rig, plan: Plan, shift: Shift) -> Result<Rest, EngineError> {
    watched(rig, plan, shift, &Unwatched).await
}

async fn watched(
    rig: &Rig,
    plan: Plan,
    shift: Shift,
    watch: &dyn Watch,
) -> Result<Rest, EngineError> {
    let engine = rig.engine();
    let found = engine.find(&run_id()).await?;
    let cancel = CancellationToken::new();
    bounded(Box::pin(engine.work(found, plan, shift, watch, cancel))).await
}

fn outcome(rest: &Rest) -> Outcome {
    match rest {
        Rest::Ended(ended) => ended.outcome,
        other => panic!("{other:?}"),
    }
}

fn steer(text: &str) -> Post {
    Post::Steer { by: "ana".to_owned(), text: text.to_owned() }
}

fn cancel() -> Post {
    Post::Cancel { by: "ana".to_owned(), text: "enough".to_owned() }
}

/// A run that is rejected once and passes then.
fn plan(rig: &Rig) -> Plan {
    rig.plan(late_worker(rig), [Eye::file(rig, "out.txt").check("a")])
}

#[tokio::test]
async fn a_submitted_run_is_taken_up_without_an_interruption() {
    let rig = Rig::new();
    let posted = rig.engine().submit(&plan(&rig)).await.unwrap();
    assert_eq!(posted, Posted { is_new: true, epoch: 0 });
    assert_eq!(rig.names().await, ["run.opened", "run.released"]);
    assert_eq!(rig.account.lines(), [""; 0], "submitting does nothing but append");

    let again = rig.engine().submit(&plan(&rig)).await.unwrap();
    assert_eq!(again, Posted { is_new: false, epoch: 0 });
    let other = Plan { request: b"{\"task\":\"else\"}".to_vec(), ..plan(&rig) };
    let refused = rig.engine().submit(&other).await.unwrap_err();
    assert_eq!(refused.code(), "run_exists");

    let rest = work(&rig, plan(&rig), shift(1)).await.unwrap();
    assert_eq!(outcome(&rest), Outcome::Verified);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (2, 0));
    assert_eq!(rig.names().await[2], "lease.taken");
}

#[tokio::test]
async fn a_later_lease_fences_the_earlier_one_off() {
    let rig = Rig::new();
    let go = Arc::new(Semaphore::new(0));
    let held = {
        let go = Arc::clone(&go);
        Arc::new(FunctionDelegate::new("held", move |_| {
            let go = Arc::clone(&go);
            async move {
                let _ = go.acquire().await.unwrap();
                Ok(Answered::of(Claim::text("late")))
            }
        }))
    };
    let eye = Eye::then(&rig, Ok(probity_core::Verdict::pass()));
    rig.engine().submit(&rig.plan(held.clone(), [eye.check("c")])).await.unwrap();
    let slow = work(&rig, rig.plan(held, [eye.check("c")]), shift(1));
    let fast = async {
        while rig.account.count("ask") == 0 {
            tokio::task::yield_now().await;
        }
        let stale = work(&rig, rig.plan(liar(), [eye.check("c")]), shift(1)).await;
        let rest = work(&rig, rig.plan(liar(), [eye.check("c")]), shift(2)).await;
        go.add_permits(1);
        (stale, rest)
    };
    let (slow, (stale, rest)) = bounded(Box::pin(async { tokio::join!(slow, fast) })).await;
    assert!(matches!(stale, Err(EngineError::StaleLease { held: 1, got: 1, .. })), "{stale:?}");
    assert_eq!(slow.unwrap_err().code(), "run_fenced");
    assert_eq!(outcome(&rest.unwrap()), Outcome::Verified);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (1, 1));
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_lets_go_and_appends_no_more() {
    let rig = Rig::new();
    let hangs = || rig.plan(Arc::new(Hangs(rig.account.clone())), []);
    rig.engine().submit(&hangs()).await.unwrap();
    let stop = CancellationToken::new();
    let when = {
        let stop = stop.clone();
        When("delegate.dispatched", move || stop.cancel())
    };
    let rest = watched(&rig, hangs(), Shift { stop, ..shift(1) }, &when).await.unwrap();
    assert_eq!(rest, Rest::Stopped);
    assert_eq!(*rig.names().await.last().unwrap(), "delegate.dispatched");
    assert_eq!(rig.account.count("ask"), 0, "nothing is begun either");
    // What was at work is asked again, and that is an interruption.
    let rest = work(&rig, rig.plan(liar(), []), shift(2)).await.unwrap();
    assert_eq!(outcome(&rest), Outcome::Unverified);
    assert_eq!(rig.report().await.interruptions, 1);
}

#[tokio::test]
async fn a_long_wait_is_left_to_the_queue() {
    let rig = Rig::new();
    let far_ms = u64::try_from(Duration::from_secs(4_000_000_000).as_millis()).unwrap();
    let sleeps = Arc::new(FunctionDelegate::new("sleeps", move |_| async move {
        Err(DelegateError::Parked(Parked {
            key: "t".to_owned(),
            until_ms: Some(far_ms),
            question: String::new(),
            children: Vec::new(),
        }))
    }));
    let plan = || rig.plan(sleeps.clone(), []);
    rig.engine().submit(&plan()).await.unwrap();
    let rest = work(&rig, plan(), shift(1)).await.unwrap();
    assert_eq!(rest, Rest::Waits { until_ms: far_ms });
    // It is nobody's, so that taking it up is no interruption; and it can be stopped meanwhile.
    rig.engine().post(&run_id(), &cancel()).await.unwrap();
    let rest = work(&rig, plan(), shift(2)).await.unwrap();
    assert_eq!(outcome(&rest), Outcome::Cancelled);
    assert_eq!(rig.report().await.interruptions, 0);
}

#[tokio::test]
async fn a_run_that_waits_for_others_is_woken_with_their_ends() {
    let rig = Rig::new();
    let children: Vec<RunId> = vec!["c-1".parse().unwrap(), "c-2".parse().unwrap()];
    let parks = {
        let children = children.clone();
        Arc::new(FunctionDelegate::new("parks", move |request: Request| {
            let children = children.clone();
            async move {
                match request.answer {
                    Some(answer) => Ok(Answered::of(Claim::text(answer.value.to_string()))),
                    None => Err(DelegateError::Parked(Parked {
                        key: "team".to_owned(),
                        until_ms: None,
                        question: String::new(),
                        children,
                    })),
                }
            }
        }))
    };
    let plan = || rig.plan(parks.clone(), []);
    rig.engine().submit(&plan()).await.unwrap();
    let rest = work(&rig, plan(), shift(1)).await.unwrap();
    assert_eq!(outcome(&rest), Outcome::Escalated);
    let found = rig.engine().find(&run_id()).await.unwrap();
    let wait = found.wait().await.unwrap().unwrap();
    assert_eq!((wait.key.as_str(), wait.children), ("team", children));
    // The worker that has the answer takes the run up with it.
    let answer = Some(("children".to_owned(), json!(["a", "b"])));
    let rest = work(&rig, plan(), Shift { answer, ..shift(2) }).await.unwrap();
    let Rest::Ended(ended) = rest else { panic!("{rest:?}") };
    assert_eq!(ended.delivered.unwrap().response, "[\"a\",\"b\"]");
    assert_eq!(rig.report().await.interruptions, 0);
    assert_eq!(rig.engine().find(&run_id()).await.unwrap().wait().await.unwrap(), None);
}

#[tokio::test]
async fn waits_are_answered_by_a_post_that_drives_nothing() {
    let rig = Rig::new();
    let asks = Arc::new(FunctionDelegate::new("asks", |request: Request| async move {
        match request.answer {
            Some(answer) => Ok(Answered::of(Claim::text(answer.value.to_string()))),
            None => Err(DelegateError::Parked(Parked {
                key: "q".to_owned(),
                until_ms: None,
                question: "which?".to_owned(),
                children: Vec::new(),
            })),
        }
    }));
    let plan = || rig.plan(asks.clone(), []);
    let wake = |about: &str, value: Value| Post::Wake {
        about: about.to_owned(),
        by: "ana".to_owned(),
        value,
    };
    rig.engine().submit(&plan()).await.unwrap();
    work(&rig, plan(), shift(1)).await.unwrap();
    let other = rig.engine().post(&run_id(), &wake("p", json!(1))).await;
    assert!(matches!(other, Err(EngineError::NotParked { .. })), "{other:?}");
    let posted = rig.engine().post(&run_id(), &wake("q", json!(7))).await.unwrap();
    assert_eq!(posted, Posted { is_new: true, epoch: 1 });
    assert_eq!(rig.account.count("ask"), 1, "answering asks nobody");
    let again = rig.engine().post(&run_id(), &wake("q", json!(8))).await;
    assert!(matches!(again, Err(EngineError::NotParked { waits_for: None, .. })), "{again:?}");
    let rest = work(&rig, plan(), shift(2)).await.unwrap();
    let Rest::Ended(ended) = rest else { panic!("{rest:?}") };
    assert_eq!(ended.delivered.unwrap().response, "7");
    assert_eq!(rig.report().await.interruptions, 0);
}

#[tokio::test]
async fn a_request_to_stop_ends_what_is_at_work() {
    let rig = Rig::new();
    let hangs = || rig.plan(Arc::new(Hangs(rig.account.clone())), []);
    rig.engine().submit(&hangs()).await.unwrap();
    let working = work(&rig, hangs(), shift(1));
    let stopping = async {
        while rig.account.count("ask") == 0 {
            tokio::task::yield_now().await;
        }
        rig.engine().post(&run_id(), &cancel()).await.unwrap()
    };
    let (rest, posted) = bounded(Box::pin(async { tokio::join!(working, stopping) })).await;
    assert!(posted.is_new);
    assert_eq!(outcome(&rest.unwrap()), Outcome::Cancelled);
    // Twice is once, and an ended run takes nothing.
    let late = rig.engine().post(&run_id(), &cancel()).await.unwrap_err();
    assert_eq!(late.code(), "answer_refused");
}

#[tokio::test]
async fn what_is_said_reaches_the_delegate_while_it_works() {
    let rig = Rig::new();
    let listens = Arc::new(FunctionDelegate::new("listens", |request: Request| async move {
        while request.steering.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let said = &request.steering.behind(0)[0];
        Ok(Answered::of(Claim::text(format!("{}: {}", said.by, said.text))))
    }));
    let plan = || rig.plan(listens.clone(), []);
    rig.engine().submit(&plan()).await.unwrap();
    let working = work(&rig, plan(), shift(1));
    let saying = async {
        while rig.account.count("ask") == 0 {
            tokio::task::yield_now().await;
        }
        rig.engine().post(&run_id(), &steer("use tabs")).await.unwrap();
    };
    let (rest, ()) = bounded(Box::pin(async { tokio::join!(working, saying) })).await;
    let Rest::Ended(ended) = rest.unwrap() else { panic!("not ended") };
    assert_eq!(ended.delivered.unwrap().response, "ana: use tabs");
    assert_eq!(rig.report().await.interruptions, 0);
}

/// Lets somebody say something right before the n-th append.
struct Meddler {
    inner: Arc<MemoryStore>,
    at: usize,
    appends: AtomicUsize,
    post: Post,
}

#[async_trait]
impl RunLog for Meddler {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        if self.appends.fetch_add(1, Ordering::SeqCst) == self.at {
            let engine = Engine::new(self.inner.clone(), Arc::new(SystemClock));
            // Nothing is said to a run that has ended by then.
            let _refused = engine.post(run, &self.post).await;
        }
        self.inner.append(run, len, batch).await
    }

    async fn read(&self, run: &RunId, from: u64, max: usize) -> Result<Vec<Vec<u8>>, ReadError> {
        self.inner.read(run, from, max).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.inner.state(run).await
    }

    async fn list(&self, _: Option<Cursor>, _: usize) -> Result<Vec<RunSummary>, ReadError> {
        Ok(Vec::new())
    }

    async fn wait_beyond(&self, run: &RunId, len: u64, d: Duration) -> Result<LogState, ReadError> {
        self.inner.wait_beyond(run, len, d).await
    }
}

#[async_trait]
impl Blobs for Meddler {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.inner.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.inner.get(digest, max).await
    }
}

/// A whole run into which something is said before its n-th append. Gives its events without what was
/// said, and how many times something was.
async fn meddled(at: usize, post: Post) -> (Vec<Event>, usize, usize, Outcome) {
    let inner = Arc::new(MemoryStore::new());
    let appends = AtomicUsize::new(0);
    let store = Arc::new(Meddler { inner, at, appends, post });
    let rig = Rig::on(store.clone());
    rig.engine().submit(&plan(&rig)).await.unwrap();
    let rest = work(&rig, plan(&rig), shift(1)).await.unwrap();
    let log = rig.log().await;
    let is_beside = |entry: &&Entry| entry.event.is_beside();
    let said = log.entries.iter().filter(is_beside).count();
    let events = log.entries.iter().filter(|entry| !is_beside(entry)).map(timeless).collect();
    let appends = store.appends.load(Ordering::SeqCst);
    assert_eq!(rig.report().await.interruptions, 0);
    (events, said, appends, outcome(&rest))
}

#[tokio::test]
async fn whatever_is_said_before_any_append_the_run_goes_on_as_if_it_were_not() {
    let (whole, said, appends, end) = meddled(usize::MAX, steer("hm")).await;
    assert_eq!((said, end), (0, Outcome::Verified));
    assert!(appends > 8, "{appends}");
    let mut heard = 0;
    for at in 1..appends {
        let (mut events, said, _, end) = meddled(at, steer("hm")).await;
        heard += said;
        assert_eq!(end, Outcome::Verified, "{at}");
        // A claim says how much was said before it.
        let mut whole = whole.clone();
        for event in events.iter_mut().chain(&mut whole) {
            if let Event::ClaimReceived { work, .. } = event {
                *work = 0;
            }
        }
        assert_eq!(events, whole, "{at}");
    }
    // The last append or two are those of a run that has ended.
    assert!(heard + 2 >= appends - 1, "{heard} of {appends}");
}

#[tokio::test]
async fn a_request_to_stop_before_any_append_ends_the_run_as_cancelled() {
    let (.., appends, _) = meddled(usize::MAX, cancel()).await;
    let mut cancelled = 0;
    for at in 1..appends {
        let (_, said, _, end) = meddled(at, cancel()).await;
        let expected = if said == 1 { Outcome::Cancelled } else { Outcome::Verified };
        // The verdict may be in the same append that the request came before.
        let fits = end == expected || (said == 1 && end == Outcome::Verified);
        assert!(fits, "{at}: {end:?}");
        cancelled += usize::from(end == Outcome::Cancelled);
    }
    assert!(cancelled > 4, "{cancelled}");
}
