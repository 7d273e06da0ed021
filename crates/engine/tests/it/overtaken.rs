//! What somebody else appends is later than the run's time: what the delegate brought before that, and
//! was not written yet, comes behind it. And who is told to stop while it leaves a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_core::{Claim, NoteKind, Outcome, Policy, RedFirst, Usage};
use probity_delegate::{
    Answered, DelegateError, FunctionDelegate, Note, NoteError, Parked, Request,
};
use probity_engine::{Clock, Engine, Plan, Post, Rest, Shift, SystemClock};
use probity_store::Store;
use probity_verifier::{NoFacts, Workspace};
use tokio_util::sync::CancellationToken;

use crate::rig::{Rig, Unwatched, bounded, run_id};

const WALL_MS: u64 = 600_000;

/// A clock of its own: it stands.
struct Stands(u64);

impl Clock for Stands {
    fn now_ms(&self) -> u64 {
        self.0
    }
}

fn note() -> Note {
    Note { kind: NoteKind::Model, content: b"n".to_vec(), usage: Usage::default() }
}

/// Somebody whose clock is behind the end of the run's time says something to it.
async fn said_too_late(store: Arc<dyn Store>, begin_ms: u64) {
    let late = Engine::new(store, Arc::new(Stands(begin_ms + WALL_MS + 1)));
    let post = Post::Steer { by: "ana".to_owned(), text: "hm".to_owned() };
    late.post(&run_id(), &post).await.unwrap();
}

/// A run whose time is ten minutes; its workspace is none, so that it is read at once.
fn plan<F, P>(play: F) -> Plan
where
    F: Fn(Request) -> P + Send + Sync + 'static,
    P: Future<Output = Result<Answered, DelegateError>> + Send + 'static,
{
    let delegate = Arc::new(FunctionDelegate::new("playing", play));
    let policy = Policy { red_first: RedFirst::Off, wall_ms: Some(WALL_MS), ..Policy::default() };
    let (workspace, facts) = (Arc::new(Workspace::none()), Arc::new(NoFacts));
    Plan { policy, ..Plan::new(run_id(), "Say it.", delegate, workspace, facts) }
}

async fn run(rig: &Rig, begin_ms: u64, plan: Plan) -> Outcome {
    let engine = Engine::new(Arc::clone(&rig.store), Arc::new(Stands(begin_ms)));
    bounded(engine.run(plan, &Unwatched, CancellationToken::new())).await.unwrap().outcome
}

#[tokio::test]
async fn a_note_that_is_overtaken_by_the_end_of_the_time_is_not_said_to_be_kept() {
    const BEGIN_MS: u64 = 1_700_000_000_000;
    let rig = Rig::new();
    let (store, kept) = (Arc::clone(&rig.store), Arc::new(Mutex::new(None)));
    let seen = Arc::clone(&kept);
    let plan = plan(move |request: Request| {
        let (store, seen) = (Arc::clone(&store), Arc::clone(&seen));
        async move {
            said_too_late(store, BEGIN_MS).await;
            let kept = request.notes.keep(note()).await;
            *seen.lock().unwrap() = Some(kept.clone());
            kept?;
            Ok(Answered::of(Claim::text("done")))
        }
    });
    assert_eq!(run(&rig, BEGIN_MS, plan).await, Outcome::Exhausted);
    assert!(!rig.names().await.contains(&"delegate.noted"));
    let kept = kept.lock().unwrap().clone();
    assert!(matches!(kept, None | Some(Err(NoteError::Closed))), "{kept:?}");
}

#[tokio::test]
async fn what_comes_with_a_claim_that_is_overtaken_by_the_end_of_the_time_ends_the_run() {
    const BEGIN_MS: u64 = 1_700_000_000_000;
    for notes in [0, 1, 3] {
        let rig = Rig::new();
        let store = Arc::clone(&rig.store);
        let plan = plan(move |_| {
            let store = Arc::clone(&store);
            async move {
                said_too_late(store, BEGIN_MS).await;
                Ok(Answered { notes: vec![note(); notes], ..Answered::of(Claim::text("done")) })
            }
        });
        assert_eq!(run(&rig, BEGIN_MS, plan).await, Outcome::Exhausted, "{notes}");
        let names = rig.names().await;
        assert_eq!(names.last(), Some(&"run.sealed"), "{names:?}");
        assert!(!names.contains(&"claim.received"), "{names:?}");
    }
}

/// Lets go when it is asked for the time for the n-th time.
struct StopsAt {
    at: usize,
    asked: AtomicUsize,
    stop: CancellationToken,
}

impl Clock for StopsAt {
    fn now_ms(&self) -> u64 {
        if self.asked.fetch_add(1, Ordering::SeqCst) == self.at {
            self.stop.cancel();
        }
        SystemClock.now_ms()
    }
}

#[tokio::test]
async fn whenever_it_is_told_to_stop_a_run_is_said_to_wait_only_if_its_log_says_so() {
    let far_ms = SystemClock.now_ms() + 4_000_000_000_000;
    let plan = || {
        plan(move |_| async move {
            let key = "t".to_owned();
            let (question, children) = (String::new(), Vec::new());
            Err(DelegateError::Parked(Parked { key, until_ms: Some(far_ms), question, children }))
        })
    };
    let (mut waits, mut stops) = (0, 0);
    for at in 0..32 {
        let rig = Rig::new();
        rig.engine().submit(&plan()).await.unwrap();
        let stop = CancellationToken::new();
        let clock = StopsAt { at, asked: AtomicUsize::new(0), stop: stop.clone() };
        let engine = Engine::new(Arc::clone(&rig.store), Arc::new(clock));
        let shift = Shift {
            epoch: 1,
            worker: "w-1".parse().unwrap(),
            answer: None,
            patience: Duration::from_secs(1),
            stop,
        };
        let found = engine.find(&run_id()).await.unwrap();
        let cancel = CancellationToken::new();
        let work = Box::pin(engine.work(found, plan(), shift, &Unwatched, cancel));
        let rest = bounded(work).await.unwrap();
        match rest {
            Rest::Waits { .. } => {
                waits += 1;
                assert_eq!(rig.names().await.last(), Some(&"run.released"), "{at}");
            }
            Rest::Stopped => stops += 1,
            Rest::Ended(ended) => panic!("{at}: {ended:?}"),
        }
    }
    assert!(waits > 0 && stops > 3, "{waits} {stops}");
}
