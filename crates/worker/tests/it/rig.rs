//! A store, a clock that waits for the test, workers, and plans by run.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{CheckDecl, Claim, Code, Entry, Fault, RunId, Subject, Verdict};
use probity_delegate::{Answered, Delegate, DelegateError, FunctionDelegate, Parked, Request};
use probity_engine::{Check, Clock, Plan, Post, Report, read_entries};
use probity_store::{MemoryStore, Pool, Standing, Store, WorkStore};
use probity_testkit::VirtualClock;
use probity_verifier::{CheckContext, NoFacts, Verifier, Workspace};
use probity_worker::{
    Fleet, PlanError, Planner, Tally, Worker, WorkerEvent, WorkerOptions, WorkerWatch,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// No test waits for it unless it fails; the time is not real.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);
/// The time that the clock of every test begins with.
const BEGIN_MS: u64 = 1_700_000_000_000;

pub(crate) fn id(run: &str) -> RunId {
    run.parse().unwrap()
}

/// Fails instead of hanging.
pub(crate) async fn bounded<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("it does not end")
}

/// Plans by run, as a planner has them.
#[derive(Default)]
pub(crate) struct Book {
    plans: Mutex<BTreeMap<RunId, Result<Plan, PlanError>>>,
    pub(crate) asked: Mutex<Vec<(RunId, Vec<u8>)>>,
}

#[async_trait]
impl Planner for Book {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        self.asked.lock().unwrap().push((run.clone(), request));
        let none = || PlanError::Never { code: Code::slug("no_plan"), message: "no plan".into() };
        self.plans.lock().unwrap().get(run).cloned().unwrap_or_else(|| Err(none()))
    }
}

/// What workers told, with the time since the test began.
#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<WorkerEvent>>);

impl WorkerWatch for Told {
    fn event(&self, event: &WorkerEvent) {
        self.0.lock().unwrap().push(event.clone());
    }

    fn entry(&self, _: &RunId, _: &Entry) {}
}

impl Told {
    pub(crate) fn all(&self) -> Vec<WorkerEvent> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, is: impl Fn(&WorkerEvent) -> bool) -> usize {
        self.all().iter().filter(|event| is(event)).count()
    }

    pub(crate) fn leases(&self, of: &str) -> usize {
        self.count(|event| matches!(event, WorkerEvent::Leased { run, .. } if run.as_str() == of))
    }

    /// When each failure of the run is tried again.
    pub(crate) fn retries(&self, of: &str) -> Vec<(String, u64)> {
        let all = self.all();
        let failed = all.iter().filter_map(|event| match event {
            WorkerEvent::Failed { run, code, retry_in_ms: Some(ms), .. } if run.as_str() == of => {
                Some((code.as_str().to_owned(), *ms))
            }
            _ => None,
        });
        failed.collect()
    }
}

