//! Jobs go in and come out: to whom, when, how many, in which order.

use std::time::{Duration, Instant};

use crate::limits::MAX_EPOCH_FLOOR;
use crate::{Ask, Enqueued, Job, Lease, Pool, QueueError};

use super::super::run;
use super::{LONG, QueueProvider, SOON, ask, assert_idle, job, next, runs};

/// The way of a job that nothing goes wrong with.
pub async fn a_job_is_leased_and_settled(queue: &impl QueueProvider) {
    assert!(queue.lease_ttl() >= Duration::from_secs(60));
    assert_eq!(queue.enqueue(job("plain")).await, Ok(Enqueued::Added));
    let lease = next(queue).await;
    let Lease { run: leased, pool, epoch, deliveries, handle } = &lease;
    assert_eq!((leased, pool), (&run("plain"), &Pool::default()));
    assert_eq!((*epoch, *deliveries), (1, 1));
    assert!(!handle.is_empty());
    assert_idle(queue).await;
    assert_eq!(queue.heartbeat(&lease).await, Ok(()));
    assert_eq!(queue.settle(&lease).await, Ok(()));
    assert_eq!(queue.standing(&run("plain")).await, Ok(None));
    assert_idle(queue).await;
}

/// One job for a run, however often it is enqueued and by how many at once.
pub async fn a_second_job_for_a_run_changes_nothing(queue: &impl QueueProvider) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let queue = queue.clone();
        tasks.spawn(async move { queue.enqueue(job("once")).await.unwrap() });
    }
    let all = tasks.join_all().await;
    assert_eq!(all.iter().filter(|one| **one == Enqueued::Added).count(), 1, "{all:?}");
    assert_eq!(all.iter().filter(|one| **one == Enqueued::Present).count(), 7, "{all:?}");
    // Neither the pool nor the delay nor the floor of a job that is there.
    let other = Job { pool: "other".parse().unwrap(), delay: LONG, epoch_floor: 50, ..job("once") };
    assert_eq!(queue.enqueue(other).await, Ok(Enqueued::Present));
    let leases = queue.lease(&ask(10, LONG)).await.unwrap();
    assert_eq!(runs(&leases), ["once"]);
    assert_eq!(leases[0].epoch, 1);
    assert_idle(queue).await;
}

/// The timeout is kept, with and without jobs in other pools.
pub async fn a_wait_for_a_job_ends_at_its_timeout(queue: &impl QueueProvider) {
    for _ in 0..2 {
        let (started, wait) = (Instant::now(), Duration::from_millis(200));
        assert_eq!(queue.lease(&ask(1, wait)).await, Ok(Vec::new()));
        assert!(started.elapsed() >= wait, "it gave up early");
        assert!(started.elapsed() < SOON, "it waited for something else");
        assert_eq!(queue.lease(&ask(1, Duration::ZERO)).await, Ok(Vec::new()));
        let elsewhere = Job { pool: "other".parse().unwrap(), ..job("elsewhere") };
        queue.enqueue(elsewhere).await.unwrap();
    }
}

/// A job that comes during a wait ends it, from wherever it comes.
pub async fn a_wait_wakes_when_a_job_comes(queue: &impl QueueProvider) {
    for number in 0..20 {
        let waiter = tokio::spawn({
            let queue = queue.clone();
            async move {
                let started = Instant::now();
                (next(&queue).await, started.elapsed())
            }
        });
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        } else {
            // So that the waiter is asleep.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        queue.enqueue(job(&format!("comes-{number}"))).await.unwrap();
        let (lease, waited) = tokio::time::timeout(SOON, waiter).await.unwrap().unwrap();
        assert_eq!(lease.run, run(&format!("comes-{number}")));
        assert!(waited < SOON);
        queue.settle(&lease).await.unwrap();
    }
}

/// A job that is not due yet ends a wait once it is.
pub async fn a_wait_wakes_when_a_job_is_due(queue: &impl QueueProvider) {
    let delay = Duration::from_secs(1);
    let started = Instant::now();
    queue.enqueue(Job { delay: LONG * 10, ..job("far") }).await.unwrap();
    queue.enqueue(Job { delay, ..job("near") }).await.unwrap();
    assert_eq!(next(queue).await.run, run("near"));
    let waited = started.elapsed();
    assert!(waited >= delay - Duration::from_millis(5), "{waited:?}");
    assert!(waited < SOON, "{waited:?}");
}

/// Never more than asked for, and all of it if it is there.
pub async fn a_lease_is_no_larger_than_asked(queue: &impl QueueProvider) {
    for number in 0..6 {
        queue.enqueue(job(&format!("of-six-{number}"))).await.unwrap();
    }
    let mut got = Vec::new();
    for (max, most) in [(1, 1), (2, 2), (100, 3)] {
        let leases = queue.lease(&ask(max, LONG)).await.unwrap();
        assert!((1..=most).contains(&leases.len()), "{} of {max}", leases.len());
        got.extend(leases);
    }
    // A provider may give less than there is, never nothing.
    while got.len() < 6 {
        got.push(next(queue).await);
    }
    let mut names = runs(&got);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 6);
    assert_idle(queue).await;
}

