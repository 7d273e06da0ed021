//! Leases that are kept, lost, and fought over.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_store::{Job, MemoryStore, Pool};
use probity_worker::WorkerEvent;
use tokio::time::Instant;

use crate::hooked::{Hooked, Op, now};
use crate::rig::{Rig, delegate, good, id, plan, says, takes};

const TTL: Duration = Duration::from_secs(3);

fn short() -> Rig {
    Rig::on(Arc::new(MemoryStore::with_lease_ttl(TTL)))
}

fn lost(rig: &Rig) -> usize {
    rig.told.count(|event| matches!(event, WorkerEvent::LeaseLost { .. }))
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_kept_for_as_long_as_the_work_takes() {
    let rig = short();
    rig.submit(takes("r", Duration::from_secs(600))).await;
    let (first, second) = (rig.worker("w-1"), rig.worker("w-2"));
    assert_eq!(rig.outcome("r").await, "verified");
    assert_eq!((rig.told.leases("r"), lost(&rig)), (1, 0));
    first.drained().await;
    second.drained().await;
}

/// Beats fail, each alone: as long as one in time goes through, the lease is kept.
#[tokio::test(start_paused = true)]
async fn a_beat_that_fails_is_tried_again_soon() {
    let base = short();
    let beats = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&beats);
    let flaky = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        let is_beat = op.name == "heartbeat" && !op.is_done;
        now(is_beat && counted.fetch_add(1, Ordering::SeqCst) % 3 != 2)
    });
    base.submit(takes("r", Duration::from_secs(60))).await;
    let rig = base.through(flaky);
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("r").await, "verified");
    assert_eq!((rig.told.leases("r"), lost(&rig)), (1, 0));
    worker.drained().await;
}

/// What recovery is measured in: a run whose worker is killed is free after two heartbeats at most.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_due_every_half_of_a_lease() {
    let base = short();
    let beats: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let seen = Arc::clone(&beats);
    let noted = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        if op.name == "heartbeat" && !op.is_done {
            seen.lock().unwrap().push(Instant::now());
        }
        now(false)
    });
    base.submit(takes("r", Duration::from_secs(60))).await;
    let worker = base.through(noted).worker("w");
    assert_eq!(base.outcome("r").await, "verified");
    worker.drained().await;
    let beats = beats.lock().unwrap();
    assert!(beats.len() > 30, "{beats:?}");
    for pair in beats.windows(2) {
        let between = pair[1] - pair[0];
        assert!(between.abs_diff(TTL / 2) <= Duration::from_millis(2), "{between:?}");
    }
}

/// From the last heartbeat of a killed worker to the next worker's lease.
#[tokio::test(start_paused = true)]
async fn a_killed_worker_is_replaced_within_two_heartbeats_and_a_second() {
    let rig = short();
    let work = delegate(|request| async move {
        if request.is_replay {
            return says("good");
        }
        std::future::pending().await
    });
    rig.submit(plan("r", work)).await;
    let first = rig.worker("w-1");
    rig.until(|| rig.told.leases("r") == 1).await;
    tokio::time::sleep(Duration::from_millis(1600)).await;
    let second = rig.worker("w-2");
    let killed = Instant::now();
    first.killed().await;
    assert_eq!(rig.outcome("r").await, "verified");
    let passed = killed.elapsed();
    assert!(passed <= 2 * (TTL / 2) + Duration::from_secs(1), "{passed:?}");
    second.drained().await;
}

/// The first call hangs for ever; there is time for another one before the lease is given up.
#[tokio::test(start_paused = true)]
async fn a_beat_that_hangs_leaves_time_for_another_one() {
    let base = short();
    let beats = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&beats);
    let flaky = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        let is_beat = op.name == "heartbeat" && !op.is_done;
        let hangs = is_beat && counted.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            false
        })
    });
    base.submit(takes("r", Duration::from_secs(60))).await;
    let rig = base.through(flaky);
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("r").await, "verified");
    assert_eq!((rig.told.leases("r"), lost(&rig)), (1, 0));
    worker.drained().await;
}

/// Fails, or never answers.
#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_beat_lets_go_before_the_lease_runs_out() {
    for hangs in [false, true] {
        let base = short();
        let is_cut_off = Arc::new(AtomicBool::new(true));
        let cut = Arc::clone(&is_cut_off);
        let broken = Hooked::over(Arc::clone(&base.store), move |op: Op| {
            let is_beat = op.name == "heartbeat" && !op.is_done && cut.load(Ordering::SeqCst);
            Box::pin(async move {
                if is_beat && hangs {
                    std::future::pending::<()>().await;
                }
                is_beat
            })
        });
        let work = delegate(move |request| async move {
            if request.is_replay {
                return says("good");
            }
            std::future::pending().await
        });
        base.submit(plan("r", work)).await;
        let rig = base.through(broken);
        let _worker = rig.worker("w-1");
        rig.until(|| lost(&rig) == 1).await;
        let passed = rig.passed();
        assert!(passed <= TTL, "{passed:?}");
        assert!(passed >= TTL.mul_f64(0.75), "{passed:?}");
        let _other = base.worker("w-2");
        let report = base.sealed("r").await;
        assert_eq!((report.outcome.unwrap().as_str(), report.interruptions), ("verified", 1));
        assert_eq!(report.attempts, 1);
    }
}

