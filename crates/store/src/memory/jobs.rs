//! The jobs of the queue in memory: a table and two orders over it.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_core::RunId;
use tokio::time::Instant;

use crate::limits::{MAX_DELAY, MAX_LEASES};
use crate::{Ask, Cause, DeadJob, Enqueued, Job, Lease, LeaseError, ParkedJob, Pool, Standing};

/// When, then in which order: what is due first comes first.
type Turn = (Instant, u64);

/// All jobs. Each method takes the time and leaves the state whole.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    entries: BTreeMap<RunId, Entry>,
    /// Those that wait, by when they are due.
    waiting: BTreeMap<Pool, BTreeMap<Turn, RunId>>,
    /// Those that are leased, by when the lease runs out.
    leased: BTreeMap<Turn, RunId>,
    /// Numbers places in the orders, and leases.
    numbers: u64,
}

#[derive(Debug)]
struct Entry {
    pool: Pool,
    /// The highest so far: of a lease, or the floor.
    epoch: u64,
    deliveries: u32,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Waiting(Turn),
    Leased { until: Turn, handle: String },
    Parked { since_ms: u64 },
    Dead { cause: Cause, since_ms: u64 },
}

/// How a lease ends.
pub(super) enum End {
    Settle,
    Release(Duration),
    Park,
    Bury(Cause),
}

impl Jobs {
    pub(super) fn enqueue(&mut self, job: Job, now: Instant) -> Enqueued {
        self.expire(now);
        let due = now + job.delay.min(MAX_DELAY);
        let Some(entry) = self.entries.get(&job.run) else {
            self.wait(job.run, job.pool, job.epoch_floor, 0, due);
            return Enqueued::Added;
        };
        let epoch = entry.epoch.max(job.epoch_floor);
        match entry.place {
            Place::Dead { .. } => Enqueued::Dead,
            Place::Leased { .. } => Enqueued::Present,
            Place::Waiting(turn) if turn.0 <= now || turn.0 <= due => Enqueued::Present,
            Place::Waiting(turn) => {
                let (pool, deliveries) = (entry.pool.clone(), entry.deliveries);
                self.take_waiting(&pool, turn);
                self.wait(job.run, pool, epoch, deliveries, due);
                Enqueued::Added
            }
            Place::Parked { .. } => {
                self.wait(job.run, job.pool, epoch, 0, due);
                Enqueued::Added
            }
        }
    }

    /// What is due, and if that is nothing, when something may be next.
    pub(super) fn lease(
        &mut self,
        ask: &Ask,
        now: Instant,
        until: Instant,
    ) -> (Vec<Lease>, Option<Instant>) {
        self.expire(now);
        let mut leases = Vec::new();
        while leases.len() < ask.max.min(MAX_LEASES) {
            let Some(lease) = self.lease_one(&ask.pools, now, until) else { break };
            leases.push(lease);
        }
        let next = ask.pools.iter().filter_map(|pool| self.first(pool)).map(|(turn, _)| turn);
        let next = next.chain(self.leased.keys().next().copied()).min();
        (leases, next.map(|(at, _)| at))
    }

    pub(super) fn heartbeat(
        &mut self,
        lease: &Lease,
        now: Instant,
        until: Instant,
    ) -> Result<(), LeaseError> {
        self.expire(now);
        let number = self.number();
        let handle = self.held(lease)?;
        let turn = (until, number);
        self.leased.insert(turn, lease.run.clone());
        if let Some(entry) = self.entries.get_mut(&lease.run) {
            entry.place = Place::Leased { until: turn, handle };
        }
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        lease: &Lease,
        end: End,
        now: Instant,
        now_ms: u64,
    ) -> Result<(), LeaseError> {
        self.expire(now);
        self.held(lease)?;
        let Some(mut entry) = self.entries.remove(&lease.run) else { return Ok(()) };
        match end {
            End::Settle => return Ok(()),
            End::Release(delay) => {
                let due = now + delay.min(MAX_DELAY);
                self.wait(lease.run.clone(), entry.pool, entry.epoch, entry.deliveries, due);
                return Ok(());
            }
            End::Park => entry.place = Place::Parked { since_ms: now_ms },
            End::Bury(cause) => {
                let cause = Cause::new(cause.code, cause.message);
                entry.place = Place::Dead { cause, since_ms: now_ms };
            }
        }
        self.entries.insert(lease.run.clone(), entry);
        Ok(())
    }

