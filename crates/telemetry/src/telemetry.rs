//! The handle: what a program starts, tells of its runs, and stops.

use std::collections::btree_map::Entry as Place;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probity_core::{Entry, Event, RunId, WorkerId};
use probity_engine::Watch;
use probity_store::Store;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::export::Exporters;
use crate::follower::Follower;
use crate::{Metric, Point, Registry, TelemetryError, TelemetryOptions};

/// The most runs that wait to be read at a time; what moves beyond them is lost and counted.
const MAX_MARKED: usize = 4096;
/// The most workers of one process.
const MAX_WORKERS: usize = 64;
/// The most flushes that wait at a time.
const MAX_FLUSHES: usize = 4;

/// Follows runs and sends what their logs say. Cheap to clone; the last one dropped stops sending.
#[derive(Clone)]
pub struct Telemetry {
    shared: Arc<Shared>,
    flushes: mpsc::Sender<oneshot::Sender<()>>,
    _task: Arc<Task>,
}

/// What became of telemetry so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Spans that a receiver took.
    pub spans_sent: u64,
    /// Log events that a receiver took.
    pub logs_sent: u64,
    /// Spans, log events and moves of runs that were lost.
    pub lost: u64,
    /// What receivers refused of batches that they took.
    pub refused: u64,
    /// What the last failure was.
    pub last_error: Option<String>,
}

/// Watches one run. It only notes that the run has moved. Dropped before the run's end, it tells that
/// the run was left.
pub struct TelemetryWatch {
    shared: Arc<Shared>,
    run: RunId,
}

/// Two who watch the same run.
pub struct Together<'a>(pub &'a dyn Watch, pub &'a dyn Watch);

/// What the handle and the task share.
pub(crate) struct Shared {
    pub(crate) registry: Registry,
    pub(crate) bell: Notify,
    marks: Mutex<BTreeMap<RunId, Mark>>,
    /// Workers that drive runs here.
    workers: Mutex<BTreeSet<WorkerId>>,
    /// Spans and log events that were made, and are neither taken nor lost yet.
    pub(crate) unsent: AtomicU64,
    account: Mutex<Account>,
}

/// A run that has moved.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    /// The first entry that was told since it was looked at last.
    pub(crate) first: Option<Entry>,
    /// Whoever drove it is gone.
    pub(crate) is_left: bool,
}

struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Telemetry {
    /// Starts to follow runs of a store. Must be called on a runtime; nothing is sent before a run
    /// moves.
    ///
    /// # Errors
    /// [`TelemetryError::Exporter`] if what is to send cannot be built.
    pub fn start(options: TelemetryOptions, store: Arc<dyn Store>) -> Result<Self, TelemetryError> {
        let exporters = match &options.otlp {
            Some(otlp) => Some(Exporters::new(&options, otlp)?),
            None => None,
        };
        let shared = Arc::new(Shared {
            registry: Registry::default(),
            bell: Notify::new(),
            marks: Mutex::default(),
            workers: Mutex::default(),
            unsent: AtomicU64::new(0),
            account: Mutex::default(),
        });
        let (flushes, asked) = mpsc::channel(MAX_FLUSHES);
        let follower = Follower::new(Arc::clone(&shared), store, exporters, options);
        let task = Arc::new(Task(tokio::spawn(follower.follow(asked))));
        Ok(Self { shared, flushes, _task: task })
    }

    /// Watches a run that is driven here.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> TelemetryWatch {
        TelemetryWatch { shared: Arc::clone(&self.shared), run: run.clone() }
    }

    /// An entry of a run is in its log: for workers, who drive many.
    pub fn entry(&self, run: &RunId, entry: &Entry) {
        self.shared.moved(run, entry);
    }

    /// The metrics of this process, in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        self.shared.registry.render()
    }

    /// What became of telemetry so far.
    #[must_use]
    pub fn account(&self) -> Account {
        self.shared.account().clone()
    }

    /// Sends everything that is there, metrics included. Whether that was done in time.
    pub async fn flush(&self, deadline: Duration) -> bool {
        let flushed = async {
            let (done, is_done) = oneshot::channel();
            self.flushes.send(done).await.ok()?;
            is_done.await.ok()
        };
        tokio::time::timeout(deadline, flushed).await.ok().flatten().is_some()
    }

    /// Sends what can be sent in that time, and stops.
    pub async fn shutdown(self, deadline: Duration) -> Account {
        let is_done = self.flush(deadline).await;
        let mut account = self.account();
        if !is_done {
            let unread = u64::try_from(self.shared.marks().len()).unwrap_or(u64::MAX);
            let unsent = self.shared.unsent.load(Ordering::Relaxed).saturating_add(unread);
            account.lost = account.lost.saturating_add(unsent);
            let late = || "the receiver did not answer in time".to_owned();
            account.last_error.get_or_insert_with(late);
        }
        account
    }
}

impl Watch for TelemetryWatch {
    fn entry(&self, entry: &Entry) {
        self.shared.moved(&self.run, entry);
    }
}

impl Drop for TelemetryWatch {
    fn drop(&mut self) {
        self.shared.mark(&self.run, |mark| mark.is_left = true);
    }
}

impl Watch for Together<'_> {
    fn entry(&self, entry: &Entry) {
        self.0.entry(entry);
        self.1.entry(entry);
    }
}

impl Shared {
    fn moved(&self, run: &RunId, entry: &Entry) {
        if let Event::LeaseTaken { worker, .. } = &entry.event {
            let mut workers = self.workers();
            if workers.len() < MAX_WORKERS {
                workers.insert(worker.clone());
            }
        }
        self.mark(run, |mark| {
            mark.first.get_or_insert_with(|| entry.clone());
        });
    }

    fn mark(&self, run: &RunId, change: impl FnOnce(&mut Mark)) {
        let mut marks = self.marks();
        let is_full = marks.len() >= MAX_MARKED;
        match marks.entry(run.clone()) {
            Place::Occupied(mut place) => change(place.get_mut()),
            Place::Vacant(place) if !is_full => change(place.insert(Mark::default())),
            Place::Vacant(_) => {
                drop(marks);
                self.lost("run", 1, "more runs move than can be followed");
                return;
            }
        }
        drop(marks);
        self.bell.notify_one();
    }

    /// Whether that worker drives runs here.
    pub(crate) fn is_own(&self, worker: &WorkerId) -> bool {
        self.workers().contains(worker)
    }

    /// The runs that have moved.
    pub(crate) fn take_marks(&self) -> BTreeMap<RunId, Mark> {
        std::mem::take(&mut self.marks())
    }

    /// Something was lost.
    pub(crate) fn lost(&self, signal: &'static str, count: u64, why: &str) {
        let labels = vec![signal.to_owned()];
        let value = crate::signal::as_value(count);
        self.registry.add(&Point { metric: Metric::Dropped, value, labels });
        let mut account = self.account();
        account.lost = account.lost.saturating_add(count);
        account.last_error = Some(why.to_owned());
    }

    pub(crate) fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workers(&self) -> MutexGuard<'_, BTreeSet<WorkerId>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn marks(&self) -> MutexGuard<'_, BTreeMap<RunId, Mark>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
