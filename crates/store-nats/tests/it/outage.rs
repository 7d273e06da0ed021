//! Servers that are down: what goes on, what ends, and what is there afterwards.

use std::time::{Duration, Instant};

use probity_core::RunId;
use probity_store::{
    AppendError, Ask, Batch, Blobs as _, Cause, Enqueued, Job, Pool, Queue as _, RunLog as _,
    Standing, read_run,
};
use probity_store_nats::{Level, NatsOptions, NatsStore, inspect};

use crate::cluster::Cluster;

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

fn one(text: &str) -> Batch {
    Batch::of(vec![text.as_bytes().to_vec()])
}

fn ask(wait_ms: u64) -> Ask {
    let wait = Duration::from_millis(wait_ms);
    Ask { worker: "w".parse().unwrap(), pools: vec![Pool::default()], max: 1, wait }
}

fn job(name: &str) -> Job {
    Job::now(run(name), Pool::default(), 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_down_is_borne_and_two_end_every_call_in_time() {
    let cluster = Cluster::start(3).await;
    let store = cluster.store(Duration::from_secs(60)).await;
    let id = run("outage");
    assert_eq!(store.append(&id, 0, one("0")).await, Ok(1));
    let blob = store.put(vec![7; 3_000_000]).await.unwrap();
    store.enqueue(job("held")).await.unwrap();
    let held = store.lease(&ask(20_000)).await.unwrap().remove(0);

    cluster.kill(0);
    for n in 1..10 {
        assert_eq!(store.append(&id, n, one(&n.to_string())).await, Ok(n + 1));
    }
    assert_eq!(read_run(&store, &id).await.unwrap().len(), 10);
    assert!(store.get(&blob, 3_000_000).await.unwrap().is_some());
    assert_eq!(store.heartbeat(&held).await, Ok(()));
    assert_eq!(store.enqueue(job("later")).await, Ok(Enqueued::Added));
    // Also for somebody who comes now, and is told what is missing.
    drop(
        NatsStore::connect(NatsOptions { lease_ttl_ms: 60_000, ..cluster.options() })
            .await
            .unwrap(),
    );
    let findings = inspect(&NatsOptions { lease_ttl_ms: 60_000, ..cluster.options() }).await;
    assert!(findings.iter().all(|it| it.level != Level::Fail), "it can be used: {findings:#?}");
    let has = |level: Level, code: Option<&str>, words: &str| {
        findings.iter().any(|it| it.level == level && it.code == code && it.text.contains(words))
    };
    assert!(has(Level::Warn, Some("nats_replica_missing"), "replica n0"), "{findings:#?}");
    assert!(has(Level::Ok, None, "2 of 3 servers have it"), "{findings:#?}");
    assert!(has(Level::Warn, Some("nats_sync_unknown"), "http://"), "{findings:#?}");

    let hasty = NatsOptions { timeout_ms: 4000, lease_ttl_ms: 60_000, ..cluster.options() };
    let hasty = cluster.open(hasty).await;
    cluster.kill(1);
    every_call_ends(&hasty, &id).await;
    let findings = inspect(&NatsOptions { timeout_ms: 4000, ..cluster.options() }).await;
    assert!(findings.iter().any(|it| it.level == Level::Fail), "{findings:#?}");

    cluster.restart(0);
    cluster.restart(1);
    assert!(cluster.healthy(0).await && cluster.healthy(1).await, "{}", cluster.log(0));
    let len = store.state(&id).await.unwrap().unwrap().len;
    assert!(len == 10 || len == 11, "{len}");
    assert_eq!(store.append(&id, len, one("after")).await, Ok(len + 1));
    assert_eq!(store.settle(&held).await, Ok(()));
}

/// With one of three servers nothing is decided, and nothing waits for ever.
async fn every_call_ends(store: &NatsStore, id: &RunId) {
    let bound = Duration::from_secs(15);
    let started = Instant::now();
    let (open, call) = (run("open"), ask(100));
    let (append, state, read, list, put, enqueue, lease, standing) = tokio::join!(
        store.append(id, 10, one("open")),
        store.state(id),
        store.read(id, 0, 10),
        store.list(None, 10),
        store.put(b"open".to_vec()),
        store.enqueue(job("open")),
        store.lease(&call),
        store.standing(&open),
    );
    assert!(started.elapsed() < bound, "{:?}", started.elapsed());
    let told = matches!(append, Err(AppendError::Unknown(_) | AppendError::Unavailable(_)));
    assert!(told, "{append:?}");
    let failures = [
        state.is_err(),
        read.is_err(),
        list.is_err(),
        put.is_err(),
        enqueue.is_err(),
        lease.is_err(),
        standing.is_err(),
    ];
    // A deposed leader may answer a look for a moment; a write it may not.
    assert!(failures[3] && failures[4], "{failures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_all_servers_loses_nothing() {
    let cluster = Cluster::start(3).await;
    let store = cluster.store(Duration::from_secs(60)).await;
    let runs: Vec<RunId> = (0..5).map(|n| run(&format!("kept-{n}"))).collect();
    let mut blobs = Vec::new();
    for id in &runs {
        for n in 0..4 {
            let mut batch = one(&format!("{id}.{n}"));
            blobs.push(batch.add_blob(format!("blob of {id} {n}").into_bytes()));
            assert_eq!(store.append(id, n, batch).await, Ok(n + 1));
        }
    }
    for name in ["waits", "parked", "dead"] {
        store.enqueue(job(name)).await.unwrap();
    }
    let mut leases = Vec::new();
    while leases.len() < 3 {
        leases.extend(store.lease(&ask(20_000)).await.unwrap());
    }
    let lease = |name: &str| leases.iter().find(|it| it.run == run(name)).unwrap();
    store.park(lease("parked")).await.unwrap();
    let cause = Cause::new("why".parse().unwrap(), "because");
    store.bury(lease("dead"), cause.clone()).await.unwrap();
    store.release(lease("waits"), Duration::ZERO).await.unwrap();

    (0..cluster.size()).for_each(|node| cluster.kill(node));
    cluster.restart_all();
    for node in 0..cluster.size() {
        assert!(cluster.healthy(node).await, "{}", cluster.log(node));
    }
    for id in &runs {
        let records = read_run(&store, id).await.unwrap();
        let wanted: Vec<Vec<u8>> = (0..4).map(|n| format!("{id}.{n}").into_bytes()).collect();
        assert_eq!(records, wanted);
    }
    for blob in &blobs {
        assert!(store.get(blob, 1000).await.unwrap().is_some());
    }
    assert_eq!(store.list(None, 10).await.unwrap().len(), runs.len());
    let pool = Pool::default();
    let parked = Some(Standing::Parked { pool: pool.clone() });
    assert_eq!(store.standing(&run("parked")).await, Ok(parked));
    let dead = Some(Standing::Dead { pool, cause });
    assert_eq!(store.standing(&run("dead")).await, Ok(dead));
    let again = store.lease(&ask(20_000)).await.unwrap().remove(0);
    assert_eq!((again.run.as_str(), again.epoch), ("waits", 2));
    assert_eq!(store.settle(&again).await, Ok(()));
}

/// What a process remembers of servers that are no more says nothing about those that took their place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_were_set_up_anew_get_every_blob_again() {
    let cluster = Cluster::start(1).await;
    let store = cluster.store(Duration::from_secs(30)).await;
    let blob = store.put(b"in memory".to_vec()).await.unwrap();
    assert_eq!(store.get(&blob, 99).await.unwrap().unwrap(), b"in memory");
    cluster.kill(0);
    cluster.wipe(0);
    cluster.restart(0);
    assert!(cluster.healthy(0).await, "{}", cluster.log(0));
    let other = cluster.store(Duration::from_secs(30)).await;
    // An answer, so that the first one has a connection again.
    assert_eq!(store.state(&run("nobody")).await, Ok(None));
    assert_eq!(store.get(&blob, 99).await, Ok(None));
    assert_eq!(store.put(b"in memory".to_vec()).await, Ok(blob));
    assert_eq!(other.get(&blob, 99).await.unwrap().unwrap(), b"in memory");
}
