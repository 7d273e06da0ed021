//! One process' way to the queue.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::RunId;
use probity_store::{
    Ask, Cause, DeadJob, Enqueued, Job, Lease, LeaseError, ParkedJob, Queue, QueueError, Standing,
};
use tokio::time::Instant;

use super::faulty::{Fate, FaultyStore};
use super::invariant::Defect;

/// How a lease is ended.
enum End {
    Settle,
    Release(Duration),
    Park,
    Bury(Cause),
}

impl FaultyStore {
    fn ttl(&self) -> Duration {
        Duration::from_millis(self.truth.schedule.lease_ms)
    }

    /// A lease as it is handed on: above every duplicate that was given out.
    fn hand_on(&self, lease: Lease) -> Lease {
        let mut state = self.truth.lock();
        let pushed = state.given.get(&lease.run).map_or(0, |(_, pushed)| *pushed);
        state.given.insert(lease.run.clone(), (lease.clone(), pushed));
        let lease = Lease { epoch: lease.epoch + pushed, ..lease };
        state.until.insert((lease.run.clone(), lease.epoch), Instant::now() + self.ttl());
        lease
    }

    /// A job that is held by somebody, once more.
    fn duplicate(&self) -> Option<Lease> {
        if !self.truth.chance(self.truth.faults().duplicates) {
            return None;
        }
        let mut state = self.truth.lock();
        let state = &mut *state;
        let runs: Vec<_> = state.given.keys().cloned().collect();
        let run = state.rng.pick(&runs)?;
        // Still held, as far as the queue knows: it would not have to give it out twice otherwise.
        let held = state.until.range((run.clone(), 0)..=(run.clone(), u64::MAX)).next_back();
        held.filter(|(_, until)| **until > Instant::now())?;
        let (lease, pushed) = state.given.get_mut(run)?;
        let original = lease.clone();
        *pushed += 1;
        let epoch = original.epoch + *pushed;
        let handle = format!("again-{}-{pushed}", original.handle);
        state.aliases.insert(handle.clone(), original.clone());
        state.until.insert((original.run.clone(), epoch), Instant::now() + self.ttl());
        state.tally.duplicates += 1;
        Some(Lease { epoch, deliveries: original.deliveries + 1, handle, ..original })
    }

    fn original(&self, lease: &Lease) -> Lease {
        self.truth.lock().aliases.get(&lease.handle).unwrap_or(lease).clone()
    }

    async fn end(&self, lease: &Lease, end: End) -> Result<(), LeaseError> {
        let fate = self.fate().await;
        if matches!(fate, Fate::Refuses | Fate::Vanishes) {
            return Err(self.fault().into());
        }
        let original = self.original(lease);
        let queue = &self.truth.store;
        let (name, ended) = match end {
            End::Settle if self.truth.has(Defect::KeepsTokens) => {
                ("settle", queue.park(&original).await)
            }
            End::Settle => ("settle", queue.settle(&original).await),
            _ if self.truth.has(Defect::LosesTokens) => ("lose", queue.settle(&original).await),
            End::Release(delay) => ("release", queue.release(&original, delay).await),
            End::Park => ("park", queue.park(&original).await),
            End::Bury(cause) => {
                {
                    let mut state = self.truth.lock();
                    state.tally.dead_letters += 1;
                    state.buried.insert(lease.run.clone());
                }
                ("bury", queue.bury(&original, cause).await)
            }
        };
        let word = ended.as_ref().map_or_else(LeaseError::code, |()| "ok");
        self.truth.trace(&self.life, format_args!("{} {name} {}: {word}", lease.run, lease.epoch));
        self.answer().await;
        if fate == Fate::Loses { Err(self.fault().into()) } else { ended }
    }

    /// A question that is asked without changing anything.
    async fn asks(&self) -> Result<(), QueueError> {
        match self.fate().await {
            Fate::Answers => Ok(()),
            Fate::Loses | Fate::Refuses | Fate::Vanishes => Err(self.fault().into()),
        }
    }
}

#[async_trait]
impl Queue for FaultyStore {
    fn lease_ttl(&self) -> Duration {
        self.ttl()
    }

    async fn enqueue(&self, job: Job) -> Result<Enqueued, QueueError> {
        let fate = self.fate().await;
        if matches!(fate, Fate::Refuses | Fate::Vanishes) {
            return Err(self.fault().into());
        }
        let run = job.run.clone();
        let enqueued = self.truth.store.enqueue(job).await;
        self.truth.trace(&self.life, format_args!("{run} enqueue: {enqueued:?}"));
        self.answer().await;
        if fate == Fate::Loses { Err(self.fault().into()) } else { enqueued }
    }

    async fn lease(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        let fate = self.fate().await;
        if matches!(fate, Fate::Refuses | Fate::Vanishes) {
            return Err(self.fault().into());
        }
        let leases = match self.duplicate() {
            Some(again) => vec![again],
            None => {
                let leases = self.truth.store.lease(ask).await?;
                leases.into_iter().map(|lease| self.hand_on(lease)).collect()
            }
        };
        for lease in &leases {
            self.truth.trace(&self.life, format_args!("{} lease {}", lease.run, lease.epoch));
        }
        self.answer().await;
        if fate == Fate::Loses || self.life.is_cut_off() {
            return Err(self.fault().into());
        }
        Ok(leases)
    }

    async fn heartbeat(&self, lease: &Lease) -> Result<(), LeaseError> {
        let fate = self.fate().await;
        if self.truth.has(Defect::SwallowsLoss) {
            let _ = self.truth.store.heartbeat(&self.original(lease)).await;
            return Ok(());
        }
        if matches!(fate, Fate::Refuses | Fate::Vanishes) {
            return Err(self.fault().into());
        }
        let is_early = self.truth.chance(self.truth.faults().early_expiries);
        let kept = if is_early {
            self.truth.lock().tally.early_expiries += 1;
            Ok(())
        } else {
            self.truth.store.heartbeat(&self.original(lease)).await
        };
        if kept.is_ok() {
            let until = Instant::now() + self.ttl();
            self.truth.lock().until.insert((lease.run.clone(), lease.epoch), until);
        }
        self.answer().await;
        if fate == Fate::Loses { Err(self.fault().into()) } else { kept }
    }

    async fn settle(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.end(lease, End::Settle).await
    }

    async fn release(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        self.end(lease, End::Release(delay)).await
    }

    async fn park(&self, lease: &Lease) -> Result<(), LeaseError> {
        self.end(lease, End::Park).await
    }

    async fn bury(&self, lease: &Lease, cause: Cause) -> Result<(), LeaseError> {
        self.end(lease, End::Bury(cause)).await
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        self.asks().await?;
        let standing = self.truth.store.standing(run).await;
        self.answer().await;
        standing
    }

    async fn parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        self.asks().await?;
        let parked = self.truth.store.parked(after, limit).await;
        self.answer().await;
        parked
    }

    async fn dead(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<DeadJob>, QueueError> {
        self.asks().await?;
        let dead = self.truth.store.dead(after, limit).await;
        self.answer().await;
        dead
    }

    async fn revive(&self, run: &RunId) -> Result<bool, QueueError> {
        let fate = self.fate().await;
        if matches!(fate, Fate::Refuses | Fate::Vanishes) {
            return Err(self.fault().into());
        }
        let revived = self.truth.store.revive(run).await;
        self.answer().await;
        if fate == Fate::Loses { Err(self.fault().into()) } else { revived }
    }

    async fn discard(&self, run: &RunId) -> Result<bool, QueueError> {
        self.asks().await?;
        self.truth.store.discard(run).await
    }
}
