//! One process that submits tasks and works on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use probity::core::RunId;
use probity::engine::{Clock, SystemClock};
use probity::store::WorkStore;
use probity::worker::{
    Fleet, How, Planner, Tally, Worker, WorkerEvent, WorkerOptions, WorkerWatch,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::tasks::Tasks;
use super::wrong;
use crate::error::BenchError;

/// Longer than anything that is measured takes.
const MAX_WAIT: Duration = Duration::from_secs(1800);

/// A control plane, and a worker that can be started.
pub(crate) struct Rig {
    pub(crate) fleet: Fleet,
    store: Arc<dyn WorkStore>,
    tasks: Tasks,
}

/// A worker at work.
pub(crate) struct Hand {
    pub(crate) ends: Arc<Ends>,
    drain: CancellationToken,
    work: JoinHandle<Tally>,
}

/// Hears of the runs that ended, and of everything that should not happen.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    ended: watch::Sender<u64>,
    amiss: AtomicU64,
    /// Prints a line for whoever started this process.
    is_loud: bool,
}

impl Rig {
    pub(crate) fn new(store: Arc<dyn WorkStore>, tasks: Tasks) -> Self {
        let fleet = Fleet::new(Arc::clone(&store), clock());
        Self { fleet, store, tasks }
    }

    /// Submits so many, one after the other.
    pub(crate) async fn submit(&self, from: u32, count: u32) -> Result<(), BenchError> {
        for number in from..from.saturating_add(count) {
            self.submit_one(&run_of(number)?).await?;
        }
        Ok(())
    }

    pub(crate) async fn submit_one(&self, run: &RunId) -> Result<(), BenchError> {
        self.tasks.submit(&self.fleet, run.clone()).await
    }

    /// Starts a worker.
    pub(crate) fn start(
        &self,
        name: &str,
        concurrency: usize,
        ends: Ends,
    ) -> Result<Hand, BenchError> {
        let mut options = WorkerOptions::new(name.parse()?);
        options.concurrency = concurrency;
        let planner: Arc<dyn Planner> = self.tasks.planner(self.fleet.clone());
        let worker = Worker::new(Arc::clone(&self.store), clock(), planner, options);
        let (ends, drain) = (Arc::new(ends), CancellationToken::new());
        let (watch, drained) = (Arc::clone(&ends), drain.clone());
        let work =
            tokio::spawn(
                async move { worker.work(watch, drained, CancellationToken::new()).await },
            );
        Ok(Hand { ends, drain, work })
    }
}

impl Hand {
    /// Waits until so many runs have ended.
    pub(crate) async fn ended(&self, count: u64) -> Result<(), BenchError> {
        let mut ended = self.ends.ended.subscribe();
        let all = ended.wait_for(|ended| *ended >= count);
        match tokio::time::timeout(MAX_WAIT, all).await {
            Ok(Ok(_)) => self.ends.check(),
            _ => Err(wrong(format!("{} of {count} runs ended", *self.ends.ended.borrow()))),
        }
    }

    /// Lets the worker end what it has.
    pub(crate) async fn drain(self) -> Result<(), BenchError> {
        self.drain.cancel();
        self.work.await.map_err(wrong)?;
        self.ends.check()
    }
}

impl Ends {
    /// One that says so on standard output, too.
    pub(crate) fn loud() -> Self {
        Self { is_loud: true, ..Self::default() }
    }

    fn check(&self) -> Result<(), BenchError> {
        match self.amiss.load(Ordering::SeqCst) {
            0 => Ok(()),
            amiss => Err(wrong(format!("{amiss} runs failed, were buried or lost their lease"))),
        }
    }
}

impl WorkerWatch for Ends {
    fn event(&self, event: &WorkerEvent) {
        match event {
            WorkerEvent::Leased { run, .. } if self.is_loud => println!("leased {run}"),
            WorkerEvent::Rested { run, how: How::Ended { outcome, .. } } => {
                if self.is_loud {
                    println!("ended {run} {outcome}");
                }
                self.ended.send_modify(|ended| *ended += 1);
            }
            WorkerEvent::Failed { .. }
            | WorkerEvent::Buried { .. }
            | WorkerEvent::LeaseLost { .. }
            | WorkerEvent::StoreTrouble { .. } => {
                eprintln!("workers: {event:?}");
                self.amiss.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

/// The run of that number.
pub(crate) fn run_of(number: u32) -> Result<RunId, BenchError> {
    Ok(format!("task-{number}").parse()?)
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}
