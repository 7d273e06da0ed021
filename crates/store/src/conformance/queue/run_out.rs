//! What a lease is: how long it lasts, how it ends, what comes after it.

use std::time::{Duration, Instant};

use crate::{Enqueued, Job, Lease, LeaseError, Queue};

use super::super::run;
use super::{LONG, QueueProvider, SOON, assert_idle, cause, dead, job, next, parked, queued};

/// Lets a lease run out, with a margin for what the provider rounds.
async fn run_out(queue: &impl Queue) {
    tokio::time::sleep(queue.lease_ttl() + Duration::from_millis(300)).await;
}

/// That every operation on the lease is told that it is lost.
async fn assert_lost(queue: &impl Queue, lease: &Lease) {
    let lost = Err(LeaseError::Lost);
    assert_eq!(queue.heartbeat(lease).await, lost);
    assert_eq!(queue.settle(lease).await, lost);
    assert_eq!(queue.release(lease, LONG).await, lost);
    assert_eq!(queue.park(lease).await, lost);
    assert_eq!(queue.bury(lease, cause("not mine")).await, lost);
}

/// Due again after the delay, at once without one.
pub async fn a_released_job_comes_back_after_its_delay(queue: &impl QueueProvider) {
    queue.enqueue(job("back")).await.unwrap();
    let lease = next(queue).await;
    queue.release(&lease, Duration::ZERO).await.unwrap();
    let lease = next(queue).await;
    let (released, delay) = (Instant::now(), Duration::from_secs(1));
    queue.release(&lease, delay).await.unwrap();
    assert_eq!(queue.standing(&run("back")).await, Ok(queued()));
    let lease = next(queue).await;
    let waited = released.elapsed();
    assert!(waited >= delay - Duration::from_millis(5), "{waited:?}");
    assert!(waited < SOON, "{waited:?}");
    assert_eq!((lease.run.as_str(), lease.deliveries), ("back", 3));
    queue.release(&lease, Duration::MAX).await.unwrap();
    assert_idle(queue).await;
}

/// As long as it beats, nobody else gets the job; once it stops, somebody does.
pub async fn a_heartbeat_keeps_a_lease(queue: &impl QueueProvider) {
    let ttl = queue.lease_ttl();
    queue.enqueue(job("kept")).await.unwrap();
    let lease = next(queue).await;
    let waiter = tokio::spawn({
        let queue = queue.clone();
        async move { (next(&queue).await, Instant::now()) }
    });
    let started = Instant::now();
    let mut last = started;
    while started.elapsed() < ttl.mul_f64(1.7) {
        tokio::time::sleep(ttl / 5).await;
        last = Instant::now();
        assert_eq!(queue.heartbeat(&lease).await, Ok(()), "after {:?}", started.elapsed());
    }
    assert!(!waiter.is_finished(), "two hold one job");
    let (other, at) = tokio::time::timeout(ttl + SOON, waiter).await.unwrap().unwrap();
    assert!(at - last >= ttl - Duration::from_millis(5), "it ran out early");
    assert_eq!((other.epoch, other.deliveries), (2, 2));
    assert_lost(queue, &lease).await;
    assert_eq!(queue.settle(&other).await, Ok(()));
}

/// After each way to end it, a lease is no lease any more, and a later job of the same run is not
/// touched by it.
pub async fn a_lease_that_ended_is_lost(queue: &impl QueueProvider) {
    queue.enqueue(job("ended")).await.unwrap();
    let settled = next(queue).await;
    queue.settle(&settled).await.unwrap();
    assert_lost(queue, &settled).await;
    assert_eq!(queue.standing(&run("ended")).await, Ok(None));

    // A new job that knows nothing of the old one may get the same epoch.
    assert_eq!(queue.enqueue(job("ended")).await, Ok(Enqueued::Added));
    let released = next(queue).await;
    assert_lost(queue, &settled).await;
    queue.release(&released, Duration::ZERO).await.unwrap();
    assert_lost(queue, &released).await;
    let put_by = next(queue).await;
    assert_lost(queue, &released).await;
    queue.park(&put_by).await.unwrap();
    assert_lost(queue, &put_by).await;
    assert_eq!(queue.standing(&run("ended")).await, Ok(parked()));
    queue.enqueue(job("ended")).await.unwrap();
    let buried = next(queue).await;
    queue.bury(&buried, cause("mine")).await.unwrap();
    assert_lost(queue, &buried).await;
    assert_eq!(queue.standing(&run("ended")).await, Ok(dead("mine")));
}