pub(crate) struct Rig {
    pub(crate) store: Arc<dyn WorkStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) fleet: Fleet,
    pub(crate) book: Arc<Book>,
    pub(crate) told: Arc<Told>,
    pub(crate) started: Instant,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()))
    }

    pub(crate) fn on(store: Arc<dyn WorkStore>) -> Self {
        Self::timed(store, Arc::new(VirtualClock::at(BEGIN_MS)))
    }

    pub(crate) fn timed(store: Arc<dyn WorkStore>, clock: Arc<dyn Clock>) -> Self {
        let fleet = Fleet::new(Arc::clone(&store), Arc::clone(&clock));
        let (book, told) = (Arc::default(), Arc::default());
        Self { store, clock, fleet, book, told, started: Instant::now() }
    }

    /// The same runs and plans through another store.
    pub(crate) fn through(&self, store: Arc<dyn WorkStore>) -> Self {
        let fleet = Fleet::new(Arc::clone(&store), Arc::clone(&self.clock));
        let (clock, book) = (Arc::clone(&self.clock), Arc::clone(&self.book));
        Self { store, clock, fleet, book, told: Arc::default(), started: self.started }
    }

    /// Keeps a plan for the workers, and gives it.
    pub(crate) fn plan(&self, plan: Plan) -> Plan {
        self.book.plans.lock().unwrap().insert(plan.run.clone(), Ok(plan.clone()));
        plan
    }

    /// Keeps a plan under another run's name.
    pub(crate) fn book_as(&self, run: &str, plan: Plan) {
        self.book.plans.lock().unwrap().insert(id(run), Ok(plan));
    }

    pub(crate) fn unplanned(&self, run: &str, error: PlanError) {
        self.book.plans.lock().unwrap().insert(id(run), Err(error));
    }

    pub(crate) async fn submit(&self, plan: Plan) {
        let plan = self.plan(plan);
        self.fleet.submit(&plan, &Pool::default(), Duration::ZERO).await.unwrap();
    }

    pub(crate) fn options(&self, worker: &str) -> WorkerOptions {
        WorkerOptions { seed: 7, ..WorkerOptions::new(worker.parse().unwrap()) }
    }

    pub(crate) fn worker(&self, name: &str) -> Working {
        self.working(self.options(name))
    }

    pub(crate) fn working(&self, options: WorkerOptions) -> Working {
        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let worker = Worker::new(store, clock, self.book.clone(), options);
        let (told, on_drain, on_stop) = (self.told.clone(), drain.clone(), stop.clone());
        let work = tokio::spawn(async move { worker.work(told, on_drain, on_stop).await });
        Working { drain, stop, work: AbortOnDropHandle::new(work) }
    }

    pub(crate) async fn report(&self, run: &str) -> Report {
        let store: &dyn Store = self.store.as_ref();
        Report::read(store, &id(run)).await.unwrap()
    }

    /// The report of a run once it is sealed.
    pub(crate) async fn sealed(&self, run: &str) -> Report {
        let run_id = id(run);
        bounded(async {
            let mut len = 0;
            loop {
                let state = self.store.wait_beyond(&run_id, len, PATIENCE / 2).await.unwrap();
                if state.sealed {
                    break;
                }
                let told = self.told.all();
                let last = &told[told.len().saturating_sub(8)..];
                assert!(state.len > len, "`{run}` stands still; last told: {last:#?}");
                len = state.len;
            }
        })
        .await;
        self.report(run).await
    }

    pub(crate) async fn outcome(&self, run: &str) -> String {
        let report = self.sealed(run).await;
        report.outcome.unwrap().as_str().to_owned()
    }

    pub(crate) async fn names(&self, run: &str) -> Vec<&'static str> {
        let store: &dyn Store = self.store.as_ref();
        let entries = read_entries(store, &id(run)).await.unwrap();
        entries.iter().map(|entry| entry.event.name()).collect()
    }

    pub(crate) async fn standing(&self, run: &str) -> &'static str {
        match self.store.standing(&id(run)).await.unwrap() {
            None => "none",
            Some(Standing::Queued { .. }) => "queued",
            Some(Standing::Parked { .. }) => "parked",
            Some(Standing::Dead { .. }) => "dead",
        }
    }

    /// Lets the time pass until the queue has the run's job so.
    pub(crate) async fn stands(&self, run: &str, standing: &str) {
        bounded(async {
            while self.standing(run).await != standing {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    /// Lets the time pass until it is so.
    pub(crate) async fn until(&self, is_so: impl Fn() -> bool) {
        bounded(async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    pub(crate) fn passed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) async fn cancel(&self, run: &str) {
        let cancel = Post::Cancel { by: "ana".into(), text: "enough".into() };
        self.fleet.post(&id(run), &cancel).await.unwrap();
    }
}

/// A worker at work. Dropping it is a crash.
pub(crate) struct Working {
    pub(crate) drain: CancellationToken,
    pub(crate) stop: CancellationToken,
    pub(crate) work: AbortOnDropHandle<Tally>,
}

impl Working {
    pub(crate) async fn drained(self) -> Tally {
        self.drain.cancel();
        bounded(self.work).await.unwrap()
    }

    pub(crate) async fn stopped(self) -> Tally {
        self.stop.cancel();
        bounded(self.work).await.unwrap()
    }

    /// Ends it as a crash does, and waits until nothing of it is left.
    pub(crate) async fn killed(self) {
        let handle: JoinHandle<Tally> = self.work.detach();
        handle.abort();
        assert!(handle.await.unwrap_err().is_cancelled());
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }
}

/// A verifier that passes claims that begin with `good`.
struct Good;

#[async_trait]
impl Verifier for Good {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        Ok(match ctx.claim.response.starts_with("good") {
            true => Verdict::pass(),
            false => Verdict::revise("not_good", "it does not begin with good"),
        })
    }

    fn yields(&self) -> bool {
        true
    }
}

pub(crate) fn good_check() -> Check {
    let decl = CheckDecl { id: Code::slug("good"), subject: Subject::Claim, timeout_ms: 10_000 };
    Check::verifier(decl, Arc::new(Good))
}

/// A plan that is verified once its claim begins with `good`.
pub(crate) fn plan(run: &str, delegate: Arc<dyn Delegate>) -> Plan {
    Plan {
        request: format!("{{\"run\":\"{run}\"}}").into_bytes(),
        checks: vec![good_check()],
        ..Plan::new(id(run), "Be good.", delegate, Arc::new(Workspace::none()), Arc::new(NoFacts))
    }
}

pub(crate) fn delegate<F, A>(work: F) -> Arc<dyn Delegate>
where
    F: Fn(Request) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Answered, DelegateError>> + Send + 'static,
{
    Arc::new(FunctionDelegate::new("worker", work))
}

pub(crate) fn says(text: &str) -> Result<Answered, DelegateError> {
    Ok(Answered::of(Claim::text(text)))
}

/// A plan that is verified at once.
pub(crate) fn good(run: &str) -> Plan {
    plan(run, delegate(|_| async { says("good") }))
}

/// A plan whose delegate works for so long.
pub(crate) fn takes(run: &str, time: Duration) -> Plan {
    plan(
        run,
        delegate(move |_| async move {
            tokio::time::sleep(time).await;
            says("good")
        }),
    )
}

/// A plan whose delegate works until it is told to stop.
pub(crate) fn hangs(run: &str) -> Plan {
    takes(run, PATIENCE * 2)
}

/// Asks to wait for other runs.
pub(crate) fn waits_for(children: &[&str]) -> DelegateError {
    DelegateError::Parked(Parked {
        key: "children".into(),
        until_ms: None,
        question: String::new(),
        children: children.iter().map(|child| id(child)).collect(),
    })
}
