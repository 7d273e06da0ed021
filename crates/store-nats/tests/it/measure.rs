//! Figures on three servers that write to disk before they acknowledge, all on this machine.

use std::time::{Duration, Instant};

use probity_core::RunId;
use probity_store::{Ask, Batch, Job, Pool, Queue as _, RunLog as _};
use probity_store_nats::NatsStore;

use crate::cluster::Cluster;

const RECORD_BYTES: usize = 400;

async fn appends(store: NatsStore, run: RunId, count: u64) -> Vec<Duration> {
    let mut times = Vec::new();
    for n in 0..count {
        let started = Instant::now();
        let batch = Batch::of(vec![vec![b'x'; RECORD_BYTES]]);
        store.append(&run, n, batch).await.unwrap();
        times.push(started.elapsed());
    }
    times
}

fn call(max: usize) -> Ask {
    let wait = Duration::from_secs(20);
    Ask { worker: "w".parse().unwrap(), pools: vec![Pool::default()], max, wait }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn per_second(count: usize, started: Instant) -> f64 {
    count as f64 / started.elapsed().as_secs_f64()
}

#[ignore = "measures; says something on an idle machine and in a release build"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures() {
    let cluster = Cluster::start(3).await;
    let store = cluster.store(Duration::from_secs(30)).await;
    let started = Instant::now();
    let times = appends(store.clone(), "alone".parse().unwrap(), 1000).await;
    println!("one run: {:.0} appends/s, p50 {:?}", per_second(1000, started), median(times));

    let started = Instant::now();
    let mut runs = tokio::task::JoinSet::new();
    for n in 0..64 {
        runs.spawn(appends(store.clone(), format!("many-{n}").parse().unwrap(), 100));
    }
    let times = runs.join_all().await.concat();
    println!("64 runs: {:.0} appends/s, p50 {:?}", per_second(6400, started), median(times));

    let started = Instant::now();
    for n in 0..500 {
        let job = Job::now(format!("job-{n}").parse().unwrap(), Pool::default(), 0);
        store.enqueue(job).await.unwrap();
        let lease = store.lease(&call(1)).await.unwrap().remove(0);
        store.settle(&lease).await.unwrap();
    }
    println!("enqueue, lease, settle, one after the other: {:.0}/s", per_second(500, started));

    let started = Instant::now();
    let mut lanes = tokio::task::JoinSet::new();
    for lane in 0..32 {
        let store = store.clone();
        lanes.spawn(async move {
            for n in 0..50 {
                let run = format!("lane-{lane}-{n}").parse().unwrap();
                store.enqueue(Job::now(run, Pool::default(), 0)).await.unwrap();
                for lease in store.lease(&call(1)).await.unwrap() {
                    store.settle(&lease).await.unwrap();
                }
            }
        });
    }
    lanes.join_all().await;
    println!("enqueue, lease, settle, 32 lanes: {:.0}/s", per_second(1600, started));

    let mut times = Vec::new();
    for n in 0..100 {
        let waiter = tokio::spawn({
            let store = store.clone();
            async move { (store.lease(&call(1)).await.unwrap().remove(0), Instant::now()) }
        });
        tokio::time::sleep(Duration::from_millis(30)).await;
        let run = format!("wake-{n}").parse().unwrap();
        store.enqueue(Job::now(run, Pool::default(), 0)).await.unwrap();
        let enqueued = Instant::now();
        let (lease, woken) = waiter.await.unwrap();
        times.push(woken.saturating_duration_since(enqueued));
        store.settle(&lease).await.unwrap();
    }
    println!("from the answer to enqueue to the lease: p50 {:?}", median(times));
}
