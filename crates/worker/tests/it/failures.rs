//! What cannot be driven on, and what that does to the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use probity_core::Code;
use probity_delegate::DelegateError;
use probity_engine::Plan;
use probity_store::{Batch, Standing};
use probity_worker::{PlanError, WorkerEvent};
use probity_worker::{Planner, Worker};
use tokio_util::sync::CancellationToken;

use crate::hooked::{Hooked, Op, now};
use crate::rig::{Rig, bounded, delegate, good, id, plan, says};

async fn cause(rig: &Rig, run: &str) -> (String, String) {
    match rig.store.standing(&id(run)).await.unwrap() {
        Some(Standing::Dead { cause, .. }) => (cause.code.as_str().to_owned(), cause.message),
        other => panic!("{run}: {other:?}"),
    }
}

/// What can never work is buried at the first delivery, with its cause; the others go on.
#[tokio::test(start_paused = true)]
async fn what_trying_again_cannot_help_is_buried_at_once() {
    let rig = Rig::new();
    for run in ["never", "differs", "incomplete", "else", "damaged", "lacks"] {
        rig.submit(good(run)).await;
    }
    rig.unplanned(
        "never",
        PlanError::Never { code: Code::slug("profile_gone"), message: "no profile".into() },
    );
    rig.plan(Plan { request: b"{\"other\":1}".to_vec(), ..good("differs") });
    let mut incomplete = good("incomplete");
    incomplete.checks[0].decl.subject = probity_core::Subject::World;
    rig.plan(incomplete);
    rig.plan(Plan { run: id("else"), ..good("else") });
    let wrong = Plan { run: id("somebody"), ..good("else") };
    rig.book_as("else", wrong);
    let len = rig.store.state(&id("damaged")).await.unwrap().unwrap().len;
    rig.store.append(&id("damaged"), len, Batch::of(vec![b"{}".to_vec()])).await.unwrap();
    let worker = rig.worker("w");
    for (run, code) in [
        ("never", "profile_gone"),
        ("differs", "run_plan_differs"),
        ("incomplete", "run_plan_differs"),
        ("else", "run_plan_differs"),
        ("damaged", "log_damaged"),
    ] {
        rig.stands(run, "dead").await;
        let (got, message) = cause(&rig, run).await;
        assert_eq!(got, code, "{run}: {message}");
        assert!(!message.is_empty(), "{run}");
        assert_eq!(rig.told.leases(run), 1, "{run}");
    }
    assert_eq!(rig.outcome("lacks").await, "verified");
    let tally = worker.drained().await;
    assert_eq!((tally.buried, tally.ended), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_with_growing_pauses_and_then_buried() {
    let rig = Rig::new();
    rig.submit(good("r")).await;
    let later = PlanError::Later { code: Code::slug("registry_down"), message: "later".into() };
    rig.unplanned("r", later);
    let worker = rig.worker("w");
    rig.stands("r", "dead").await;
    let retries = rig.told.retries("r");
    assert_eq!(retries.len(), 7, "{retries:?}");
    for (nth, (code, ms)) in retries.iter().enumerate() {
        let base = 500_u64 << nth;
        assert_eq!(code, "registry_down");
        assert!((base * 3 / 4..=base * 5 / 4).contains(ms), "{nth}: {ms}");
    }
    assert_eq!(rig.told.leases("r"), 8);
    let (code, message) = cause(&rig, "r").await;
    assert_eq!(code, "registry_down");
    assert!(message.contains("later"));
    assert_eq!(rig.names("r").await.len(), 2, "nothing was appended");
    let tally = worker.drained().await;
    assert_eq!((tally.leased, tally.failed, tally.buried), (8, 7, 1));
}

#[tokio::test(start_paused = true)]
async fn what_passes_goes_on() {
    let rig = Rig::new();
    rig.submit(good("r")).await;
    let later = PlanError::Later { code: Code::slug("registry_down"), message: "later".into() };
    rig.unplanned("r", later);
    let worker = rig.worker("w");
    rig.until(|| rig.told.retries("r").len() == 4).await;
    rig.plan(good("r"));
    assert_eq!(rig.outcome("r").await, "verified");
    worker.drained().await;
}

/// Two workers of different seeds do not come back together; the same seed gives the same pauses.
#[tokio::test(start_paused = true)]
async fn pauses_are_a_function_of_the_seed() {
    let mut seen = Vec::new();
    for seed in [1, 1, 2] {
        let rig = Rig::new();
        rig.submit(good("r")).await;
        let later = PlanError::Later { code: Code::slug("x"), message: "later".into() };
        rig.unplanned("r", later);
        let mut options = rig.options("w");
        options.seed = seed;
        let _worker = rig.working(options);
        rig.stands("r", "dead").await;
        seen.push(rig.told.retries("r"));
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}

struct Panics;

#[async_trait::async_trait]
impl Planner for Panics {
    async fn plan(&self, _: &probity_core::RunId, _: Vec<u8>) -> Result<Plan, PlanError> {
        panic!("the planner broke");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_and_not_the_end_of_the_worker() {
    let rig = Rig::new();
    rig.submit(good("r")).await;
    let mut options = rig.options("w");
    options.max_failures = 3;
    let worker = Worker::new(rig.store.clone(), rig.clock.clone(), Arc::new(Panics), options);
    let drain = CancellationToken::new();
    let work = worker.work(rig.told.clone(), drain.clone(), CancellationToken::new());
    let look = async {
        rig.stands("r", "dead").await;
        drain.cancel();
    };
    let (tally, ()) = bounded(async { tokio::join!(work, look) }).await;
    assert_eq!((tally.failed, tally.buried), (2, 1));
    let (code, message) = cause(&rig, "r").await;
    assert_eq!(code, "worker_panic");
    assert!(message.contains("the planner broke"), "{message}");
}

/// What the model refuses is the delegate's failure, and ends the run: nobody tries it again.
#[tokio::test(start_paused = true)]
async fn a_model_that_refuses_ends_the_run() {
    type Fails = fn() -> DelegateError;
    let errors: [(&str, Fails); 4] = [
        ("model_refused", || DelegateError::Model {
            code: "model_refused",
            message: "400 bad request".into(),
        }),
        ("model_unavailable", || DelegateError::Model {
            code: "model_unavailable",
            message: "503".into(),
        }),
        ("delegate_error", || DelegateError::Failed { message: "401".into() }),
        ("delegate_timeout", || DelegateError::TimedOut { timeout_ms: 1 }),
    ];
    let rig = Rig::new();
    let _worker = rig.worker("w");
    for (code, error) in errors {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let run = code.replace('_', "-");
        let work = delegate(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { Err(error()) }
        });
        rig.submit(plan(&run, work)).await;
        let report = rig.sealed(&run).await;
        assert_eq!(report.outcome.unwrap().as_str(), "delegate_failed", "{code}");
        assert_eq!(report.code.unwrap().as_str(), code);
        assert_eq!((calls.load(Ordering::SeqCst), rig.told.leases(&run)), (1, 1), "{code}");
        rig.stands(&run, "none").await;
    }
}

/// The storage of one run fails; the others do not wait for it.
#[tokio::test(start_paused = true)]
async fn one_failing_run_among_many_delays_nobody() {
    let base = Rig::new();
    let broken = Hooked::over(Arc::clone(&base.store), |op: Op| {
        let is_bad = op.run.as_ref().is_some_and(|run| run.as_str() == "bad");
        now(is_bad && matches!(op.name, "state" | "append") && !op.is_done)
    });
    base.submit(good("bad")).await;
    let rig = base.through(broken);
    let mut options = rig.options("w");
    options.concurrency = 2;
    let runs: Vec<String> = (0..40).map(|n| format!("r-{n}")).collect();
    for run in &runs {
        base.submit(good(run)).await;
    }
    let worker = rig.working(options);
    for run in &runs {
        assert_eq!(base.outcome(run).await, "verified");
    }
    assert!(rig.passed() < Duration::from_secs(2), "{:?}", rig.passed());
    rig.stands("bad", "dead").await;
    assert_eq!(cause(&rig, "bad").await.0, "store_io");
    worker.drained().await;
}

/// As many runs that never end as there are slots but one: the last slot works for all others.
#[tokio::test(start_paused = true)]
async fn runs_that_hang_take_their_slots_and_no_more() {
    let rig = Rig::new();
    for n in 0..3 {
        rig.submit(crate::rig::hangs(&format!("stuck-{n}"))).await;
    }
    let mut options = rig.options("w");
    options.concurrency = 4;
    let worker = rig.working(options);
    rig.until(|| (0..3).all(|n| rig.told.leases(&format!("stuck-{n}")) == 1)).await;
    for n in 0..20 {
        rig.submit(good(&format!("r-{n}"))).await;
    }
    for n in 0..20 {
        assert_eq!(rig.outcome(&format!("r-{n}")).await, "verified");
    }
    assert!(rig.passed() < Duration::from_secs(5), "{:?}", rig.passed());
    worker.stopped().await;
}

/// Old runs that go round and round do not keep new ones out.
#[tokio::test(start_paused = true)]
async fn nobody_starves() {
    let rig = Rig::new();
    let later = || PlanError::Later { code: Code::slug("x"), message: "later".into() };
    for n in 0..30 {
        rig.submit(good(&format!("old-{n}"))).await;
        rig.unplanned(&format!("old-{n}"), later());
    }
    let mut options = rig.options("w");
    options.concurrency = 1;
    options.max_failures = 1000;
    let _worker = rig.working(options);
    tokio::time::sleep(Duration::from_secs(120)).await;
    let since = tokio::time::Instant::now();
    rig.submit(good("new")).await;
    assert_eq!(rig.outcome("new").await, "verified");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_cannot_be_asked_is_asked_again() {
    let base = Rig::new();
    base.submit(good("r")).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let broken = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        let fails =
            op.name == "lease" && !op.is_done && counted.fetch_add(1, Ordering::SeqCst) < 10;
        now(fails)
    });
    let rig = base.through(broken);
    let worker = rig.worker("w");
    assert_eq!(rig.outcome("r").await, "verified");
    let is_trouble = |event: &WorkerEvent| matches!(event, WorkerEvent::StoreTrouble { .. });
    assert_eq!(rig.told.count(is_trouble), 10);
    let passed = rig.passed();
    assert!(passed > Duration::from_secs(15) && passed < Duration::from_secs(60), "{passed:?}");
    worker.drained().await;
}

/// A run that made progress under each lease is not counted against.
#[tokio::test(start_paused = true)]
async fn deliveries_with_progress_are_no_failures() {
    let base = Rig::new();
    let mut it = plan(
        "r",
        delegate(|request| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            says(if request.turn.number < 6 { "bad" } else { "good" })
        }),
    );
    it.policy.max_attempts = 10;
    it.policy.max_interruptions = 100;
    base.submit(it).await;
    // Each life appends some, and then cannot.
    let left = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&left);
    let broken = Hooked::over(Arc::clone(&base.store), move |op: Op| {
        let is_append = op.is("append", "r", false);
        now(is_append && counted.fetch_add(1, Ordering::SeqCst) % 7 == 6)
    });
    let rig = base.through(broken);
    let mut options = rig.options("w");
    options.max_failures = 2;
    let worker = rig.working(options);
    let report = rig.sealed("r").await;
    assert_eq!((report.outcome.unwrap().as_str(), report.attempts), ("verified", 7));
    // By the count of deliveries alone the second one would have buried it.
    assert!(rig.told.retries("r").len() >= 2, "{:?}", rig.told.retries("r"));
    worker.drained().await;
}
