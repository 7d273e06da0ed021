//! The face of the conductor.

use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_engine::Clock;
use probity_store::WorkStore;
use probity_workflow::{Entry, Input, Snapshot, Start};
use tokio::sync::broadcast;

use crate::{ConductError, ConductorOptions, Definitions, Delegations, Follower, Fork};

/// Drives workflow runs. Clones share everything; runs are driven until the last one is dropped.
#[derive(Clone)]
pub struct Conductor {
    definitions: Arc<Definitions>,
    told: broadcast::Sender<(RunId, Arc<Entry>)>,
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
        let _ = (store, clock, delegations);
        let (told, _) = broadcast::channel(options.subscriber_entries.max(1));
        Self { definitions: Arc::default(), told }
    }

    /// The definitions that runs may be begun of.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Begins a run and drives it. Beginning it again with the same changes nothing.
    ///
    /// # Errors
    /// [`ConductError::Open`], [`ConductError::Exists`], [`ConductError::Busy`]; others if the store
    /// fails: begin it again or not.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn begin(&self, run: RunId, start: Start) -> Result<Begun, ConductError> {
        let _ = (run, start);
        Err(ConductError::Stopping)
    }

    /// Answers a run, or has it cancelled, paused or resumed. What comes of it is in the log.
    ///
    /// # Errors
    /// [`ConductError::Refused`], [`ConductError::Missing`]; others if the store fails.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn tell(&self, run: &RunId, input: Input) -> Result<Snapshot, ConductError> {
        let _ = (run, input);
        Err(ConductError::Stopping)
    }

    /// Where a run is; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn snapshot(&self, run: &RunId) -> Result<Option<Snapshot>, ConductError> {
        let _ = run;
        Err(ConductError::Stopping)
    }

    /// What a run began with; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn start(&self, run: &RunId) -> Result<Option<Start>, ConductError> {
        let _ = run;
        Err(ConductError::Stopping)
    }

    /// Events of a run from `from_sequence` on, at most `max`; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn entries(
        &self,
        run: &RunId,
        from_sequence: u64,
        max: usize,
    ) -> Result<Option<Page>, ConductError> {
        let _ = (run, from_sequence, max);
        Err(ConductError::Stopping)
    }

    /// Follows a run from `from_sequence` on; `None` if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn follow(
        &self,
        run: &RunId,
        from_sequence: u64,
    ) -> Result<Option<Follower>, ConductError> {
        let _ = (run, from_sequence);
        Err(ConductError::Stopping)
    }

    /// Begins `run` as a fork of `source`, and drives it where it is a branch.
    ///
    /// # Errors
    /// [`ConductError::Fork`], [`ConductError::Missing`]; others as [`Self::begin`].
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn fork(
        &self,
        source: &RunId,
        run: RunId,
        fork: Fork,
    ) -> Result<Begun, ConductError> {
        let _ = (source, run, fork);
        Err(ConductError::Stopping)
    }

    /// The runs that a run began, in the order in which it did; empty if there is no such workflow run.
    ///
    /// # Errors
    /// Its log cannot be read.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn children(&self, run: &RunId) -> Result<Vec<RunId>, ConductError> {
        let _ = run;
        Err(ConductError::Stopping)
    }

    /// Drives every workflow run of the store that has not ended. May be asked for again.
    ///
    /// # Errors
    /// The store cannot be listed.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn recover(&self) -> Result<Recovered, ConductError> {
        Err(ConductError::Stopping)
    }

    /// Every event that this conductor puts into a log from now on. A receiver that is behind by more
    /// than [`ConductorOptions::subscriber_entries`] is told how many it missed.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)> {
        self.told.subscribe()
    }

    /// Lets go of every run between two of its steps, and begins nothing more. False if the time was
    /// too short; nothing is lost then either.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn drain(&self, timeout: Duration) -> bool {
        let _ = timeout;
        true
    }
}
