//! The workers of a schedule: each lives until it dies or is drained, and is followed by another.

use std::sync::Arc;
use std::time::Duration;

use probity_core::WorkerId;
use probity_worker::{Worker, WorkerEvent, WorkerOptions, WorkerWatch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::actor::Desk;
use super::invariant::{Defect, Invariant};
use super::life::{Freezing, Life};
use super::naive;
use super::truth::Truth;

/// What a drained worker may need beside its drain timeout, in leases: its own operations are tried
/// again while the store fails.
const DRAIN_GRACE: Duration = Duration::from_secs(60);

/// One place for a worker.
pub(crate) struct Slot {
    truth: Arc<Truth>,
    place: usize,
    now: std::sync::Mutex<Option<(Arc<Life>, CancellationToken)>>,
    /// No more workers: the last one is drained.
    over: CancellationToken,
}

impl Slot {
    pub(crate) fn new(truth: Arc<Truth>, place: usize, over: CancellationToken) -> Self {
        Self { truth, place, now: std::sync::Mutex::new(None), over }
    }

    /// Who works there now.
    pub(crate) fn life(&self) -> Option<Arc<Life>> {
        let now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        now.as_ref().map(|(life, _)| Arc::clone(life))
    }

    /// Asks whoever works there to end.
    pub(crate) fn drain(&self) {
        let now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, drain)) = now.as_ref() {
            drain.cancel();
        }
    }

    /// Life after life.
    pub(crate) async fn staff(&self) {
        for number in 0.. {
            if number > 0 {
                sleep(Duration::from_millis(self.truth.draw(|rng| rng.between(1, 3_000)))).await;
            }
            if self.over.is_cancelled() {
                return;
            }
            let life = self.born(number);
            self.live(&life).await;
        }
    }

    fn born(&self, number: usize) -> Arc<Life> {
        let is_quiet = self.truth.is_quiet();
        let spared = self.truth.schedule.spared;
        let mut state = self.truth.lock();
        let state = &mut *state;
        state.tally.lives += 1;
        let skew_ms = i64::try_from(state.rng.below(10_000)).unwrap_or(0) - 5_000;
        let skew_ms = if state.rng.one_in(2) { 0 } else { skew_ms };
        let dies = !is_quiet && !state.rng.one_in(spared);
        let dies_at = dies.then(|| state.rng.between(1, 150));
        let name = format!("w{}-{number}", self.place);
        let life = Arc::new(Life::new(state.lives.len(), name, skew_ms, dies_at));
        state.lives.push(Arc::clone(&life));
        life
    }

    async fn live(&self, life: &Arc<Life>) {
        let drain = CancellationToken::new();
        {
            let mut now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *now = Some((Arc::clone(life), drain.clone()));
        }
        self.truth.trace(life, "begins");
        let desk = Desk { truth: Arc::clone(&self.truth), life: Arc::clone(life) };
        let heard = if self.truth.has(Defect::NeverDrains) {
            CancellationToken::new()
        } else {
            drain.clone()
        };
        let work = Freezing::new(life, work(desk, heard));
        tokio::pin!(work);
        let ends = async {
            tokio::select! {
                biased;
                () = drain.cancelled() => {}
                () = self.over.cancelled() => drain.cancel(),
            }
            life.spare();
            let schedule = &self.truth.schedule;
            let most = Duration::from_millis(schedule.drain_ms + 2 * schedule.lease_ms);
            sleep(most + DRAIN_GRACE).await;
        };
        tokio::select! {
            biased;
            () = life.died() => self.truth.lock().tally.crashes += 1,
            () = &mut work => {
                self.truth.trace(life, "returns");
                self.truth.lock().tally.drains += 1;
            }
            () = ends => {
                self.truth.breach(Invariant::Drains, format!("{} was drained and goes on", life.name));
            }
        }
        // Whatever it left behind reaches nothing any more.
        life.die();
        self.truth.ends_all_of(life);
    }
}

async fn work(desk: Desk, drain: CancellationToken) {
    let Ok(name) = desk.life.name.parse::<WorkerId>() else { return };
    if desk.truth.has(Defect::NoLease) {
        return naive::work(desk, name, drain).await;
    }
    let schedule = &desk.truth.schedule;
    let seed = schedule.seed ^ desk.life.actor as u64;
    let options = WorkerOptions {
        concurrency: schedule.concurrency,
        patience: Duration::from_millis(schedule.patience_ms),
        sweep_every: Duration::from_millis(schedule.sweep_ms),
        max_failures: schedule.max_failures,
        drain_timeout: Duration::from_millis(schedule.drain_ms),
        seed,
        ..WorkerOptions::new(name)
    };
    let watch = Arc::new(Told(desk.clone()));
    let worker = Worker::new(desk.store(), desk.clock(), Arc::new(desk), options);
    worker.work(watch, drain, CancellationToken::new()).await;
}

/// Writes down what a worker says of itself.
struct Told(Desk);

impl WorkerWatch for Told {
    fn event(&self, event: &WorkerEvent) {
        let Self(Desk { truth, life }) = self;
        truth.trace(life, format_args!("says {event:?}"));
        let mut state = truth.lock();
        let (run, is_more) = match event {
            WorkerEvent::Leased { run, .. } => (run, true),
            WorkerEvent::Rested { run, .. }
            | WorkerEvent::Failed { run, .. }
            | WorkerEvent::LeaseLost { run } => (run, false),
            _ => return,
        };
        let (held, is_mixed) = state.hands.entry((life.actor, run.clone())).or_default();
        *held = if is_more { *held + 1 } else { held.saturating_sub(1) };
        *is_mixed = *held > 1 || (*is_mixed && *held > 0);
    }
}

/// Waits, at most so long.
pub(crate) async fn at_most(ms: u64, what: impl Future<Output = ()>) -> bool {
    timeout(Duration::from_millis(ms), what).await.is_ok()
}
