//! What one durable append costs, by hand:
//! `cargo test -p probity-store-sqlite --test it -- --ignored --nocapture cost`.

use std::path::Path;

use probity_core::RunId;
use probity_store::{Batch, Queue, RunLog};
use probity_store_sqlite::SqliteStore;
use tokio::task::JoinSet;

use crate::queue::{ask, job, open};

/// Appends of one run.
const APPENDS: u64 = 20;

/// What this process has used so far.
#[derive(Debug, Default, Clone, Copy)]
struct Used {
    cpu_us: u64,
    written_bytes: u64,
    writes: u64,
    switches: u64,
}

impl Used {
    fn now() -> Self {
        let mut used = Self::default();
        for task in std::fs::read_dir("/proc/self/task").unwrap() {
            let task = task.unwrap().path();
            let times = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
            let nanos = times.split(' ').next().and_then(|text| text.parse::<u64>().ok());
            used.cpu_us += nanos.unwrap_or(0) / 1000;
            used.switches += field(&task.join("status"), "voluntary_ctxt_switches:");
        }
        used.written_bytes = field(Path::new("/proc/self/io"), "wchar:");
        used.writes = field(Path::new("/proc/self/io"), "syscw:");
        used
    }

    fn print_since(self, before: Self, what: &str, count: u64) {
        println!(
            "{what}: {} µs CPU, {} bytes in {:.1} writes, {:.1} switches",
            (self.cpu_us - before.cpu_us) / count,
            (self.written_bytes - before.written_bytes) / count,
            per(self.writes - before.writes, count),
            per(self.switches - before.switches, count),
        );
    }
}

fn per(sum: u64, count: u64) -> f64 {
    f64::from(u32::try_from(sum).unwrap()) / f64::from(u32::try_from(count).unwrap())
}

fn field(path: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// Three records and two small blobs, none like another.
fn batch(run: &RunId, number: u64) -> Batch {
    let text = |part: u64, len: usize| {
        let mut bytes = format!("{run} {number} {part} ").into_bytes();
        bytes.resize(len, b'.');
        bytes
    };
    let mut batch = Batch::of((0..3).map(|part| text(part, 400)).collect());
    batch.add_blob(text(10, 600));
    batch.add_blob(text(11, 600));
    batch.seal = number + 1 == APPENDS;
    batch
}

async fn drive(store: &SqliteStore, name: &str) {
    let run: RunId = name.parse().unwrap();
    for number in 0..APPENDS {
        let len = store.append(&run, number * 3, batch(&run, number)).await.unwrap();
        assert_eq!(len, number * 3 + 3);
    }
}

async fn work(store: &SqliteStore, name: &str) {
    store.enqueue(job(name)).await.unwrap();
    let long = std::time::Duration::from_secs(60);
    for lease in store.lease(&ask(1, long)).await.unwrap() {
        store.heartbeat(&lease).await.unwrap();
        store.settle(&lease).await.unwrap();
    }
}

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[ignore = "prints figures; nothing to fail"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_append() {
    let runs = number_of("PROBITY_MEASURE_RUNS", 200);
    let folder = tempfile::tempdir_in(std::env::var("PROBITY_MEASURE_DIR").unwrap_or(".".into()));
    let folder = folder.unwrap();
    let store = open(&folder.path().join("store.db"), 60_000);
    let mut used = Used::now();
    for at_once in [1, 16] {
        let mut tasks = JoinSet::new();
        for worker in 0..at_once {
            let store = store.clone();
            tasks.spawn(async move {
                for number in 0..runs / at_once {
                    drive(&store, &format!("{at_once}-{worker}-{number}")).await;
                }
            });
        }
        tasks.join_all().await;
        let before = std::mem::replace(&mut used, Used::now());
        used.print_since(
            before,
            &format!("append, {at_once} at once"),
            runs / at_once * at_once * APPENDS,
        );
    }
    for number in 0..runs {
        work(&store, &format!("job-{number}")).await;
    }
    Used::now().print_since(used, "job: enqueue, lease, heartbeat, settle", runs);
}
