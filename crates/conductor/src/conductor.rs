//! The face of the conductor.

use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_engine::Clock;
use probity_store::WorkStore;
use probity_workflow::{Definition, Entry, Event, Input, Refusal, Snapshot, Start};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::house::{House, Message};
use crate::tale::Tale;
use crate::{
    ConductError, ConductorOptions, DefineError, Definitions, Delegations, Follower, Fork, recover,
};

/// Drives workflow runs. Clones share everything; runs are driven until the last one is dropped.
#[derive(Clone)]
pub struct Conductor {
    house: Arc<House>,
    _life: Arc<Life>,
}

/// The drivers hold the house; the clones of the conductor hold this.
struct Life {
    gone: CancellationToken,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// Where it is.
    pub snapshot: Snapshot,
    /// Whether it began now. Otherwise there was one that began with the same.
    pub is_new: bool,
}

/// Some events of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The events, in order.
    pub entries: Vec<Arc<Entry>>,
    /// Whether the run has ended and nothing comes behind them.
    pub is_complete: bool,
}

/// What was found in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Workflow runs that are driven on.
    pub driven: usize,
    /// Workflow runs that could not be read, and why, in one word.
    pub damaged: Vec<(RunId, &'static str)>,
    /// Whether there are more than may be driven.
    pub has_more: bool,
}

impl Conductor {
    /// A conductor on a store. Nothing is driven yet: see [`Self::recover`].
    #[must_use]
    pub fn new(
        store: Arc<dyn WorkStore>,
        clock: Arc<dyn Clock>,
        delegations: Arc<dyn Delegations>,
        options: ConductorOptions,
    ) -> Self {
        let house = Arc::new(House::new(store, clock, delegations, options));
        let _life = Arc::new(Life { gone: house.gone.clone() });
        Self { house, _life }
    }

