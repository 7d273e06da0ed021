//! A worker dies at every operation on its store, before it and behind it. The next one finishes what
//! it had: nothing is lost, nothing is counted twice, nothing that was written down is done again.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use probity_core::NoteKind;
use probity_core::Usage;
use probity_delegate::{Delegate, Note};
use probity_engine::{Plan, read_notes};
use probity_store::{MemoryStore, Store};
use tokio::sync::Notify;

use crate::hooked::{Hooked, Op};
use crate::rig::{Rig, bounded, delegate, id, plan, says, waits_for};

/// What was really done, in order.
type Done = Arc<Mutex<Vec<String>>>;

/// Does three things in each round and writes each down behind it; the first round is not good.
fn careful(done: &Done, waits: &'static [&'static str]) -> Arc<dyn Delegate> {
    let done = Arc::clone(done);
    delegate(move |request| {
        let done = Arc::clone(&done);
        async move {
            let kept = request.notes.read().await?;
            let run = request.run.as_str();
            for step in 0..3 {
                let name = format!("{run} {} {step}", request.turn.number);
                if kept.iter().any(|note| note.content == name.as_bytes()) {
                    continue;
                }
                done.lock().unwrap().push(name.clone());
                let (kind, usage) = (NoteKind::Tool, Usage::default());
                request.notes.keep(Note { kind, content: name.into_bytes(), usage }).await?;
            }
            if !waits.is_empty() && request.answer.is_none() {
                return Err(waits_for(waits));
            }
            says(if request.turn.number == 0 { "bad" } else { "good" })
        }
    })
}

fn family(done: &Done) -> [Plan; 2] {
    let child = Plan { parent: Some(id("parent")), ..plan("child", careful(done, &[])) };
    [child, plan("parent", careful(done, &["child"]))]
}

/// The operations of the worker that matter: not the calls by which it waits.
fn counts(op: &Op) -> bool {
    !matches!(op.name, "lease" | "parked" | "heartbeat") || (op.name == "lease" && op.is_done)
}

/// Runs the family on a worker that dies at the n-th operation, then on another. True if it died.
async fn life(kill_at: u64) -> bool {
    let base = Rig::on(Arc::new(MemoryStore::with_lease_ttl(Duration::from_secs(3))));
    let done = Done::default();
    for plan in family(&done) {
        base.submit(plan).await;
    }
    let (ops, killed) = (AtomicU64::new(0), Arc::new(Notify::new()));
    let dies = Arc::clone(&killed);
    let mortal = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        let is_last = counts(&op) && ops.fetch_add(1, Ordering::SeqCst) == kill_at;
        let dies = Arc::clone(&dies);
        Box::pin(async move {
            if is_last {
                dies.notify_one();
                std::future::pending::<()>().await;
            }
            false
        })
    });
    let mut options = base.options("w-1");
    options.concurrency = 2;
    let worker = base.through(mortal).working(options);
    let ended = async {
        base.stands("parent", "none").await;
        base.stands("child", "none").await;
    };
    let has_died = bounded(async {
        tokio::select! {
            biased;
            () = killed.notified() => true,
            () = ended => false,
        }
    })
    .await;
    worker.killed().await;
    let next = base.worker("w-2");
    for run in ["child", "parent"] {
        let report = base.sealed(run).await;
        assert_eq!(report.outcome.unwrap().as_str(), "verified", "{kill_at}: {run}");
        assert_eq!(report.attempts, 2, "{kill_at}: {run}");
        assert!(report.interruptions <= 1, "{kill_at}: {run}");
        base.stands(run, "none").await;
        let store: &dyn Store = base.store.as_ref();
        let notes = read_notes(store, &id(run)).await.unwrap();
        let mut names: Vec<Vec<u8>> = notes.into_iter().map(|note| note.content).collect();
        let len = names.len();
        names.sort();
        names.dedup();
        assert_eq!((len, names.len()), (6, 6), "{kill_at}: {run}");
    }
    let done = done.lock().unwrap().clone();
    let mut twice = done.len();
    let mut unique = done;
    unique.sort();
    unique.dedup();
    twice -= unique.len();
    assert_eq!(unique.len(), 12, "{kill_at}");
    // What was in flight at the crash may be done again: one thing of each run.
    assert!(twice <= if has_died { 2 } else { 0 }, "{kill_at}: {twice}");
    next.drained().await;
    has_died
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_at_any_operation_loses_and_repeats_nothing() {
    let mut kills = 0;
    while life(kills).await {
        kills += 1;
        assert!(kills < 2000, "it never ends by itself");
    }
    assert!(kills > 60, "{kills} operations are too few to be a whole run");
}