/// A lease that ran out is lost before and after somebody else has the job, and changes nothing.
pub async fn a_lost_lease_changes_nothing(queue: &impl QueueProvider) {
    queue.enqueue(job("slow")).await.unwrap();
    let first = next(queue).await;
    run_out(queue).await;
    // Nobody else has taken it.
    assert_lost(queue, &first).await;
    assert_eq!(queue.standing(&run("slow")).await, Ok(queued()));

    let second = next(queue).await;
    assert_eq!(second.run, first.run);
    assert!(second.epoch > first.epoch, "{second:?} after {first:?}");
    assert_lost(queue, &first).await;
    // The second one holds it still.
    assert_eq!(queue.heartbeat(&second).await, Ok(()));
    assert_eq!(queue.settle(&second).await, Ok(()));
    assert_eq!(queue.standing(&run("slow")).await, Ok(None));
}

/// Over all ways from one lease to the next.
pub async fn epochs_rise_and_stay_above(queue: &impl QueueProvider) {
    queue.enqueue(job("rising")).await.unwrap();
    let mut epochs = Vec::new();
    let lease = next(queue).await;
    epochs.push(lease.epoch);
    queue.release(&lease, Duration::ZERO).await.unwrap();
    let lease = next(queue).await;
    epochs.push(lease.epoch);
    queue.park(&lease).await.unwrap();
    queue.enqueue(job("rising")).await.unwrap();
    let lease = next(queue).await;
    epochs.push(lease.epoch);
    queue.bury(&lease, cause("")).await.unwrap();
    assert_eq!(queue.revive(&run("rising")).await, Ok(true));
    epochs.push(next(queue).await.epoch);
    // That one runs out.
    let lease = next(queue).await;
    epochs.push(lease.epoch);
    assert!(epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
    queue.settle(&lease).await.unwrap();
}

/// The floor of a new job, and the higher one where a parked job is woken.
pub async fn epochs_begin_above_the_floor(queue: &impl QueueProvider) {
    let above = |epoch_floor| Job { epoch_floor, ..job("floor") };
    queue.enqueue(above(41)).await.unwrap();
    let lease = next(queue).await;
    assert!(lease.epoch > 41, "{lease:?}");
    queue.park(&lease).await.unwrap();
    // A floor that is lower than what was given out.
    queue.enqueue(above(7)).await.unwrap();
    let again = next(queue).await;
    assert!(again.epoch > lease.epoch, "{again:?}");
    queue.park(&again).await.unwrap();
    queue.enqueue(above(1 << 53)).await.unwrap();
    let high = next(queue).await;
    assert!(high.epoch > 1 << 53, "{high:?}");
    queue.settle(&high).await.unwrap();
    // The floor of a new job is its own.
    queue.enqueue(above(9)).await.unwrap();
    assert!(next(queue).await.epoch > 9);
}

/// They rise with each lease, also one that ran out, and begin anew with a new job.
pub async fn deliveries_count_from_each_enqueue(queue: &impl QueueProvider) {
    for _ in 0..2 {
        assert_eq!(queue.enqueue(job("counted")).await, Ok(Enqueued::Added));
        let lease = next(queue).await;
        assert_eq!(lease.deliveries, 1);
        queue.release(&lease, Duration::ZERO).await.unwrap();
        assert_eq!(next(queue).await.deliveries, 2);
        // That one runs out.
        let lease = next(queue).await;
        assert_eq!(lease.deliveries, 3);
        queue.park(&lease).await.unwrap();
        queue.enqueue(job("counted")).await.unwrap();
        let lease = next(queue).await;
        assert_eq!(lease.deliveries, 1, "a job that was woken begins anew");
        queue.bury(&lease, cause("")).await.unwrap();
        queue.revive(&run("counted")).await.unwrap();
        let lease = next(queue).await;
        assert_eq!(lease.deliveries, 1, "a job that was revived begins anew");
        queue.settle(&lease).await.unwrap();
    }
}
