//! Figures, by hand: `cargo test -p probity-store-sqlite --test it -- --ignored --nocapture measure`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use probity_store::Queue;
use probity_store_sqlite::SqliteStore;
use tokio::task::JoinSet;

use crate::child::Other;
use crate::queue::{ask, job, open};

const LONG: Duration = Duration::from_secs(60);

async fn rounds(store: &SqliteStore, name: &str, count: usize) {
    for number in 0..count {
        store.enqueue(job(&format!("{name}-{number}"))).await.unwrap();
        // Somebody's job, not necessarily the one just put there.
        for lease in store.lease(&ask(1, LONG)).await.unwrap() {
            store.settle(&lease).await.unwrap();
        }
    }
}

#[ignore = "prints figures; nothing to fail"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_per_second() {
    for (workers, count) in [(1, 300), (64, 100)] {
        let folder =
            tempfile::tempdir_in(std::env::var("PROBITY_MEASURE_DIR").unwrap_or(".".into()));
        let folder = folder.unwrap();
        let store = open(&folder.path().join("store.db"), 60_000);
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for worker in 0..workers {
            let store = store.clone();
            tasks.spawn(async move { rounds(&store, &format!("w{worker}"), count).await });
        }
        tasks.join_all().await;
        let seconds = started.elapsed().as_secs_f64();
        let jobs = workers * count;
        println!(
            "{workers} at once: {:.0} jobs per second",
            f64::from(u32::try_from(jobs).unwrap()) / seconds
        );
    }
}

#[ignore = "prints figures; nothing to fail"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_an_enqueue_here_to_a_lease_in_another_process() {
    let folder = tempfile::tempdir_in(std::env::var("PROBITY_MEASURE_DIR").unwrap_or(".".into()));
    let folder = folder.unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, 60_000);
    let mut other = Other::start("echo", &path, "a");
    assert_eq!(other.next().as_deref(), Some("ready"));
    let mut micros = Vec::new();
    for number in 0..200 {
        // So that the other one is asleep.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        store.enqueue(job(&format!("job-{number}"))).await.unwrap();
        let line = other.next().unwrap();
        let (_, leased_at) = line.split_once(' ').unwrap();
        micros.push(leased_at.parse::<u128>().unwrap() - at);
    }
    micros.sort_unstable();
    println!("enqueue to lease: p50 {} µs, p99 {} µs", micros[100], micros[198]);
    let _ = other.process.kill();
}
