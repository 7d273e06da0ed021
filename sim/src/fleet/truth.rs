//! What really happened, whatever anybody was told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probity_core::{Digest, Entry, Event, RunId, Turn};
use probity_record::{Record, blob_digest};
use probity_store::{AppendError, Batch, Lease, MemoryStore, RunLog as _};
use tokio::time::Instant;

use super::invariant::{Breach, Defect, Invariant};
use super::job::FleetJob;
use super::life::Life;
use super::schedule::{Faults, Schedule};
use super::tally::FleetTally;
use crate::Rng;

/// When the simulated fleet starts, in milliseconds since the Unix epoch.
const EPOCH_MS: u64 = 1_700_000_000_000;
/// Breaches that are kept of one schedule.
const MAX_BREACHES: usize = 20;

/// The world of one schedule.
pub(crate) struct Truth {
    pub(crate) schedule: Schedule,
    pub(crate) defect: Option<Defect>,
    pub(crate) store: MemoryStore,
    pub(crate) start: Instant,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) rng: Rng,
    pub(crate) logs: BTreeMap<RunId, Log>,
    pub(crate) jobs: BTreeMap<RunId, Arc<FleetJob>>,
    pub(crate) lives: Vec<Arc<Life>>,
    pub(crate) acts: Vec<Act>,
    pub(crate) acked: Vec<Acked>,
    /// Deaths of delegates: run, turn, place.
    pub(crate) died: BTreeSet<(RunId, u32, usize)>,
    /// Jobs as they were given out last, and how far their epochs were pushed up.
    pub(crate) given: BTreeMap<RunId, (Lease, u64)>,
    /// Handles of duplicates, and what they are duplicates of.
    pub(crate) aliases: BTreeMap<String, Lease>,
    /// When a lease runs out as far as the queue knows: run, epoch.
    pub(crate) until: BTreeMap<(RunId, u64), Instant>,
    /// Runs that were a dead letter at some time.
    pub(crate) buried: BTreeSet<RunId>,
    /// How many leases of a run a worker has in hand, and whether there were several since there was none.
    pub(crate) hands: BTreeMap<(usize, RunId), (u32, bool)>,
    /// Looks at a log that failed: who, at which, when.
    pub(crate) deaf: Vec<(usize, RunId, Instant)>,
    pub(crate) trace: Vec<String>,
    pub(crate) breaches: Vec<Breach>,
    pub(crate) tally: FleetTally,
}

/// A log, read record by record as it grows.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
    pub(crate) digests: Vec<Digest>,
    pub(crate) leases: Vec<Held>,
}

/// A lease as the log has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) epoch: u64,
    pub(crate) actor: usize,
    pub(crate) at: Instant,
}

/// What somebody really did.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) run: RunId,
    pub(crate) actor: usize,
    /// Whether there may have been a later lease than that of whoever did it, who cannot have known what
    /// was logged since: which wait of its turn it was at is not known then.
    pub(crate) is_stale: bool,
    /// Under which lease; 0 for none.
    pub(crate) epoch: u64,
    pub(crate) what: What,
    pub(crate) from: Instant,
    pub(crate) to: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A delegate was asked; a wait of it ended the asking before.
    Ask { turn: u32, waits: usize },
    /// A check looked: in which turn, which, which try.
    Look { turn: Option<u32>, check: usize, tries: u32 },
}

/// An append that was acknowledged.
#[derive(Debug)]
pub(crate) struct Acked {
    pub(crate) run: RunId,
    pub(crate) from: u64,
    pub(crate) digests: Vec<Digest>,
}

impl Truth {
    pub(crate) fn new(schedule: Schedule, defect: Option<Defect>) -> Self {
        let store = MemoryStore::with_lease_ttl(Duration::from_millis(schedule.lease_ms));
        let state = State {
            rng: Rng::new(schedule.seed ^ 0xfa_017),
            logs: BTreeMap::new(),
            jobs: BTreeMap::new(),
            lives: Vec::new(),
            acts: Vec::new(),
            acked: Vec::new(),
            died: BTreeSet::new(),
            given: BTreeMap::new(),
            aliases: BTreeMap::new(),
            until: BTreeMap::new(),
            buried: BTreeSet::new(),
            hands: BTreeMap::new(),
            deaf: Vec::new(),
            trace: Vec::new(),
            breaches: Vec::new(),
            tally: FleetTally { schedules: 1, ..FleetTally::default() },
        };
        Self { schedule, defect, store, start: Instant::now(), state: Mutex::new(state) }
    }

