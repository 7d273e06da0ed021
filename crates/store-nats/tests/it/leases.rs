//! Leases, where there is more than one process.

use std::time::Duration;

use probity_core::RunId;
use probity_store::{Ask, Cause, Job, LeaseError, Pool, Queue as _, Standing};
use probity_store_nats::{NatsOptions, NatsStore};

use crate::cluster::Cluster;
use crate::proxy::Proxy;

fn ask(pools: &[&str], max: usize, wait_ms: u64) -> Ask {
    Ask {
        worker: "w".parse().unwrap(),
        pools: pools.iter().map(|pool| pool.parse().unwrap()).collect(),
        max,
        wait: Duration::from_millis(wait_ms),
    }
}

fn job(run: &str) -> Job {
    Job::now(run.parse().unwrap(), Pool::default(), 0)
}

async fn take(store: &NatsStore) -> probity_store::Lease {
    store.lease(&ask(&["default"], 1, 20_000)).await.unwrap().remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_belongs_to_the_process_that_took_it() {
    let cluster = Cluster::start(1).await;
    let lease_ttl = Duration::from_secs(2);
    let (a, b) = (cluster.store(lease_ttl).await, cluster.store(lease_ttl).await);
    a.enqueue(job("mine")).await.unwrap();
    let lease = take(&a).await;
    assert_eq!(b.heartbeat(&lease).await, Err(LeaseError::Lost));
    assert_eq!(b.settle(&lease).await, Err(LeaseError::Lost));
    assert_eq!(a.heartbeat(&lease).await, Ok(()));

    // The server would still take what the first holder says.
    let next = take(&b).await;
    assert_eq!((next.epoch, next.deliveries), (2, 2));
    for result in [a.heartbeat(&lease).await, a.settle(&lease).await, a.park(&lease).await] {
        assert_eq!(result, Err(LeaseError::Lost));
    }
    assert_eq!(a.release(&lease, Duration::ZERO).await, Err(LeaseError::Lost));
    assert_eq!(b.settle(&next).await, Ok(()));
    assert_eq!(b.standing(&next.run).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_gone_loses_its_leases_and_nothing_else() {
    let cluster = Cluster::start(1).await;
    let lease_ttl = Duration::from_secs(1);
    let (a, b) = (cluster.store(lease_ttl).await, cluster.store(lease_ttl).await);
    let runs = ["r-0", "r-1", "r-2", "r-3", "r-4"];
    for run in runs {
        a.enqueue(job(run)).await.unwrap();
    }
    assert_eq!(a.lease(&ask(&["default"], 3, 0)).await.unwrap().len(), 3);
    // One that is waiting, and is dropped while it waits.
    let waiting = tokio::spawn({
        let a = a.clone();
        async move { a.lease(&ask(&["other"], 1, 60_000)).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    waiting.abort();
    drop(a);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < runs.len() {
        for lease in b.lease(&ask(&["default"], 8, 20_000)).await.unwrap() {
            assert!(seen.insert(lease.run.clone()), "{lease:?} twice");
            b.settle(&lease).await.unwrap();
        }
    }
    let elsewhere = Job { pool: "other".parse().unwrap(), ..job("r-5") };
    b.enqueue(elsewhere).await.unwrap();
    assert_eq!(b.lease(&ask(&["other"], 1, 20_000)).await.unwrap().len(), 1);
}

/// A call that names several pools and gets a job of one leaves those of the others to be had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_too_late_goes_back() {
    let cluster = Cluster::start(1).await;
    let store = cluster.store(Duration::from_secs(60)).await;
    let pools = ["a", "b", "c"];
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.lease(&ask(&pools, 1, 20_000)).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    for pool in pools {
        let job = Job { pool: pool.parse().unwrap(), ..job(&format!("in-{pool}")) };
        store.enqueue(job).await.unwrap();
    }
    let mut got = waiting.await.unwrap();
    assert_eq!(got.len(), 1);
    while got.len() < pools.len() {
        got.extend(store.lease(&ask(&pools, 8, 20_000)).await.unwrap());
    }
    let runs: std::collections::BTreeSet<&RunId> = got.iter().map(|lease| &lease.run).collect();
    assert_eq!(runs.len(), pools.len());
    for lease in &got {
        let queued = Some(Standing::Queued { pool: lease.pool.clone() });
        assert_eq!(store.standing(&lease.run).await, Ok(queued));
        store.settle(lease).await.unwrap();
    }
}

/// What a holder sent in time and what arrives after its time changes nothing for who came next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_end_of_a_lease_does_not_touch_the_next_one() {
    let cluster = Cluster::start(1).await;
    let proxy = Proxy::start(cluster.address(0)).await;
    let (servers, lease_ttl_ms) = (vec![proxy.address()], 2000);
    let late = cluster.open(NatsOptions { servers, lease_ttl_ms, ..cluster.options() }).await;
    let store = cluster.store(Duration::from_millis(lease_ttl_ms)).await;
    let (delete, publish) = ("STREAM.MSG.DELETE.PROBITY_WORK", "HPUB probity.work.");
    for (name, word) in
        [("settle", delete), ("park", delete), ("bury", delete), ("release", publish)]
    {
        late.enqueue(job(name)).await.unwrap();
        let old = take(&late).await;
        proxy.hold_at(word);
        let ended = match name {
            "settle" => late.settle(&old).await,
            "park" => late.park(&old).await,
            "bury" => late.bury(&old, Cause::new("why".parse().unwrap(), "because")).await,
            _ => late.release(&old, Duration::ZERO).await,
        };
        assert!(ended.is_err() && proxy.holds(), "{name}: {ended:?}");
        let lease = take(&store).await;
        assert_eq!((lease.run.as_str(), lease.epoch, lease.deliveries), (name, 2, 2));
        proxy.let_go();
        // Behind what was held, on the same connection.
        for _ in 0..20 {
            let queued = Some(Standing::Queued { pool: Pool::default() });
            assert_eq!(late.standing(&old.run).await, Ok(queued), "{name}");
        }
        assert_eq!(store.heartbeat(&lease).await, Ok(()));
        assert_eq!(store.release(&lease, Duration::ZERO).await, Ok(()), "{name}");
        let next = take(&store).await;
        assert_eq!((next.run.as_str(), next.epoch), (name, 3));
        assert_eq!(store.settle(&next).await, Ok(()));
        assert_eq!(store.standing(&old.run).await, Ok(None), "{name}");
    }
}

/// A queue full of jobs that are not due does not keep a call beyond its time, and each call gets
/// further than the one before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_are_not_due_do_not_hide_the_one_that_is() {
    let cluster = Cluster::start(1).await;
    let store = cluster.store(Duration::from_secs(30)).await;
    let mut jobs = tokio::task::JoinSet::new();
    for n in 0..2000 {
        let store = store.clone();
        let job = Job { delay: Duration::from_secs(3600), ..job(&format!("later-{n}")) };
        jobs.spawn(async move { store.enqueue(job).await.unwrap() });
    }
    jobs.join_all().await;
    store.enqueue(job("now")).await.unwrap();
    let started = std::time::Instant::now();
    let lease = take(&store).await;
    assert_eq!(lease.run.as_str(), "now");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    store.settle(&lease).await.unwrap();
    assert!(store.lease(&ask(&["default"], 1, 0)).await.unwrap().is_empty());
}
