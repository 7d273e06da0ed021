//! Many workers at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_core::RunId;
use tokio::task::JoinSet;

use crate::Ask;

use super::super::run;
use super::{LONG, QueueProvider, SHORT, ask, assert_idle, job, next};

const WORKERS: usize = 8;

fn call(worker: usize, max: usize, wait: Duration) -> Ask {
    Ask { worker: format!("worker-{worker}").parse().unwrap(), ..ask(max, wait) }
}

/// Each job is in at most one pair of hands at a time, and its epochs rise from hand to hand.
pub async fn leases_of_many_workers_never_overlap(queue: &impl QueueProvider) {
    const JOBS: usize = 12;
    const ROUNDS: u32 = 10;
    let held: Arc<Mutex<BTreeSet<RunId>>> = Arc::default();
    let epochs: Arc<Mutex<BTreeMap<RunId, u64>>> = Arc::default();
    for number in 0..JOBS {
        queue.enqueue(job(&format!("shared-{number}"))).await.unwrap();
    }
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (queue, held, epochs) = (queue.clone(), Arc::clone(&held), Arc::clone(&epochs));
        workers.spawn(async move {
            loop {
                let leases = queue.lease(&call(worker, 1 + worker % 3, SHORT)).await.unwrap();
                for lease in &leases {
                    assert!(held.lock().unwrap().insert(lease.run.clone()), "{lease:?} is held");
                    let before = epochs.lock().unwrap().insert(lease.run.clone(), lease.epoch);
                    assert!(before.is_none_or(|before| before < lease.epoch), "{lease:?}");
                }
                tokio::task::yield_now().await;
                for lease in &leases {
                    // Before the end of the lease, which is what lets another one in.
                    assert!(held.lock().unwrap().remove(&lease.run));
                    if lease.deliveries < ROUNDS {
                        queue.release(lease, Duration::ZERO).await.unwrap();
                    } else {
                        queue.settle(lease).await.unwrap();
                    }
                }
                if leases.is_empty() && epochs.lock().unwrap().values().sum::<u64>() >= 120 {
                    return;
                }
            }
        });
    }
    let done = tokio::time::timeout(LONG, workers.join_all()).await;
    assert!(done.is_ok(), "the workers are not done");
    assert_idle(queue).await;
    let epochs = epochs.lock().unwrap();
    assert!(epochs.values().all(|epoch| *epoch == u64::from(ROUNDS)), "{epochs:?}");
}

/// A job that is released at once again and again goes behind those that wait.
pub async fn nobody_starves_behind_a_job_that_comes_back(queue: &impl QueueProvider) {
    const OTHERS: usize = 20;
    queue.enqueue(job("greedy")).await.unwrap();
    for number in 0..OTHERS {
        queue.enqueue(job(&format!("patient-{number}"))).await.unwrap();
    }
    let mut order = Vec::new();
    while order.len() < 3 * (OTHERS + 1) {
        let lease = next(queue).await;
        queue.release(&lease, Duration::ZERO).await.unwrap();
        order.push(lease.run);
    }
    let mut counts: BTreeMap<&RunId, usize> = BTreeMap::new();
    for leased in &order {
        *counts.entry(leased).or_default() += 1;
    }
    assert_eq!(counts.len(), OTHERS + 1, "{counts:?}");
    assert!(counts.values().all(|count| (2..=4).contains(count)), "{counts:?}");
}

/// Of many that wait, one gets the job; the others go on waiting and get the next ones.
pub async fn one_job_wakes_one_worker(queue: &impl QueueProvider) {
    let mut waiters = JoinSet::new();
    for worker in 0..WORKERS {
        let queue = queue.clone();
        waiters.spawn(async move { queue.lease(&call(worker, 1, LONG)).await.unwrap() });
    }
    let mut seen = BTreeSet::new();
    for number in 0..WORKERS {
        queue.enqueue(job(&format!("for-one-{number}"))).await.unwrap();
        let leases = tokio::time::timeout(LONG, waiters.join_next()).await.unwrap();
        let leases = leases.unwrap().unwrap();
        assert_eq!(leases.len(), 1);
        assert_eq!(waiters.len(), WORKERS - 1 - number, "a wait ended for nothing");
        assert!(seen.insert(leases[0].run.clone()));
    }
    assert_eq!(seen.len(), WORKERS);
}

/// Enqueued by some while others work: each is leased once, settled once, and gone.
pub async fn a_thousand_jobs_are_done_once_each(queue: &impl QueueProvider) {
    const JOBS: usize = 1000;
    let done: Arc<Mutex<Vec<RunId>>> = Arc::default();
    let mut tasks = JoinSet::new();
    for worker in 0..WORKERS {
        let (queue, done) = (queue.clone(), Arc::clone(&done));
        tasks.spawn(async move {
            while done.lock().unwrap().len() < JOBS {
                let leases = queue.lease(&call(worker, 16, SHORT)).await.unwrap();
                let mut settling = JoinSet::new();
                for lease in leases {
                    assert_eq!(lease.deliveries, 1, "{lease:?}");
                    let (queue, done) = (queue.clone(), Arc::clone(&done));
                    settling.spawn(async move {
                        queue.settle(&lease).await.unwrap();
                        done.lock().unwrap().push(lease.run);
                    });
                }
                settling.join_all().await;
            }
        });
    }
    for part in 0..10 {
        let queue = queue.clone();
        tasks.spawn(async move {
            let mut enqueuing = JoinSet::new();
            for number in (0..JOBS).filter(|number| number % 10 == part) {
                let queue = queue.clone();
                enqueuing.spawn(async move {
                    queue.enqueue(job(&format!("thousand-{number}"))).await.unwrap();
                });
            }
            enqueuing.join_all().await;
        });
    }
    let ended = tokio::time::timeout(LONG * 2, tasks.join_all()).await;
    assert!(ended.is_ok(), "{} of {JOBS} are done", done.lock().unwrap().len());
    let done = std::mem::take(&mut *done.lock().unwrap());
    let distinct: BTreeSet<&RunId> = done.iter().collect();
    assert_eq!((done.len(), distinct.len()), (JOBS, JOBS));
    assert_eq!(queue.standing(&run("thousand-0")).await, Ok(None));
}