    /// The definitions that runs may be begun of.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.house.definitions
    }

    /// The models that say what they were told to: for conformance.
    #[must_use]
    pub fn models(&self) -> &crate::Models {
        &self.house.models
    }

    /// The definition of that name that a tenant may begin runs of: everybody's, else its own.
    ///
    /// # Errors
    /// What the store keeps of the tenant's cannot be read.
    pub async fn definition(
        &self,
        tenant: &str,
        id: &str,
    ) -> Result<Option<Arc<Definition>>, ConductError> {
        self.house.shelves.get(&self.house.definitions, tenant, id).await
    }

    /// Registers a definition that is one tenant's alone. The store keeps it for every conductor on it,
    /// unless its name begins with `conformance-`. The same one again changes nothing.
    ///
    /// # Errors
    /// [`DefineError`]; nothing is registered then.
    pub async fn define(
        &self,
        tenant: &str,
        definition: Definition,
    ) -> Result<Arc<Definition>, DefineError> {
        self.house.shelves.add(&self.house.definitions, tenant, definition).await
    }

    /// Begins a run and drives it. Beginning it again with the same changes nothing.
    ///
    /// # Errors
    /// [`ConductError::Open`], [`ConductError::Exists`], [`ConductError::Busy`]; others if the store
    /// fails: begin it again or not.
    pub async fn begin(&self, run: RunId, start: Start) -> Result<Begun, ConductError> {
        self.house.begin(run, start).await
    }

    /// Answers a run, or has it cancelled, paused or resumed. What comes of it is in the log.
    ///
    /// # Errors
    /// [`ConductError::Refused`], [`ConductError::Missing`]; others if the store fails.
    pub async fn tell(&self, run: &RunId, input: Input) -> Result<Snapshot, ConductError> {
        let may = matches!(
            input,
            Input::Resolve { .. }
                | Input::Cancel { .. }
                | Input::Pause { .. }
                | Input::Resume { .. }
        );
        if !may {
            return Err(ConductError::NotForTelling);
        }
        if !self.house.is_live(run) {
            // Nobody is set to work on what is not there, or at its end.
            let state = self.house.store.state(run).await?;
            match state {
                None => return Err(ConductError::Missing { run: run.clone() }),
                Some(state) if state.sealed && self.start(run).await?.is_some() => {
                    return Err(Refusal::Ended.into());
                }
                Some(_) => {}
            }
        }
        let tell = |reply| Message::Tell(Box::new(input.clone()), reply);
        self.house.ask(run, tell).await
    }

    /// Where a run is; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub async fn snapshot(&self, run: &RunId) -> Result<Option<Snapshot>, ConductError> {
        if self.house.is_live(run) {
            match self.house.ask(run, Message::Look).await {
                // Nobody drives it any more: its log says where it is.
                Err(ConductError::Stopping | ConductError::Overtaken { .. }) => {}
                Err(ConductError::Missing { .. }) => return Ok(None),
                looked => return looked.map(Some),
            }
        }
        let tale = Tale::find(&self.house.store, run).await?;
        Ok(tale.map(|tale| tale.machine.snapshot()))
    }

    /// What a run began with; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub async fn start(&self, run: &RunId) -> Result<Option<Start>, ConductError> {
        self.house.start_of(run).await
    }

    /// Events of a run from `from_sequence` on, at most `max`; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub async fn entries(
        &self,
        run: &RunId,
        from_sequence: u64,
        max: usize,
    ) -> Result<Option<Page>, ConductError> {
        let Some(mut read) = self.follow(run, from_sequence).await? else { return Ok(None) };
        while read.read_so_far().0 <= max && read.read_chunk().await? {}
        let (entries, is_over) = read.into_read();
        let is_complete = is_over && entries.len() <= max;
        Ok(Some(Page { entries: entries.into_iter().take(max).collect(), is_complete }))
    }

    /// Follows a run from `from_sequence` on; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub async fn follow(
        &self,
        run: &RunId,
        from_sequence: u64,
    ) -> Result<Option<Follower>, ConductError> {
        let is_there = self.house.is_live(run) || self.start(run).await?.is_some();
        let follow = || Follower::new(Arc::clone(&self.house), run.clone(), from_sequence);
        Ok(is_there.then(follow))
    }

    /// Begins `run` as a fork of `source`, and drives it where it is a branch.
    ///
    /// # Errors
    /// [`ConductError::Fork`], [`ConductError::Missing`]; others as [`Self::begin`].
    pub async fn fork(
        &self,
        source: &RunId,
        run: RunId,
        fork: Fork,
    ) -> Result<Begun, ConductError> {
        crate::fork::fork(&self.house, source, run, fork).await
    }

    /// The runs that a run began, in the order in which it did; empty if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub async fn children(&self, run: &RunId) -> Result<Vec<RunId>, ConductError> {
        let Some(mut read) = self.follow(run, 0).await? else { return Ok(Vec::new()) };
        while read.read_chunk().await? {}
        let (entries, _) = read.into_read();
        let begun = entries.iter().filter_map(|entry| match &entry.event {
            Event::NodeDispatched { child, .. } => Some(child.clone()),
            _ => None,
        });
        Ok(begun.collect())
    }

    /// Drives every workflow run of the store that has not ended. Asking for it again, from time to time,
    /// takes up what was let go while the store failed. The first time, the newest runs that failed or were
    /// cancelled have stopped again what they had begun.
    ///
    /// # Errors
    /// The store cannot be listed.
    pub async fn recover(&self) -> Result<Recovered, ConductError> {
        recover::recover(&self.house).await
    }

    /// Every event that this conductor puts into a log from now on. A receiver that is behind by more
    /// than [`ConductorOptions::subscriber_entries`] is told how many it missed.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)> {
        self.house.told.subscribe()
    }

    /// Runs that are driven here.
    #[must_use]
    pub fn live_runs(&self) -> usize {
        self.house.live_runs()
    }

    /// Lets go of every run between two of its steps, and begins nothing more. False if the time was
    /// too short; nothing is lost then either.
    pub async fn drain(&self, timeout: Duration) -> bool {
        self.house.draining.cancel();
        self.house.tasks.close();
        tokio::time::timeout(timeout, self.house.tasks.wait()).await.is_ok()
    }
}
