//! The control plane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_engine::{EngineError, Post};
use probity_store::{Enqueued, Pool};
use probity_worker::{FleetError, How, PlanError, Told, WorkerEvent};
use tokio::sync::Notify;

use crate::hooked::{Hooked, now};
use crate::rig::{Rig, bounded, delegate, good, hangs, id, plan, says};

#[tokio::test(start_paused = true)]
async fn a_submitted_run_is_driven_to_its_end_and_its_job_goes_away() {
    let rig = Rig::new();
    rig.submit(good("r")).await;
    assert_eq!(rig.names("r").await, ["run.opened", "run.released"]);
    assert_eq!(rig.standing("r").await, "queued");
    let worker = rig.worker("w");
    let report = rig.sealed("r").await;
    assert_eq!((report.attempts, report.interruptions), (1, 0));
    rig.stands("r", "none").await;
    let asked = rig.book.asked.lock().unwrap().clone();
    assert_eq!(asked, [(id("r"), b"{\"run\":\"r\"}".to_vec())]);
    let tally = worker.drained().await;
    assert_eq!((tally.leased, tally.ended), (1, 1));
    assert!(rig.passed() < Duration::from_secs(2), "{:?}", rig.passed());
}

#[tokio::test(start_paused = true)]
async fn submitting_again_changes_nothing_and_another_request_is_refused() {
    let rig = Rig::new();
    let run = rig.plan(good("r"));
    let pool = Pool::default();
    let first = rig.fleet.submit(&run, &pool, Duration::ZERO).await.unwrap();
    let again = rig.fleet.submit(&run, &pool, Duration::ZERO).await.unwrap();
    assert_eq!((first.is_new, again.is_new), (true, false));
    let mut other = good("r");
    other.request = b"{\"run\":\"else\"}".to_vec();
    let refused = rig.fleet.submit(&other, &pool, Duration::ZERO).await.unwrap_err();
    assert!(matches!(refused, FleetError::Engine(EngineError::Exists { .. })), "{refused:?}");
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("r").await, "verified");
    rig.stands("r", "none").await;
    // Of a run that has ended, a job is found to be done with.
    rig.fleet.submit(&run, &pool, Duration::ZERO).await.unwrap();
    rig.stands("r", "none").await;
    assert_eq!(rig.told.leases("r"), 2);
    worker.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_run_is_not_looked_at_before() {
    let rig = Rig::new();
    let run = rig.plan(good("r"));
    rig.fleet.submit(&run, &Pool::default(), Duration::from_secs(90)).await.unwrap();
    let _worker = rig.worker("w");
    rig.sealed("r").await;
    assert!(rig.passed() >= Duration::from_secs(90));
    assert_eq!(rig.told.leases("r"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_for_its_workers() {
    let rig = Rig::new();
    let run = rig.plan(good("r"));
    let gpu: Pool = "gpu".parse().unwrap();
    rig.fleet.submit(&run, &gpu, Duration::ZERO).await.unwrap();
    let _others = rig.worker("w-1");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(rig.told.leases("r"), 0);
    let mut options = rig.options("w-2");
    options.pools = vec![Pool::default(), gpu];
    let _worker = rig.working(options);
    assert_eq!(rig.outcome("r").await, "verified");
}

/// The job is in the queue before there is a run.
#[tokio::test(start_paused = true)]
async fn a_worker_waits_for_a_run_that_is_being_opened() {
    let base = Rig::new();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        Hooked::over(Arc::clone(&base.store), move |op| {
            let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
            Box::pin(async move {
                if op.is("append", "r", false) {
                    reached.notify_one();
                    go.notified().await;
                }
                false
            })
        })
    };
    let run = base.plan(good("r"));
    let submitter = base.through(slow).fleet;
    let submit =
        tokio::spawn(async move { submitter.submit(&run, &Pool::default(), Duration::ZERO).await });
    reached.notified().await;
    let worker = base.worker("w");
    base.until(|| base.told.leases("r") == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    go.notify_one();
    submit.await.unwrap().unwrap();
    assert_eq!(base.outcome("r").await, "verified");
    assert_eq!(base.told.leases("r"), 1, "it waited with the lease in its hand");
    worker.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_run_is_given_up_after_a_minute() {
    let base = Rig::new();
    let broken = Hooked::over(Arc::clone(&base.store), |op| now(op.is("append", "r", false)));
    let (submitter, run) = (base.through(broken).fleet, base.plan(good("r")));
    let refused = submitter.submit(&run, &Pool::default(), Duration::ZERO).await;
    assert_eq!(refused.unwrap_err().code(), "store_io");
    assert_eq!(base.standing("r").await, "queued");
    let worker = base.worker("w");
    base.stands("r", "none").await;
    let passed = base.passed();
    assert!(passed > Duration::from_secs(55) && passed < Duration::from_secs(90), "{passed:?}");
    let is_given_up =
        |event: &WorkerEvent| matches!(event, WorkerEvent::Rested { how: How::NeverCreated, .. });
    assert_eq!(base.told.count(is_given_up), 1);
    // Submitted anew, it is a run like any other.
    base.submit(good("r")).await;
    assert_eq!(base.outcome("r").await, "verified");
    worker.drained().await;
}

/// The run is opened between the worker's last look for it and the end of the job.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_opened_as_its_job_is_given_up_is_not_forgotten() {
    let base = Rig::new();
    let broken = Hooked::over(Arc::clone(&base.store), |op| now(op.is("append", "r", false)));
    let run = base.plan(good("r"));
    let submitted = base.through(broken).fleet.submit(&run, &Pool::default(), Duration::ZERO).await;
    assert_eq!(submitted.unwrap_err().code(), "store_io");
    let late = {
        let fleet = base.fleet.clone();
        Hooked::over(Arc::clone(&base.store), move |op| {
            let (fleet, run) = (fleet.clone(), run.clone());
            Box::pin(async move {
                if op.is("settle", "r", false) {
                    let submitted = fleet.submit(&run, &Pool::default(), Duration::ZERO).await;
                    // Again, once it has ended, it is not new.
                    assert!(submitted.is_ok(), "{submitted:?}");
                }
                false
            })
        })
    };
    let worker = base.through(late).worker("w");
    assert_eq!(base.outcome("r").await, "verified");
    base.stands("r", "none").await;
    worker.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_took_too_long_asks_for_its_job_again() {
    let base = Rig::new();
    let slow = Hooked::over(Arc::clone(&base.store), |op| {
        Box::pin(async move {
            if op.is("append", "r", false) {
                tokio::time::sleep(Duration::from_secs(300)).await;
            }
            false
        })
    });
    let _worker = base.worker("w");
    let run = base.plan(good("r"));
    let fleet = base.through(slow).fleet;
    bounded(fleet.submit(&run, &Pool::default(), Duration::ZERO)).await.unwrap();
    assert_eq!(base.outcome("r").await, "verified");
}

#[tokio::test(start_paused = true)]
async fn a_queued_a_running_and_a_parked_run_are_cancelled() {
    let rig = Rig::new();
    rig.submit(good("queued")).await;
    rig.cancel("queued").await;
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("queued").await, "cancelled");

    rig.submit(hangs("running")).await;
    rig.until(|| rig.told.leases("running") == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = tokio::time::Instant::now();
    rig.cancel("running").await;
    assert_eq!(rig.outcome("running").await, "cancelled");
    assert!(asked.elapsed() < Duration::from_secs(1), "its driver hears of it by itself");
    assert_eq!(rig.told.leases("running"), 1);

    rig.submit(plan("parked", delegate(|_| async { Err(crate::waits::asks("why?")) }))).await;
    rig.stands("parked", "parked").await;
    rig.cancel("parked").await;
    assert_eq!(rig.outcome("parked").await, "cancelled");
    for run in ["queued", "running", "parked"] {
        rig.stands(run, "none").await;
        let cancel = Post::Cancel { by: "ana".into(), text: String::new() };
        let refused = rig.fleet.post(&id(run), &cancel).await;
        assert_eq!(refused.unwrap_err().code(), "answer_refused");
    }
    worker.drained().await;
}

#[tokio::test(start_paused = true)]
async fn steering_reaches_a_delegate_at_work() {
    let rig = Rig::new();
    let work = delegate(|request| async move {
        while request.steering.is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let said = request.steering.behind(0);
        says(&format!("good: {} said {}", said[0].by, said[0].text))
    });
    rig.submit(plan("r", work)).await;
    let _worker = rig.worker("w");
    rig.until(|| rig.told.leases("r") == 1).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let steer = Post::Steer { by: "ana".into(), text: "faster".into() };
    rig.fleet.post(&id("r"), &steer).await.unwrap();
    let report = rig.sealed("r").await;
    assert_eq!(report.claim.unwrap().response, "good: ana said faster");
    assert_eq!((rig.told.leases("r"), report.interruptions), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_is_revived_by_resume_and_by_cancel_and_refuses_a_submission() {
    let rig = Rig::new();
    let never = || PlanError::Never { code: "gone".parse().unwrap(), message: "gone".into() };
    for run in ["resumed", "cancelled"] {
        rig.submit(good(run)).await;
        rig.unplanned(run, never());
    }
    let worker = rig.worker("w");
    rig.stands("resumed", "dead").await;
    rig.stands("cancelled", "dead").await;
    let refused = rig.fleet.submit(&good("resumed"), &Pool::default(), Duration::ZERO).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "run_buried");
    assert!(refused.to_string().contains("gone"), "{refused}");

    rig.plan(good("resumed"));
    rig.plan(good("cancelled"));
    let resumed = rig.fleet.resume(&id("resumed"), &Pool::default()).await.unwrap();
    assert_eq!(resumed, Enqueued::Added);
    assert_eq!(rig.outcome("resumed").await, "verified");
    rig.cancel("cancelled").await;
    assert_eq!(rig.outcome("cancelled").await, "cancelled");
    assert_eq!(
        rig.fleet.resume(&id("nobody"), &Pool::default()).await.unwrap_err().code(),
        "run_missing"
    );
    worker.drained().await;
}

/// A process of its own drives the run, under no lease: a worker would take it away.
#[tokio::test(start_paused = true)]
async fn what_is_said_to_a_run_that_is_driven_without_a_queue_leaves_it_there() {
    let rig = Rig::new();
    let worker = rig.worker("w");
    let work = delegate(|request| async move {
        while request.steering.is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(300)).await;
        says("good")
    });
    let (engine, run) = (rig.fleet.engine().clone(), rig.plan(plan("r", work)));
    let driven = tokio::spawn(async move {
        let (eye, cancel) = (Unwatched, tokio_util::sync::CancellationToken::new());
        engine.run(run, &eye, cancel).await
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let steer = Post::Steer { by: "ana".into(), text: "faster".into() };
    let told = rig.fleet.post(&id("r"), &steer).await.unwrap();
    assert_eq!(told, Told { is_new: true, is_queued: false });
    assert_eq!(rig.standing("r").await, "none");
    let ended = bounded(driven).await.unwrap().unwrap();
    assert_eq!(ended.outcome.as_str(), "verified");
    assert_eq!((rig.told.leases("r"), rig.report("r").await.interruptions), (0, 0));
    worker.drained().await;
}

/// It waits, and nobody is at work on it: somebody must hear of the request.
#[tokio::test(start_paused = true)]
async fn what_is_said_to_a_run_that_waits_outside_the_queue_brings_it_in() {
    let rig = Rig::new();
    let (eye, cancel) = (Unwatched, tokio_util::sync::CancellationToken::new());
    let run = rig.plan(crate::waits::asker("r"));
    let ended = rig.fleet.engine().run(run, &eye, cancel).await.unwrap();
    assert_eq!(ended.outcome.as_str(), "escalated");
    let post = Post::Cancel { by: "ana".into(), text: String::new() };
    let told = rig.fleet.post(&id("r"), &post).await.unwrap();
    assert_eq!(told, Told { is_new: true, is_queued: true });
    let again = rig.fleet.post(&id("r"), &post).await.unwrap();
    assert_eq!(again, Told { is_new: false, is_queued: true });
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("r").await, "cancelled");
    worker.drained().await;
}

struct Unwatched;

impl probity_engine::Watch for Unwatched {
    fn entry(&self, _: &probity_core::Entry) {}
}

/// What was said is in the log; the queue failed for good behind it.
#[tokio::test(start_paused = true)]
async fn a_wake_whose_enqueue_failed_is_brought_in_by_the_sweep() {
    let base = Rig::new();
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = {
        let is_broken = Arc::clone(&is_broken);
        Hooked::over(Arc::clone(&base.store), move |op| {
            now(op.is("enqueue", "r", false) && is_broken.load(Ordering::SeqCst))
        })
    };
    base.submit(crate::waits::asker("r")).await;
    let _worker = base.worker("w");
    base.stands("r", "parked").await;
    let wake = Post::Wake { about: "why?".into(), by: "ana".into(), value: "because".into() };
    let told = base.through(broken).fleet.post(&id("r"), &wake).await.unwrap_err();
    assert!(matches!(told, FleetError::Queue(_)), "{told:?}");
    let report = base.sealed("r").await;
    assert_eq!(report.claim.unwrap().response, "good: because");
    assert!(base.told.count(|event| matches!(event, WorkerEvent::Swept { .. })) > 0);
}
