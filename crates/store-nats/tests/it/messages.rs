//! How many messages the servers get for what is done most.

use std::time::Duration;

use probity_core::RunId;
use probity_store::{Ask, Batch, Blobs as _, Job, Pool, Queue as _, RunLog as _, read_run};

use crate::cluster::Cluster;

/// So many of each that a message which the server has not counted yet does not matter.
const TIMES: u64 = 40;

fn batch(run: &RunId, number: u64, blobs: &[&str]) -> Batch {
    let mut batch = Batch::of(vec![format!("{run} {number}").into_bytes()]);
    for blob in blobs {
        batch.add_blob(blob.as_bytes().to_vec());
    }
    batch
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_or_asked_for_twice() {
    let cluster = Cluster::start(1).await;
    let store = cluster.store(Duration::from_secs(30)).await;
    let mut before = cluster.messages();
    let mut each = |what: &str, most: f64| {
        let now = cluster.messages();
        let sent = (now - before) as f64 / TIMES as f64;
        before = now;
        assert!((most - 0.5..most + 0.3).contains(&sent), "{what}: {sent} messages, not {most}");
    };
    let id: RunId = "counted".parse().unwrap();
    store.append(&id, 0, batch(&id, 0, &[])).await.unwrap();
    for n in 1..=TIMES {
        store.append(&id, n, batch(&id, n, &[])).await.unwrap();
    }
    each("an append", 1.0);
    for n in TIMES + 1..=2 * TIMES {
        let blobs = [format!("a {n}"), format!("b {n}")];
        let blobs = [blobs[0].as_str(), blobs[1].as_str(), blobs[0].as_str(), "in all of them"];
        store.append(&id, n, batch(&id, n, &blobs)).await.unwrap();
        let name = batch(&id, n, &blobs).blobs[0].0;
        assert_eq!(store.get(&name, 99).await.unwrap().unwrap(), blobs[0].as_bytes());
    }
    each("an append with two blobs that nobody has, and reading one", 3.0);
    let len = usize::try_from(2 * TIMES + 1).unwrap();
    for _ in 0..TIMES {
        assert_eq!(read_run(&store, &id).await.unwrap().len(), len);
    }
    each("a whole log", 2.0);
    for n in 0..TIMES {
        let job = Job::now(format!("job-{n}").parse().unwrap(), Pool::default(), 0);
        store.enqueue(job).await.unwrap();
    }
    each("a job", 2.0);
    let wait = Duration::from_secs(20);
    let call = Ask { worker: "w".parse().unwrap(), pools: vec![Pool::default()], max: 1, wait };
    for _ in 0..TIMES {
        let lease = store.lease(&call).await.unwrap().remove(0);
        store.settle(&lease).await.unwrap();
    }
    each("a lease and its end", 4.0);
    for n in 0..TIMES {
        let id: RunId = format!("new-{n}").parse().unwrap();
        store.append(&id, 0, batch(&id, 0, &[&format!("c {n}")])).await.unwrap();
    }
    each("a new run with a blob", 4.0);
}
