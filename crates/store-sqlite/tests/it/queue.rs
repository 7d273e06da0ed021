//! The queue in a file: clocks, processes, faults.

use std::path::Path;
use std::time::{Duration, Instant};

use probity_core::RunId;
use probity_store::{
    Ask, Batch, Enqueued, FaultKind, Job, Lease, LeaseError, Pool, Queue, QueueError, RunLog,
    Standing,
};
use probity_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

use crate::child::Other;

const LONG: Duration = Duration::from_secs(60);

pub(crate) fn open(path: &Path, lease_ttl_ms: u32) -> SqliteStore {
    SqliteStore::open(path, Options { lease_ttl_ms, ..Options::default() }).unwrap()
}

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

pub(crate) fn job(name: &str) -> Job {
    Job::now(run(name), Pool::default(), 0)
}

pub(crate) fn ask(max: usize, wait: Duration) -> Ask {
    Ask { worker: "w".parse().unwrap(), pools: vec![Pool::default()], max, wait }
}

async fn next(store: &SqliteStore) -> Lease {
    store.lease(&ask(1, LONG)).await.unwrap().remove(0)
}

fn fault_kind<T: std::fmt::Debug>(result: Result<T, QueueError>) -> FaultKind {
    match result {
        Err(QueueError::Unavailable(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_time_of_a_lease_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    for (asked_ms, kept_ms) in
        [(0, 1000), (999, 1000), (1000, 1000), (600_000, 600_000), (600_001, 600_000)]
    {
        assert_eq!(open(&path, asked_ms).lease_ttl(), Duration::from_millis(kept_ms));
    }
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.lease_ttl(), Duration::from_secs(10));
}

#[tokio::test]
async fn jobs_survive_a_restart_and_leases_run_out_across_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 1000);
    for name in ["held", "parked", "dead", "late"] {
        store.enqueue(job(name)).await.unwrap();
    }
    let leases = store.lease(&ask(10, LONG)).await.unwrap();
    let [held, parked, dead, late] = leases.as_slice() else { panic!("{leases:?}") };
    store.park(parked).await.unwrap();
    let cause = probity_store::Cause::new("broken".parse().unwrap(), "why");
    store.bury(dead, cause.clone()).await.unwrap();
    store.release(late, LONG).await.unwrap();
    drop(store);

    let store = open(&path, 1000);
    let pool = Pool::default();
    for (name, standing) in [
        ("held", Standing::Queued { pool: pool.clone() }),
        ("parked", Standing::Parked { pool: pool.clone() }),
        ("dead", Standing::Dead { pool: pool.clone(), cause }),
        ("late", Standing::Queued { pool }),
    ] {
        assert_eq!(store.standing(&run(name)).await, Ok(Some(standing)), "{name}");
    }
    // Whoever took it did so through a store that is gone.
    assert_eq!(store.settle(held).await, Err(LeaseError::Lost));
    let again = next(&store).await;
    assert_eq!((again.run.as_str(), again.epoch, again.deliveries), ("held", 2, 2));
}

#[tokio::test]
async fn two_stores_on_one_file_wake_each_other_and_never_share_a_lease() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (one, two) = (open(&path, 60_000), open(&path, 60_000));
    for number in 0..50 {
        let waiting = tokio::spawn({
            let two = two.clone();
            async move { next(&two).await }
        });
        tokio::task::yield_now().await;
        one.enqueue(job(&format!("job-{number}"))).await.unwrap();
        let lease = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
        assert_eq!(lease.run, run(&format!("job-{number}")));
        assert_eq!(one.lease(&ask(1, Duration::ZERO)).await, Ok(Vec::new()));
        // It is the other store's to keep and to end.
        assert_eq!(one.settle(&lease).await, Err(LeaseError::Lost));
        assert_eq!(two.settle(&lease).await, Ok(()));
    }
}

