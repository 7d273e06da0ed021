//! The suite on the memory provider, and what only a paused clock shows.

use std::time::Duration;

use probity_core::RunId;
use probity_store::{Ask, Job, LeaseError, MemoryStore, Pool, Queue};
use tokio::time::Instant;

probity_store::queue_conformance_suite!(async |lease_ttl: Duration| {
    (MemoryStore::with_lease_ttl(lease_ttl), ())
});

fn job(name: &str) -> Job {
    Job::now(name.parse().unwrap(), Pool::default(), 0)
}

fn ask(worker: usize, max: usize, wait: Duration) -> Ask {
    let worker = format!("worker-{worker}").parse().unwrap();
    Ask { worker, pools: vec![Pool::default()], max, wait }
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_drives_leases_delays_and_waits_to_the_millisecond() {
    let queue = MemoryStore::new();
    let started = Instant::now();
    let ms = || started.elapsed().as_millis();
    assert_eq!(queue.lease_ttl(), Duration::from_secs(10));

    assert_eq!(queue.lease(&ask(0, 1, Duration::from_secs(7))).await, Ok(Vec::new()));
    assert_eq!(ms(), 7_000);

    let later = Job { delay: Duration::from_millis(250), ..job("r") };
    queue.enqueue(later).await.unwrap();
    let lease = queue.lease(&ask(0, 1, Duration::MAX)).await.unwrap().remove(0);
    assert_eq!(ms(), 7_250);

    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!(queue.heartbeat(&lease).await, Ok(()));
    let other = queue.lease(&ask(1, 1, Duration::MAX)).await.unwrap().remove(0);
    assert_eq!(ms(), 7_250 + 9_999 + 10_000);
    assert_eq!((other.epoch, other.deliveries), (2, 2));
    assert_eq!(queue.settle(&lease).await, Err(LeaseError::Lost));

    // At the very moment it runs out it is lost, and a millisecond before it is not.
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!(queue.heartbeat(&other).await, Ok(()));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(queue.heartbeat(&other).await, Err(LeaseError::Lost));
}

#[tokio::test(start_paused = true)]
async fn jobs_due_at_one_moment_come_in_the_order_in_which_they_were_put_there() {
    let queue = MemoryStore::new();
    for name in ["c", "a", "b"] {
        queue.enqueue(job(name)).await.unwrap();
    }
    let mut order = String::new();
    for _ in 0..7 {
        let lease = queue.lease(&ask(0, 1, Duration::ZERO)).await.unwrap().remove(0);
        order.push_str(lease.run.as_str());
        queue.release(&lease, Duration::ZERO).await.unwrap();
    }
    assert_eq!(order, "cabcabc");
}

#[tokio::test(start_paused = true)]
async fn workers_that_wait_are_served_the_same_way_each_time() {
    let mut histories: Vec<Vec<(usize, RunId)>> = Vec::new();
    for _ in 0..5 {
        let queue = MemoryStore::new();
        let (sender, mut served) = tokio::sync::mpsc::channel(100);
        for worker in 0..20 {
            let (queue, sender) = (queue.clone(), sender.clone());
            tokio::spawn(async move {
                let leases = queue.lease(&ask(worker, 1, Duration::from_secs(60))).await.unwrap();
                sender.send((worker, leases[0].run.clone())).await.unwrap();
            });
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        for number in 0..20 {
            let delay = Duration::from_millis(number % 3);
            queue.enqueue(Job { delay, ..job(&format!("job-{number}")) }).await.unwrap();
        }
        let mut history = Vec::new();
        while history.len() < 20 {
            history.push(served.recv().await.unwrap());
        }
        histories.push(history);
    }
    assert!(histories.windows(2).all(|pair| pair[0] == pair[1]), "{histories:?}");
}
