//! A worker.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use probity_core::WorkerId;
use probity_engine::Clock;
use probity_store::{Ask, FaultKind, Lease, LeaseError, Pool, QueueError, StoreFault, WorkStore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::hold::hold;
use crate::kit::Kit;
use crate::pause::{Jitter, after_trouble};
use crate::sweep::sweep;
use crate::{Fleet, Planner, Tally, WorkerWatch};

/// How long one call for jobs waits; also how long a worker without runs takes to drain.
const ASK_WAIT: Duration = Duration::from_secs(1);
/// When a call that was not answered is given up.
const ASK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long runs that were let go of may take before they are dropped.
const LET_GO: Duration = Duration::from_secs(10);

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
        watch: Arc<dyn WorkerWatch>,
        drain: CancellationToken,
        stop: CancellationToken,
    ) -> Tally {
        let kit = Arc::new(Kit {
            fleet: self.fleet.clone(),
            clock: Arc::clone(&self.clock),
            planner: Arc::clone(&self.planner),
            options: self.options.clone(),
            watch,
        });
        let letting_go = stop.child_token();
        let hands = Hands { letting_go, held: JoinSet::new(), asking: None, troubles: 0, kit };
        Box::pin(hands.work(drain, stop)).await
    }
}

type Asked = Result<Vec<Lease>, QueueError>;

/// The runs that a worker has in hand, and its call for more.
struct Hands {
    kit: Arc<Kit>,
    held: JoinSet<Tally>,
    /// Never dropped for something else: a call that is dropped may have leased jobs.
    asking: Option<Pin<Box<dyn Future<Output = Asked> + Send>>>,
    /// How often in a row the queue could not be asked.
    troubles: u32,
    letting_go: CancellationToken,
}

impl Hands {
    async fn work(mut self, drain: CancellationToken, stop: CancellationToken) -> Tally {
        let mut tally = Tally::default();
        let sweeping = AbortOnDropHandle::new(tokio::spawn(sweep(Arc::clone(&self.kit))));
        let concurrency = self.kit.options.concurrency.max(1);
        loop {
            let free = concurrency.saturating_sub(self.held.len());
            if self.asking.is_none() && free > 0 {
                self.asking = Some(ask(Arc::clone(&self.kit), free, self.troubles));
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = drain.cancelled() => break,
                Some(held) = self.held.join_next() => tally.add(held),
                asked = asked(&mut self.asking) => self.take(asked),
            }
        }
        drop(sweeping);
        self.finish(&stop, &mut tally).await;
        tally
    }

    /// Takes what the queue gave.
    fn take(&mut self, asked: Asked) {
        self.asking = None;
        match asked {
            Ok(leases) => {
                self.troubles = 0;
                for lease in leases {
                    let kit = Arc::clone(&self.kit);
                    self.held.spawn(hold(kit, lease, self.letting_go.clone()));
                }
            }
            Err(error) => {
                self.troubles = self.troubles.saturating_add(1);
                self.kit.trouble(error.into());
            }
        }
    }

    /// Nothing new is taken; what is in hand goes on until the drain timeout, then it is let go of.
    async fn finish(&mut self, stop: &CancellationToken, tally: &mut Tally) {
        let over = tokio::time::sleep(self.kit.options.drain_timeout);
        tokio::pin!(over);
        while !(self.held.is_empty() && self.asking.is_none()) {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(held) = self.held.join_next() => tally.add(held),
                asked = asked(&mut self.asking) => self.give_back(asked).await,
                () = &mut over => break,
            }
        }
        self.letting_go.cancel();
        let rest = async {
            while let Some(held) = self.held.join_next().await {
                tally.add(held);
            }
        };
        // What does not let go by then is dropped, and its lease runs out.
        let _ = timeout(LET_GO, rest).await;
    }

    async fn give_back(&mut self, asked: Asked) {
        self.asking = None;
        for lease in asked.unwrap_or_default() {
            if let Err(LeaseError::Unavailable(fault)) =
                self.kit.store().release(&lease, Duration::ZERO).await
            {
                self.kit.trouble(QueueError::from(fault).into());
            }
        }
    }
}

/// Calls for jobs, later where the calls before failed.
fn ask(kit: Arc<Kit>, free: usize, troubles: u32) -> Pin<Box<dyn Future<Output = Asked> + Send>> {
    Box::pin(async move {
        let options = &kit.options;
        if troubles > 0 {
            let jitter = Jitter::of(options.seed, options.worker.as_str(), troubles.into());
            tokio::time::sleep(after_trouble(troubles, jitter)).await;
        }
        let pools = match options.pools.is_empty() {
            true => vec![Pool::default()],
            false => options.pools.clone(),
        };
        let ask = Ask { worker: options.worker.clone(), pools, max: free, wait: ASK_WAIT };
        let late = |_| {
            let fault = StoreFault::new(FaultKind::Busy, "the queue does not answer");
            Err(QueueError::Unavailable(fault))
        };
        timeout(ASK_TIMEOUT, kit.store().lease(&ask)).await.unwrap_or_else(late)
    })
}

/// What a call came to; never, where there is none.
async fn asked(asking: &mut Option<Pin<Box<dyn Future<Output = Asked> + Send>>>) -> Asked {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}
