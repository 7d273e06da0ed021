//! A worker.

use std::sync::Arc;
use std::time::Duration;

use probity_core::WorkerId;
use probity_engine::Clock;
use probity_store::{Pool, WorkStore};
use tokio_util::sync::CancellationToken;

use crate::{Fleet, Planner, Tally, WorkerWatch};

/// How a worker works.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Its name, unique among those that live at a time.
    pub worker: WorkerId,
    /// The pools that it takes runs from; none is the default pool.
    pub pools: Vec<Pool>,
    /// How many runs it has in hand at most; at least 1.
    pub concurrency: usize,
    /// The longest time that it waits with nothing of a run in flight before it puts the run back.
    pub patience: Duration,
    /// How often parked runs are brought in to be looked at, at least 10 ms.
    pub sweep_every: Duration,
    /// How many deliveries in a row without progress make a run a dead letter; at least 1.
    pub max_failures: u32,
    /// How long runs in hand may go on once the worker is drained.
    pub drain_timeout: Duration,
    /// What its jitter is made of.
    pub seed: u64,
}

impl WorkerOptions {
    /// The default pool, 16 runs at once, 5 s of patience, a sweep every 30 s, dead letters after 8
    /// failures, 30 s to drain.
    #[must_use]
    pub fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            pools: vec![Pool::default()],
            concurrency: 16,
            patience: Duration::from_secs(5),
            sweep_every: Duration::from_secs(30),
            max_failures: 8,
            drain_timeout: Duration::from_secs(30),
            seed: 0,
        }
    }
}

/// Leases runs, drives them on and leaves them.
pub struct Worker {
    fleet: Fleet,
    clock: Arc<dyn Clock>,
    planner: Arc<dyn Planner>,
    options: WorkerOptions,
}

impl Worker {
    /// A worker on a store.
    #[must_use]
    pub fn new(
        store: Arc<dyn WorkStore>,
        clock: Arc<dyn Clock>,
        planner: Arc<dyn Planner>,
        options: WorkerOptions,
    ) -> Self {
        Self { fleet: Fleet::new(store, Arc::clone(&clock)), clock, planner, options }
    }

    /// Works until `drain` is cancelled, then takes nothing new, finishes what runs within the drain
    /// timeout, lets go of the rest and returns. Cancelling `stop` lets go of everything at once.
    /// Dropping the future is a crash: its leases run out.
    pub async fn work(
        &self,
        _watch: Arc<dyn WorkerWatch>,
        _drain: CancellationToken,
        stop: CancellationToken,
    ) -> Tally {
        let _ = (&self.fleet, &self.clock, &self.planner, &self.options);
        stop.cancelled().await;
        Tally::default()
    }
}
