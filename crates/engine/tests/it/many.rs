//! Many runs at once on one store.

use std::sync::Arc;

use probity_core::{Claim, Outcome};
use probity_delegate::{Answered, FunctionDelegate};
use probity_engine::{Plan, Report};
use probity_record::verify_records;
use probity_store::{MemoryStore, Store, read_run};
use probity_store_sqlite::{Options, SqliteStore};
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Rig, Unwatched, bounded};

const RUNS: usize = 100;

/// Every third lies for good, the others do the work on their second turn.
fn plan(rig: &Rig, nth: usize) -> Plan {
    let path = rig.path().join("out.txt");
    let delegate = FunctionDelegate::new("worker", move |request| {
        let path = path.clone();
        async move {
            if !nth.is_multiple_of(3) && request.turn.number == 1 {
                std::fs::write(path, "hello").unwrap();
            }
            Ok(Answered::of(Claim::text(format!("run {nth}, round {}", request.turn.number))))
        }
    });
    let plan = rig.plan(Arc::new(delegate), [Eye::file(rig, "out.txt").check("out")]);
    Plan { run: format!("run-{nth}").parse().unwrap(), ..plan }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_are_sealed_on_the_durable_store() {
    let dir = tempfile::TempDir::new().unwrap();
    let store = SqliteStore::open(dir.path().join("runs.db"), Options::default()).unwrap();
    all_are_sealed(Arc::new(store)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_are_sealed_in_memory() {
    all_are_sealed(Arc::new(MemoryStore::new())).await;
}

async fn all_are_sealed(store: Arc<dyn Store>) {
    let mut runs = tokio::task::JoinSet::new();
    for nth in 0..RUNS {
        let rig = Rig::on(Arc::clone(&store));
        runs.spawn(async move {
            let engine = rig.engine();
            let ended = engine.run(plan(&rig, nth), &Unwatched, CancellationToken::new());
            (nth, ended.await.unwrap())
        });
    }
    let ends = bounded(runs.join_all()).await;
    assert_eq!(ends.len(), RUNS);
    for (nth, ended) in ends {
        let lies = nth.is_multiple_of(3);
        let outcome = if lies { Outcome::Exhausted } else { Outcome::Verified };
        assert_eq!(ended.outcome, outcome, "{nth}");
        let records = read_run(store.as_ref(), &ended.run).await.unwrap();
        assert!(verify_records(&records).is_sealed(), "{nth}");
        let report = Report::read(store.as_ref(), &ended.run).await.unwrap();
        assert_eq!(report.attempts, if lies { 3 } else { 2 }, "{nth}");
        let last = report.claim.unwrap().response;
        assert_eq!(last, format!("run {nth}, round {}", if lies { 2 } else { 1 }));
    }
    let listed = store.list(None, 1000).await.unwrap();
    assert_eq!(listed.iter().filter(|run| run.state.sealed).count(), RUNS);
}