    /// Held for short stretches, never across a wait.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Milliseconds since the start.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What a clock shows that is off by so much.
    pub(crate) fn clock_ms(&self, skew_ms: i64) -> u64 {
        (EPOCH_MS + self.now_ms()).saturating_add_signed(skew_ms)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.now_ms() >= self.schedule.quiet_ms
    }

    /// How often the store fails by now.
    pub(crate) fn faults(&self) -> Faults {
        if self.is_quiet() { Faults::default() } else { self.schedule.faults }
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.lock().rng)
    }

    /// True so often of a thousand.
    pub(crate) fn chance(&self, of_thousand: u64) -> bool {
        of_thousand > 0 && self.lock().rng.below(1_000) < of_thousand
    }

    pub(crate) fn trace(&self, life: &Life, what: impl std::fmt::Display) {
        let mut line = format!("{:>7} {:<6} ", self.now_ms(), life.name);
        write!(line, "{what}").unwrap_or_default();
        self.lock().trace.push(line);
    }

    pub(crate) fn breach(&self, invariant: Invariant, what: impl Into<String>) {
        let what = format!("at {} ms: {}", self.now_ms(), what.into());
        let mut state = self.lock();
        if state.breaches.len() < MAX_BREACHES {
            state.breaches.push(Breach { invariant, what });
        }
    }

    pub(crate) fn job(&self, run: &RunId) -> Option<Arc<FleetJob>> {
        self.lock().jobs.get(run).cloned()
    }

    /// The run of that name, made where there is none.
    pub(crate) fn job_of(&self, run: &RunId, parent: Option<&RunId>) -> Arc<FleetJob> {
        let seed = self.schedule.seed;
        let mut state = self.lock();
        let make = || Arc::new(FleetJob::of(seed, run.clone(), parent.cloned()));
        Arc::clone(state.jobs.entry(run.clone()).or_insert_with(make))
    }

    /// Appends for somebody, and writes down what was appended.
    pub(crate) async fn append(
        &self,
        life: &Life,
        run: &RunId,
        expected: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        let digests: Vec<_> = batch.records.iter().map(|record| blob_digest(record)).collect();
        let entries: Vec<_> = batch.records.iter().map(|line| Record::parse(line)).collect();
        let len = self.store.append(run, expected, batch).await?;
        let names: Vec<_> = entries
            .iter()
            .map(|record| record.as_ref().map_or("unreadable", |record| record.entry.event.name()))
            .collect();
        self.trace(life, format_args!("{run} +{expected} {}", names.join(" ")));
        for (entry, digest) in entries.into_iter().zip(digests) {
            match entry {
                Ok(record) => self.appended(life, run, record.entry, digest),
                Err(fault) => self.breach(Invariant::ChainWhole, format!("{run}: {fault:?}")),
            }
        }
        Ok(len)
    }

    fn appended(&self, life: &Life, run: &RunId, entry: Entry, digest: Digest) {
        let mut state = self.lock();
        let state = &mut *state;
        let log = state.logs.entry(run.clone()).or_default();
        if let Event::LeaseTaken { epoch, interruptions, .. } = entry.event {
            state.tally.leases += 1;
            let before = log.leases.last();
            state.tally.taken_over += u64::from(before.is_some_and(|it| it.actor != life.actor));
            let known = log.interruptions();
            state.tally.interruptions += u64::from(interruptions.saturating_sub(known));
            log.leases.push(Held { epoch, actor: life.actor, at: Instant::now() });
        }
        log.entries.push(entry);
        log.digests.push(digest);
    }

    /// The lease that somebody holds or held of a run last, and whether there may be a later one than that
    /// of whoever asks: with two leases of one run in hand, a worker does not say which is at work.
    pub(crate) fn standing(&self, life: &Life, run: &RunId) -> (u64, bool) {
        let state = self.lock();
        let leases = state.logs.get(run).map(|log| log.leases.as_slice()).unwrap_or_default();
        let mine = leases.iter().rev().find(|held| held.actor == life.actor);
        let epoch = mine.map_or(0, |held| held.epoch);
        let hands = state.hands.get(&(life.actor, run.clone()));
        let is_mixed = hands.is_some_and(|(_, is_mixed)| *is_mixed);
        (epoch, is_mixed || leases.last().is_some_and(|last| last.actor != life.actor))
    }

    /// Something begins; it ends when the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>, life: &Arc<Life>, run: &RunId, what: What) -> Doing {
        let (epoch, is_stale) = self.standing(life, run);
        self.trace(life, format_args!("{run} {what:?}{}", if is_stale { " (stale)" } else { "" }));
        let mut state = self.lock();
        let state = &mut *state;
        match what {
            What::Ask { .. } => state.tally.dispatches += 1,
            What::Look { .. } => state.tally.checks_run += 1,
        }
        state.tally.stale_acts += u64::from(is_stale);
        let (run, actor, from) = (run.clone(), life.actor, Instant::now());
        state.acts.push(Act { run, actor, epoch, is_stale, what, from, to: None });
        let index = state.acts.len() - 1;
        Doing { truth: Arc::clone(self), index }
    }

    /// Whatever a process was doing has ended: it is dead.
    pub(crate) fn ends_all_of(&self, life: &Life) {
        let now = Instant::now();
        let mut state = self.lock();
        for act in state.acts.iter_mut().filter(|act| act.actor == life.actor) {
            act.to = act.to.or(Some(now));
        }
    }
}