#[tokio::test]
async fn a_clock_that_was_set_back_holds_nothing_up_for_longer_than_it_was_meant_to_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let holder = open(&path, 1000);
    holder.enqueue(job("leased")).await.unwrap();
    let lease = next(&holder).await;
    let delay = Duration::from_secs(1);
    holder.enqueue(Job { delay, ..job("delayed") }).await.unwrap();
    // As it looks after the clock was set back by an hour.
    let changed = Connection::open(&path)
        .unwrap()
        .execute("UPDATE job SET at_ms = at_ms + 3600000", [])
        .unwrap();
    assert_eq!(changed, 2);
    let started = Instant::now();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    // By its own clock it has run out, whatever the file says.
    assert_eq!(holder.settle(&lease).await, Err(LeaseError::Lost));
    let other = open(&path, 1000);
    let mut runs = [next(&other).await.run, next(&other).await.run];
    runs.sort();
    assert_eq!(runs, [run("delayed"), run("leased")]);
    assert!(started.elapsed() < LONG);
}

#[tokio::test]
async fn a_full_disk_takes_no_job_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_bytes: Some(256 << 10), ..Options::default() };
    let store = SqliteStore::open(folder.path().join("store.db"), options).unwrap();
    let mut taken = 0;
    let refused = loop {
        let name = format!("{taken:0>60}");
        match store.enqueue(job(&name)).await {
            Ok(enqueued) => assert_eq!(enqueued, Enqueued::Added),
            refused => break refused,
        }
        taken += 1;
        assert!(taken < 10_000, "the bound does not hold");
    };
    assert_eq!(fault_kind(refused), FaultKind::Full);
    assert!(taken > 100);
    // What has no room is told so, and what has goes on: a job that is done makes room.
    let mut settled = 0;
    while settled < taken {
        let leases = store.lease(&ask(1, Duration::ZERO)).await.unwrap();
        assert_eq!(leases.len(), 1, "{settled} of {taken}");
        store.settle(&leases[0]).await.unwrap();
        settled += 1;
    }
    assert_eq!(store.lease(&ask(1, Duration::ZERO)).await, Ok(Vec::new()));
    assert_eq!(store.enqueue(job("again")).await, Ok(Enqueued::Added));
}

#[tokio::test]
async fn a_damaged_row_is_an_error_and_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 1000);
    let edit = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    store.enqueue(job("r")).await.unwrap();
    edit("UPDATE job SET run = 'no run'");
    assert_eq!(fault_kind(store.lease(&ask(1, LONG)).await), FaultKind::Corrupt);
    edit("UPDATE job SET run = 'r', state = 9");
    assert_eq!(fault_kind(store.standing(&run("r")).await), FaultKind::Corrupt);
    assert_eq!(fault_kind(store.enqueue(job("r")).await), FaultKind::Corrupt);
    edit("UPDATE job SET state = 3, pool = ''");
    assert_eq!(fault_kind(store.parked(None, 10).await), FaultKind::Corrupt);
    edit("UPDATE job SET state = 4, pool = 'p'");
    assert_eq!(fault_kind(store.dead(None, 10).await), FaultKind::Corrupt);
    edit("UPDATE job SET state = 4, code = 'NO CODE', message = ''");
    assert_eq!(fault_kind(store.standing(&run("r")).await), FaultKind::Corrupt);
    // Run logs are not touched by it, alone or beside a job in one group.
    edit("UPDATE job SET state = 9");
    let log = run("log");
    let append = store.append(&log, 0, Batch::of(vec![b"x".to_vec()]));
    let (appended, enqueued) = tokio::join!(append, store.enqueue(job("r")));
    assert_eq!(appended, Ok(1));
    assert_eq!(fault_kind(enqueued), FaultKind::Corrupt);
    edit("DELETE FROM ticket");
    assert_eq!(fault_kind(store.enqueue(job("s")).await), FaultKind::Corrupt);
    assert_eq!(store.append(&run("log"), 1, Batch::of(vec![b"y".to_vec()])).await, Ok(2));
}