/// A holder that stalls for longer than its lease, and wakes when another worker has the run: nothing
/// that it appends is taken, and nothing is counted twice.
#[tokio::test(start_paused = true)]
async fn a_stalled_holder_that_wakes_appends_nothing() {
    let base = short();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let work = delegate(move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            says(if request.turn.number == 0 { "bad" } else { "good" })
        }
    });
    base.submit(plan("r", work)).await;
    // Everything of the first worker stands still from its third append on, for a minute.
    let (appends, is_stalled) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let stalls = Arc::clone(&is_stalled);
    let slow = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        if op.is("append", "r", false) && appends.fetch_add(1, Ordering::SeqCst) == 2 {
            stalls.store(true, Ordering::SeqCst);
        }
        let stalls = stalls.load(Ordering::SeqCst);
        Box::pin(async move {
            if stalls {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            false
        })
    });
    let stalled = base.through(slow);
    let first = stalled.worker("w-1");
    base.until(|| is_stalled.load(Ordering::SeqCst)).await;
    let second = base.worker("w-2");
    let report = base.sealed("r").await;
    let names = base.names("r").await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(base.names("r").await, names);
    assert_eq!((report.outcome.unwrap().as_str(), report.attempts), ("verified", 2));
    assert_eq!(report.interruptions, 1);
    let leases = names.iter().filter(|name| **name == "lease.taken").count();
    assert_eq!(leases, 2);
    first.stopped().await;
    second.drained().await;
}

/// The queue was emptied and begins with low epochs: the log's floor is told to it.
#[tokio::test(start_paused = true)]
async fn a_queue_whose_epochs_are_behind_catches_up() {
    let rig = Rig::new();
    rig.submit(crate::waits::asker("r")).await;
    let floor = Job { epoch_floor: 400, ..Job::now(id("r"), Pool::default(), 0) };
    // As if many leases had been before.
    let worker = rig.worker("w");
    rig.stands("r", "parked").await;
    worker.drained().await;
    rig.store.enqueue(floor).await.unwrap();
    let wake = probity_engine::Post::Steer { by: "ana".into(), text: "go".into() };
    rig.fleet.post(&id("r"), &wake).await.unwrap();
    rig.cancel("r").await;
    let worker = rig.worker("w-2");
    assert_eq!(rig.outcome("r").await, "cancelled");
    worker.drained().await;

    // Another store's queue knows nothing of this log: the same run, a queue that begins anew.
    let fresh = Arc::new(MemoryStore::new());
    let rig = Rig::on(fresh);
    rig.submit(good("s")).await;
    let engine = rig.fleet.engine();
    let found = engine.find(&id("s")).await.unwrap();
    let shift = probity_engine::Shift {
        epoch: 400,
        worker: "before".parse().unwrap(),
        answer: None,
        patience: Duration::ZERO,
        stop: tokio_util::sync::CancellationToken::new(),
    };
    // Lets go as soon as its lease is in the log.
    struct LetsGo(tokio_util::sync::CancellationToken);
    impl probity_engine::Watch for LetsGo {
        fn entry(&self, _: &probity_core::Entry) {
            self.0.cancel();
        }
    }
    let watch = LetsGo(shift.stop.clone());
    let cancel = tokio_util::sync::CancellationToken::new();
    engine.work(found, crate::rig::hangs("s"), shift, &watch, cancel).await.unwrap();
    assert_eq!(engine.find(&id("s")).await.unwrap().machine().epoch(), 400);
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("s").await, "verified");
    let retries = rig.told.retries("s");
    assert_eq!(retries.len(), 1, "{retries:?}");
    assert_eq!(retries[0].0, "lease_stale");
    worker.drained().await;
}

/// Many workers, many runs: each run is driven once.
#[tokio::test(start_paused = true)]
async fn a_fleet_drives_each_run_once() {
    let rig = short();
    let calls = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..4).map(|n| rig.worker(&format!("w-{n}"))).collect();
    for n in 0..100 {
        let counted = Arc::clone(&calls);
        let work = delegate(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::time::sleep(Duration::from_millis(100 + n * 7)).await;
                says("good")
            }
        });
        rig.submit(plan(&format!("r-{n}"), work)).await;
    }
    for n in 0..100 {
        assert_eq!(rig.outcome(&format!("r-{n}")).await, "verified");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 100);
    let mut ended = 0;
    for worker in workers {
        ended += worker.drained().await.ended;
    }
    assert_eq!((ended, lost(&rig)), (100, 0));
}