    pub(super) fn standing(&self, run: &RunId) -> Option<Standing> {
        let entry = self.entries.get(run)?;
        let pool = entry.pool.clone();
        Some(match &entry.place {
            Place::Waiting(_) | Place::Leased { .. } => Standing::Queued { pool },
            Place::Parked { .. } => Standing::Parked { pool },
            Place::Dead { cause, .. } => Standing::Dead { pool, cause: cause.clone() },
        })
    }

    pub(super) fn parked(&self, after: Option<&RunId>) -> impl Iterator<Item = ParkedJob> {
        self.behind(after).filter_map(|(run, entry)| match entry.place {
            Place::Parked { since_ms } => {
                Some(ParkedJob { run: run.clone(), pool: entry.pool.clone(), since_ms })
            }
            _ => None,
        })
    }

    pub(super) fn dead(&self, after: Option<&RunId>) -> impl Iterator<Item = DeadJob> {
        self.behind(after).filter_map(|(run, entry)| match &entry.place {
            Place::Dead { cause, since_ms } => Some(DeadJob {
                run: run.clone(),
                pool: entry.pool.clone(),
                cause: cause.clone(),
                since_ms: *since_ms,
            }),
            _ => None,
        })
    }

    pub(super) fn revive(&mut self, run: &RunId, now: Instant) -> bool {
        let Some(entry) = self.take_dead(run) else { return false };
        self.wait(run.clone(), entry.pool, entry.epoch, 0, now);
        true
    }

    pub(super) fn discard(&mut self, run: &RunId) -> bool {
        self.take_dead(run).is_some()
    }

    fn behind(&self, after: Option<&RunId>) -> impl Iterator<Item = (&RunId, &Entry)> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.entries.range((after.map_or(Unbounded, Excluded), Unbounded))
    }

    fn take_dead(&mut self, run: &RunId) -> Option<Entry> {
        matches!(self.entries.get(run)?.place, Place::Dead { .. }).then_some(())?;
        self.entries.remove(run)
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn wait(&mut self, run: RunId, pool: Pool, epoch: u64, deliveries: u32, due: Instant) {
        let turn = (due, self.number());
        self.waiting.entry(pool.clone()).or_default().insert(turn, run.clone());
        let entry = Entry { pool, epoch, deliveries, place: Place::Waiting(turn) };
        self.entries.insert(run, entry);
    }

    /// Leases that ran out are jobs that wait, due since then.
    fn expire(&mut self, now: Instant) {
        while let Some(first) = self.leased.first_entry()
            && first.key().0 <= now
        {
            let ((due, _), run) = first.remove_entry();
            if let Some(entry) = self.entries.remove(&run) {
                self.wait(run, entry.pool, entry.epoch, entry.deliveries, due);
            }
        }
    }

    fn first(&self, pool: &Pool) -> Option<(Turn, &Pool)> {
        let (pool, turns) = self.waiting.get_key_value(pool)?;
        Some((*turns.keys().next()?, pool))
    }

    fn take_waiting(&mut self, pool: &Pool, turn: Turn) -> Option<RunId> {
        let turns = self.waiting.get_mut(pool)?;
        let run = turns.remove(&turn)?;
        if turns.is_empty() {
            self.waiting.remove(pool);
        }
        Some(run)
    }

    fn lease_one(&mut self, pools: &[Pool], now: Instant, until: Instant) -> Option<Lease> {
        let (turn, pool) = pools.iter().filter_map(|pool| self.first(pool)).min()?;
        if turn.0 > now {
            return None;
        }
        let pool = pool.clone();
        let run = self.take_waiting(&pool, turn)?;
        let until = (until, self.number());
        let handle = until.1.to_string();
        let entry = self.entries.get_mut(&run)?;
        entry.epoch += 1;
        entry.deliveries = entry.deliveries.saturating_add(1);
        entry.place = Place::Leased { until, handle: handle.clone() };
        let (epoch, deliveries) = (entry.epoch, entry.deliveries);
        self.leased.insert(until, run.clone());
        Some(Lease { run, pool, epoch, deliveries, handle })
    }

    /// Takes the lease out of the order in which leases run out, if it has not run out.
    fn held(&mut self, lease: &Lease) -> Result<String, LeaseError> {
        let entry = self.entries.get(&lease.run).ok_or(LeaseError::Lost)?;
        match &entry.place {
            Place::Leased { until, handle } if *handle == lease.handle => {
                self.leased.remove(until);
                Ok(handle.clone())
            }
            _ => Err(LeaseError::Lost),
        }
    }
}