#[tokio::test]
async fn calls_that_are_given_up_lose_no_job() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store.db"), 600_000);
    for number in 0..200_u64 {
        let call = tokio::spawn({
            let store = store.clone();
            async move { store.lease(&ask(1, LONG)).await }
        });
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        let name = format!("job-{number}");
        let enqueue = tokio::spawn({
            let (store, name) = (store.clone(), name.clone());
            async move { store.enqueue(job(&name)).await }
        });
        tokio::time::sleep(Duration::from_micros(number * 10)).await;
        call.abort();
        let lease = match call.await {
            Ok(leases) => leases.unwrap().remove(0),
            // Nobody took it, so it is there for the next one, long before a lease runs out.
            Err(_) => {
                let leases = store.lease(&ask(1, Duration::from_secs(20))).await.unwrap();
                let [lease] = leases.as_slice() else { panic!("{name} is lost for a while") };
                lease.clone()
            }
        };
        assert_eq!((lease.run.as_str(), lease.deliveries), (name.as_str(), 1));
        store.settle(&lease).await.unwrap();
        enqueue.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn processes_that_contend_for_jobs_do_each_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 60_000);
    let mut others: Vec<Other> =
        ["a", "b", "c"].map(|name| Other::start("work", &path, name)).into_iter().collect();
    for other in &mut others {
        assert_eq!(other.next().as_deref(), Some("ready"));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..300 {
        let store = store.clone();
        tasks.spawn(async move { store.enqueue(job(&format!("job-{number}"))).await.unwrap() });
    }
    tasks.join_all().await;
    let mut done = Vec::new();
    for other in &mut others {
        while let Some(line) = other.next() {
            done.push(line);
        }
        assert!(other.process.wait().unwrap().success());
    }
    done.sort();
    let mut wanted: Vec<String> = (0..300).map(|number| format!("done job-{number} 1")).collect();
    wanted.sort();
    assert_eq!(done, wanted);
}

#[tokio::test]
async fn a_killed_worker_loses_its_leases_and_no_job() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 1000);
    for number in 0..10 {
        store.enqueue(job(&format!("job-{number}"))).await.unwrap();
    }
    let mut other = Other::start("hold", &path, "a");
    let mut settled = Vec::new();
    let mut held = Vec::new();
    // It settles four and holds six when it is killed.
    while held.len() < 6 {
        let line = other.next().unwrap();
        match line.split_once(' ') {
            Some(("settled", name)) => settled.push(name.to_owned()),
            Some(("held", name)) => held.push(name.to_owned()),
            _ => panic!("{line}"),
        }
    }
    // They are held, and kept by heartbeats for longer than a lease lasts.
    assert_eq!(store.lease(&ask(10, Duration::from_millis(1500))).await, Ok(Vec::new()));
    other.process.kill().unwrap();
    other.process.wait().unwrap();
    let killed = Instant::now();
    let mut got = Vec::new();
    while got.len() < held.len() {
        let leases = store.lease(&ask(10, LONG)).await.unwrap();
        assert!(!leases.is_empty(), "{got:?} of {held:?}");
        for lease in leases {
            assert_eq!((lease.epoch, lease.deliveries), (2, 2), "{lease:?}");
            store.settle(&lease).await.unwrap();
            got.push(lease.run.to_string());
        }
    }
    assert!(killed.elapsed() < LONG / 2);
    got.sort();
    held.sort();
    assert_eq!(got, held);
    assert_eq!(settled.len(), 4);
    for name in settled {
        assert_eq!(store.standing(&run(&name)).await, Ok(None), "{name}");
    }
}

#[tokio::test]
async fn workers_killed_at_any_moment_lose_no_job() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 1000);
    let (mut enqueued, mut done) = (0, 0);
    for round in 0..8_u32 {
        for _ in 0..40 {
            store.enqueue(job(&format!("job-{enqueued}"))).await.unwrap();
            enqueued += 1;
        }
        let mut other = Other::start("work-slowly", &path, "a");
        for _ in 0..(round * 7 % 20) {
            other.next().unwrap();
            done += 1;
        }
        other.process.kill().unwrap();
        other.process.wait().unwrap();
        // What it said is done, or was done when it was killed.
        while let Some(line) = other.next() {
            if let Some(("done", name)) = line.split_once(' ')
                && name.parse::<RunId>().is_ok()
                && let Ok(standing) = store.standing(&run(name)).await
            {
                assert_eq!(standing, None, "{name} was settled and is there");
            }
        }
    }
    // Whatever was not settled comes, once each.
    let mut left = std::collections::BTreeSet::new();
    loop {
        let leases = store.lease(&ask(50, Duration::from_millis(2500))).await.unwrap();
        if leases.is_empty() {
            break;
        }
        for lease in leases {
            store.settle(&lease).await.unwrap();
            assert!(left.insert(lease.run.clone()), "{lease:?} came twice");
        }
    }
    for number in 0..enqueued {
        assert_eq!(store.standing(&run(&format!("job-{number}"))).await, Ok(None));
    }
    assert!(
        done > 40 && left.len() > 40,
        "the workers were killed too early or too late to matter"
    );
}
