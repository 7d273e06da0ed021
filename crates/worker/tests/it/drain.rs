//! How a worker ends.

use std::time::Duration;

use probity_worker::{How, WorkerEvent};

use crate::rig::{Rig, delegate, good, hangs, plan, says, takes};

#[tokio::test(start_paused = true)]
async fn a_drained_worker_finishes_what_it_has_and_takes_nothing_new() {
    let rig = Rig::new();
    rig.submit(takes("r", Duration::from_secs(10))).await;
    let worker = rig.worker("w");
    rig.until(|| rig.told.leases("r") == 1).await;
    worker.drain.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.submit(good("late")).await;
    let tally = worker.drained().await;
    assert_eq!((tally.leased, tally.ended), (1, 1));
    assert_eq!(rig.outcome("r").await, "verified");
    assert_eq!(rig.standing("r").await, "none");
    assert_eq!((rig.standing("late").await, rig.told.leases("late")), ("queued", 0));
    let _next = rig.worker("w-2");
    assert_eq!(rig.outcome("late").await, "verified");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_finished_in_time_is_let_go_of_and_goes_on_elsewhere() {
    let rig = Rig::new();
    let mut options = rig.options("w-1");
    options.drain_timeout = Duration::from_secs(5);
    let slow = delegate(|request| async move {
        // The second time it is quick.
        if !request.is_replay {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        says("good")
    });
    rig.submit(plan("r", slow)).await;
    let worker = rig.working(options);
    rig.until(|| rig.told.leases("r") == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let since = tokio::time::Instant::now();
    let tally = worker.drained().await;
    let took = since.elapsed();
    assert!(took >= Duration::from_secs(5) && took < Duration::from_secs(6), "{took:?}");
    assert_eq!((tally.left, tally.lost), (1, 0));
    let is_stopped =
        |event: &WorkerEvent| matches!(event, WorkerEvent::Rested { how: How::Stopped, .. });
    assert_eq!(rig.told.count(is_stopped), 1);
    let since = tokio::time::Instant::now();
    let _next = rig.worker("w-2");
    assert_eq!(rig.outcome("r").await, "verified");
    assert!(since.elapsed() < Duration::from_secs(1), "no lease had to run out");
    assert_eq!(rig.report("r").await.interruptions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_worker_lets_go_at_once() {
    let rig = Rig::new();
    for n in 0..20 {
        rig.submit(hangs(&format!("r-{n}"))).await;
    }
    let worker = rig.worker("w");
    rig.until(|| rig.told.leases("r-15") == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let since = tokio::time::Instant::now();
    let tally = worker.stopped().await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert_eq!((tally.leased, tally.left), (16, 16));
    for n in 0..20 {
        assert_eq!(rig.standing(&format!("r-{n}")).await, "queued");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_drains_within_a_call_for_jobs() {
    let rig = Rig::new();
    let worker = rig.worker("w");
    tokio::time::sleep(Duration::from_secs(100)).await;
    let since = tokio::time::Instant::now();
    assert_eq!(worker.drained().await.leased, 0);
    assert!(since.elapsed() <= Duration::from_secs(1), "{:?}", since.elapsed());
}

/// A job that arrives with the last call of a drained worker is given back.
#[tokio::test(start_paused = true)]
async fn a_job_that_comes_while_a_worker_drains_is_given_back() {
    let rig = Rig::new();
    let worker = rig.worker("w-1");
    tokio::time::sleep(Duration::from_millis(500)).await;
    worker.drain.cancel();
    tokio::task::yield_now().await;
    rig.submit(good("r")).await;
    assert_eq!(worker.drained().await.leased, 0);
    let since = tokio::time::Instant::now();
    let _next = rig.worker("w-2");
    assert_eq!(rig.outcome("r").await, "verified");
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
}