impl State {
    /// Whether somebody did this before.
    pub(crate) fn again(&self, run: &RunId, what: &What) -> bool {
        self.acts.iter().any(|act| act.run == *run && act.what == *what && !act.is_stale)
    }
}

impl Log {
    pub(crate) fn interruptions(&self) -> u32 {
        let of = |entry: &Entry| match entry.event {
            Event::LeaseTaken { interruptions, .. } | Event::RunResumed { interruptions } => {
                Some(interruptions)
            }
            _ => None,
        };
        self.entries.iter().rev().find_map(of).unwrap_or_default()
    }

    pub(crate) fn is_sealed(&self) -> bool {
        matches!(self.entries.last(), Some(Entry { event: Event::Sealed { .. }, .. }))
    }

    /// From the last entry on back, without those that somebody wrote beside the run's own course.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Event> {
        let is_aside = |event: &&Event| {
            event.is_beside()
                || matches!(
                    event,
                    Event::RunResumed { .. } | Event::LeaseTaken { .. } | Event::RunReleased
                )
        };
        let events = self.entries.iter().rev().map(|entry| &entry.event);
        events.filter(move |event| !is_aside(event))
    }

    /// How many notes of a turn there are.
    pub(crate) fn notes(&self, of: u32) -> usize {
        let is_note = |entry: &&Entry| matches!(entry.event, Event::DelegateNoted { turn, .. } if turn.number == of);
        self.entries.iter().filter(is_note).count()
    }

    /// How many waits of a turn began.
    pub(crate) fn waits(&self, of: u32) -> usize {
        let is_wait = |entry: &&Entry| matches!(entry.event, Event::DelegateParked { turn, .. } if turn.number == of);
        self.entries.iter().filter(is_wait).count()
    }

    pub(crate) fn has_claim(&self, of: u32) -> bool {
        let is_it = |turn: &Turn| turn.number == of;
        self.entries.iter().any(|entry| match &entry.event {
            Event::ClaimReceived { turn, .. } | Event::DelegateFailed { turn, .. } => is_it(turn),
            _ => false,
        })
    }
}

/// Something that is being done.
pub(crate) struct Doing {
    truth: Arc<Truth>,
    index: usize,
}

impl Drop for Doing {
    fn drop(&mut self) {
        let now = Instant::now();
        if let Some(act) = self.truth.lock().acts.get_mut(self.index) {
            act.to = act.to.or(Some(now));
        }
    }
}