/// What is out of bounds is refused, and leaves nothing behind.
pub async fn a_call_for_nothing_is_refused(queue: &impl QueueProvider) {
    let refused = |result: Result<Vec<Lease>, QueueError>| {
        assert!(matches!(result, Err(QueueError::Rejected { .. })), "{result:?}");
    };
    refused(queue.lease(&ask(0, LONG)).await);
    refused(queue.lease(&Ask { pools: Vec::new(), ..ask(1, LONG) }).await);
    let high = Job::now(run("high"), Pool::default(), MAX_EPOCH_FLOOR + 1);
    let result = queue.enqueue(high).await;
    assert!(matches!(result, Err(QueueError::Rejected { .. })), "{result:?}");
    assert_eq!(queue.standing(&run("high")).await, Ok(None));
}

/// A worker gets jobs of the pools that it names and of no other; the same one twice is once.
pub async fn pools_are_apart(queue: &impl QueueProvider) {
    let pool = |name: &str| name.parse::<Pool>().unwrap();
    for name in ["cpu", "gpu", "tpu"] {
        queue.enqueue(Job::now(run(name), pool(name), 0)).await.unwrap();
    }
    let from = |names: &[&str], wait| Ask {
        pools: names.iter().map(|name| pool(name)).collect(),
        ..ask(10, wait)
    };
    assert_idle(queue).await;
    let leases = queue.lease(&from(&["gpu", "gpu"], LONG)).await.unwrap();
    assert_eq!(runs(&leases), ["gpu"]);
    assert_eq!(leases[0].pool, pool("gpu"));
    let mut rest = Vec::new();
    while rest.len() < 2 {
        rest.extend(queue.lease(&from(&["none", "tpu", "gpu", "cpu"], LONG)).await.unwrap());
    }
    rest.sort_by(|a, b| a.run.cmp(&b.run));
    assert_eq!(runs(&rest), ["cpu", "tpu"]);
    assert!(rest.iter().all(|lease| lease.pool.as_str() == lease.run.as_str()));
    // A released job goes back to its own pool.
    queue.release(&rest[0], Duration::ZERO).await.unwrap();
    assert_idle(queue).await;
    let again = queue.lease(&from(&["cpu"], LONG)).await.unwrap();
    assert_eq!(runs(&again), ["cpu"]);
}

/// One after the other in, one after the other out.
pub async fn jobs_come_in_the_order_in_which_they_were_due(queue: &impl QueueProvider) {
    for name in ["d", "a", "c", "b"] {
        queue.enqueue(job(name)).await.unwrap();
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(next(queue).await.run.to_string());
    }
    assert_eq!(order, ["d", "a", "c", "b"]);
}

/// No sooner than its delay, however near its time others are due.
pub async fn a_delay_is_kept(queue: &impl QueueProvider) {
    let delay = Duration::from_secs(1);
    let started = Instant::now();
    let late = Job { delay, ..job("late") };
    assert_eq!(queue.enqueue(late).await, Ok(Enqueued::Added));
    let never = Job { delay: Duration::MAX, ..job("never") };
    assert_eq!(queue.enqueue(never).await, Ok(Enqueued::Added));
    queue.enqueue(job("now")).await.unwrap();
    let leases = queue.lease(&ask(10, LONG)).await.unwrap();
    if started.elapsed() < delay {
        assert_eq!(runs(&leases), ["now"]);
    }
    // Asked for again, it is due no later than it was.
    let again = Job { delay: LONG, ..job("late") };
    assert_eq!(queue.enqueue(again).await, Ok(Enqueued::Present));
    assert_eq!(next(queue).await.run, run("late"));
    let waited = started.elapsed();
    assert!(waited >= delay - Duration::from_millis(5), "{waited:?}");
    assert_idle(queue).await;
}

/// Who needs a job sooner than it waits for gets it, where the provider can; otherwise it stays. Either
/// way the answer says which.
pub async fn a_delay_may_be_cut_short(queue: &impl QueueProvider) {
    let far = Job { delay: LONG * 10, ..job("sooner") };
    queue.enqueue(far.clone()).await.unwrap();
    let sooner = Job { pool: "other".parse().unwrap(), epoch_floor: 5, ..job("sooner") };
    match queue.enqueue(sooner.clone()).await.unwrap() {
        Enqueued::Present => assert_idle(queue).await,
        Enqueued::Added => {
            let lease = next(queue).await;
            assert_eq!((lease.run, lease.pool), (run("sooner"), Pool::default()));
            assert!(lease.epoch > 5);
            assert_idle(queue).await;
        }
        Enqueued::Dead => panic!("it is no dead letter"),
    }
    // One that was released for later, too; it has been delivered before.
    queue.enqueue(job("again")).await.unwrap();
    let lease = next(queue).await;
    queue.release(&lease, LONG * 10).await.unwrap();
    match queue.enqueue(job("again")).await.unwrap() {
        Enqueued::Present => assert_idle(queue).await,
        Enqueued::Added => {
            let later = next(queue).await;
            assert_eq!((later.run.as_str(), later.deliveries), ("again", 2));
            assert!(later.epoch > lease.epoch);
        }
        Enqueued::Dead => panic!("it is no dead letter"),
    }
}
