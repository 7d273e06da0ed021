//! Answers that are lost: what was stored is stored once, and nobody is told otherwise.

use std::time::{Duration, Instant};

use probity_core::RunId;
use probity_store::{AppendError, Batch, FaultKind, RunLog as _, read_run};
use probity_store_nats::{NatsOptions, NatsStore};

use crate::cluster::Cluster;
use crate::proxy::Proxy;

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

fn one(text: &str) -> Batch {
    Batch::of(vec![text.as_bytes().to_vec()])
}

async fn behind(proxy: &Proxy, cluster: &Cluster, timeout_ms: u64) -> NatsStore {
    let servers = vec![proxy.address()];
    // The address that the server itself names would go past the proxy.
    cluster.open(NatsOptions { servers, timeout_ms, ..cluster.options() }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_answer_is_lost_is_stored_once() {
    let cluster = Cluster::start(1).await;
    let proxy = Proxy::start(cluster.address(0)).await;
    let store = behind(&proxy, &cluster, 30_000).await;
    let id = run("lost-answers");
    assert_eq!(store.append(&id, 0, one("0")).await, Ok(1));
    for n in 1..=4 {
        proxy.lose_acks(if n % 2 == 0 { 2 } else { 1 });
        assert_eq!(store.append(&id, n, one(&n.to_string())).await, Ok(n + 1));
    }
    assert!(proxy.lost() >= 4, "{} were lost", proxy.lost());
    let records = read_run(&store, &id).await.unwrap();
    let wanted: Vec<Vec<u8>> = (0..=4).map(|n| n.to_string().into_bytes()).collect();
    assert_eq!(records, wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_lost_its_answer_and_its_place_is_told_the_truth() {
    let cluster = Cluster::start(1).await;
    let proxy = Proxy::start(cluster.address(0)).await;
    let (store, other) = (behind(&proxy, &cluster, 30_000).await, cluster.store(LEASE).await);
    let id = run("raced");
    assert_eq!(store.append(&id, 0, one("a")).await, Ok(1));
    assert_eq!(other.append(&id, 1, one("b")).await, Ok(2));
    // The same bytes at the same place, by another writer: one of the two was first.
    let conflict = Err(AppendError::Conflict { expected: 1, actual: 2 });
    assert_eq!(store.append(&id, 1, one("b")).await, conflict);
    // Its own append is there, and another one behind it, before it hears of either.
    proxy.lose_acks(1);
    let (mine, theirs) = tokio::join!(store.append(&id, 2, one("c")), async {
        other.wait_beyond(&id, 2, Duration::from_secs(20)).await.unwrap();
        other.append(&id, 3, one("d")).await
    });
    assert_eq!((mine, theirs), (Ok(3), Ok(4)));
    assert_eq!(store.state(&id).await.unwrap().unwrap().len, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_without_any_answer_is_unknown_and_ends_in_time() {
    let cluster = Cluster::start(1).await;
    let proxy = Proxy::start(cluster.address(0)).await;
    let (store, other) = (behind(&proxy, &cluster, 3000).await, cluster.store(LEASE).await);
    let id = run("mute");
    assert_eq!(store.append(&id, 0, one("a")).await, Ok(1));
    proxy.mute(true);
    let started = Instant::now();
    let result = store.append(&id, 1, one("b")).await;
    assert!(matches!(result, Err(AppendError::Unknown(_))), "{result:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    // It was stored, and that is what reading the log says.
    assert_eq!(other.state(&id).await.unwrap().unwrap().len, 2);
    proxy.mute(false);
    assert_eq!(store.append(&id, 2, one("c")).await, Ok(3));
}

/// What one replica could not write the others may have written: the answer is not taken for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_says_nothing_about_the_append() {
    let cluster = Cluster::start(1).await;
    let proxy = Proxy::start(cluster.address(0)).await;
    let store = behind(&proxy, &cluster, 30_000).await;
    let id = run("disk");
    assert_eq!(store.append(&id, 0, one("a")).await, Ok(1));
    proxy.fail_acks(1);
    assert_eq!(store.append(&id, 1, one("b")).await, Ok(2));
    assert_eq!(proxy.unfailed(), 0);
    assert_eq!(read_run(&store, &id).await.unwrap(), [b"a".to_vec(), b"b".to_vec()]);
}

/// A bound of the stream is looked at before anything is written: then nothing was stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_full_refuses_for_sure() {
    let cluster = Cluster::start(1).await;
    let max_bytes = Some(20_000);
    let store = cluster.open(NatsOptions { max_bytes, ..cluster.options() }).await;
    let id = run("full");
    let mut len = 0;
    let refused = loop {
        let batch = Batch::of(vec![vec![b'x'; 4000]]);
        match store.append(&id, len, batch).await {
            Ok(longer) => len = longer,
            Err(error) => break error,
        }
        assert!(len < 10, "no bound");
    };
    assert!(
        matches!(&refused, AppendError::Unavailable(it) if it.kind == FaultKind::Full),
        "{refused:?}"
    );
    assert_eq!(store.state(&id).await.unwrap().unwrap().len, len);
}

const LEASE: Duration = Duration::from_secs(10);
