//! What the host needs of whatever drives workflow runs.

use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{
    Begun, ConductError, Conductor, DefineError, DefinitionDiffers, Follower, Fork, ModelAnswer,
    Page,
};
use probity_core::RunId;
use probity_store::{Cursor, WorkStore};
use probity_workflow::{Definition, Entry, Input, Snapshot, Start};
use tokio::sync::broadcast;

use crate::error::{Failure, Reason};

/// Drives workflow runs. Everything that it acknowledges survives it.
#[async_trait]
pub trait Runs: Send + Sync + 'static {
    /// The definition of that name.
    fn definition(&self, id: &str) -> Option<Arc<Definition>>;

    /// Takes a definition in. The same one again changes nothing.
    ///
    /// # Errors
    /// Another one has that name and version.
    fn define(&self, definition: Definition) -> Result<Arc<Definition>, DefinitionDiffers>;

    /// The definition of that name that a tenant may begin runs of: everybody's, else its own.
    ///
    /// # Errors
    /// The store does not say.
    async fn definition_of(
        &self,
        _tenant: &str,
        id: &str,
    ) -> Result<Option<Arc<Definition>>, ConductError> {
        Ok(self.definition(id))
    }

    /// Takes a definition in that is one tenant's alone. The same one again changes nothing.
    ///
    /// # Errors
    /// The name is taken, the tenant has as many as may be, or the store fails.
    async fn define_for(
        &self,
        _tenant: &str,
        definition: Definition,
    ) -> Result<Arc<Definition>, DefineError> {
        Ok(self.define(definition)?)
    }

    /// Where what is registered is kept, if it is to outlive the host.
    fn store(&self) -> Option<Arc<dyn WorkStore>> {
        None
    }

    /// Begins a run, and drives it from then on. One that was begun with the same is left as it is.
    ///
    /// # Errors
    /// It does not fit its definition, or could not be recorded.
    async fn begin(&self, run: &RunId, start: Start) -> Result<Begun, ConductError>;

    /// Hands an input in: an answer, a cancellation, a pause, its end.
    ///
    /// # Errors
    /// There is no such run, or it refuses the input.
    async fn tell(&self, run: &RunId, input: Input) -> Result<Snapshot, ConductError>;

    /// Where a run is.
    ///
    /// # Errors
    /// The store does not say.
    async fn snapshot(&self, run: &RunId) -> Result<Option<Snapshot>, ConductError>;

    /// What a run began with.
    ///
    /// # Errors
    /// The store does not say.
    async fn start(&self, run: &RunId) -> Result<Option<Start>, ConductError>;

    /// Events of a run in order, from a place on; at most `max`.
    ///
    /// # Errors
    /// The store does not say.
    async fn entries(
        &self,
        run: &RunId,
        from_sequence: u64,
        max: usize,
    ) -> Result<Option<Page>, ConductError>;

    /// Events of a run from a place on, as they happen.
    ///
    /// # Errors
    /// The store does not say.
    async fn follow(
        &self,
        run: &RunId,
        from_sequence: u64,
    ) -> Result<Option<Box<dyn Follow>>, ConductError>;

    /// Begins a run with what happened in another one.
    ///
    /// # Errors
    /// There is no such run, or nothing to begin with at that place.
    async fn fork(&self, source: &RunId, run: &RunId, fork: Fork) -> Result<Begun, ConductError>;

    /// Names of runs, newest first, from behind a place on; each with its place.
    ///
    /// # Errors
    /// The store does not say.
    async fn list(&self, after: Option<u64>, max: usize)
    -> Result<Vec<(RunId, u64)>, ConductError>;

    /// Has the model of a node say these, one after the other: for conformance. False where that is not to
    /// be had, which is the rule.
    fn program(&self, node: &str, answers: Vec<ModelAnswer>) -> bool {
        let _ = (node, answers);
        false
    }

    /// Every event from now on, of every run. Who falls behind is told how many it lost.
    fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)>;
}

/// Tells the events of one run.
#[async_trait]
pub trait Follow: Send {
    /// The next one, once there is one; `None` behind the last. Dropping the call loses nothing.
    ///
    /// # Errors
    /// The store does not say. Asking again is safe.
    async fn next(&mut self) -> Result<Option<Arc<Entry>>, ConductError>;
}

/// The conductor of a store, with the store's list of runs.
#[derive(Clone)]
pub struct Conducted {
    conductor: Conductor,
    store: Arc<dyn WorkStore>,
}

impl Conducted {
    /// A conductor with the store that it is on.
    #[must_use]
    pub fn new(conductor: Conductor, store: Arc<dyn WorkStore>) -> Self {
        Self { conductor, store }
    }
}

#[async_trait]
impl Runs for Conducted {
    fn definition(&self, id: &str) -> Option<Arc<Definition>> {
        self.conductor.definitions().get(id)
    }

    fn define(&self, definition: Definition) -> Result<Arc<Definition>, DefinitionDiffers> {
        self.conductor.definitions().add(definition)
    }

    async fn definition_of(
        &self,
        tenant: &str,
        id: &str,
    ) -> Result<Option<Arc<Definition>>, ConductError> {
        self.conductor.definition(tenant, id).await
    }

    async fn define_for(
        &self,
        tenant: &str,
        definition: Definition,
    ) -> Result<Arc<Definition>, DefineError> {
        self.conductor.define(tenant, definition).await
    }

    fn store(&self) -> Option<Arc<dyn WorkStore>> {
        Some(Arc::clone(&self.store))
    }

    async fn begin(&self, run: &RunId, start: Start) -> Result<Begun, ConductError> {
        self.conductor.begin(run.clone(), start).await
    }

    async fn tell(&self, run: &RunId, input: Input) -> Result<Snapshot, ConductError> {
        self.conductor.tell(run, input).await
    }

    async fn snapshot(&self, run: &RunId) -> Result<Option<Snapshot>, ConductError> {
        self.conductor.snapshot(run).await
    }

    async fn start(&self, run: &RunId) -> Result<Option<Start>, ConductError> {
        self.conductor.start(run).await
    }

    async fn entries(
        &self,
        run: &RunId,
        from_sequence: u64,
        max: usize,
    ) -> Result<Option<Page>, ConductError> {
        self.conductor.entries(run, from_sequence, max).await
    }

    async fn follow(
        &self,
        run: &RunId,
        from_sequence: u64,
    ) -> Result<Option<Box<dyn Follow>>, ConductError> {
        let follower = self.conductor.follow(run, from_sequence).await?;
        Ok(follower.map(|follower| -> Box<dyn Follow> { Box::new(follower) }))
    }

    async fn fork(&self, source: &RunId, run: &RunId, fork: Fork) -> Result<Begun, ConductError> {
        self.conductor.fork(source, run.clone(), fork).await
    }

    async fn list(
        &self,
        after: Option<u64>,
        max: usize,
    ) -> Result<Vec<(RunId, u64)>, ConductError> {
        let page = self.store.list(after.map(Cursor), max).await?;
        Ok(page.into_iter().map(|summary| (summary.run, summary.cursor.0)).collect())
    }

    fn program(&self, node: &str, answers: Vec<ModelAnswer>) -> bool {
        self.conductor.models().program(node, answers)
    }

    fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)> {
        self.conductor.subscribe()
    }
}

#[async_trait]
impl Follow for Follower {
    async fn next(&mut self) -> Result<Option<Arc<Entry>>, ConductError> {
        Self::next(self).await
    }
}

/// What a caller is told of it. What a store says of itself is not the caller's business.
impl From<ConductError> for Failure {
    fn from(error: ConductError) -> Self {
        use probity_workflow::Refusal;
        let message = error.to_string();
        match error {
            ConductError::Open(_) | ConductError::Unrecordable { .. } => {
                Self::new(Reason::Validation, message)
            }
            ConductError::Exists { .. } => Self::new(Reason::RunAlreadyActive, message),
            ConductError::Missing { .. } => Self::new(Reason::NotFound, message),
            ConductError::Refused(refusal) => match refusal {
                Refusal::Ended => Self::new(Reason::RunTerminal, message),
                Refusal::Begun => Self::new(Reason::RunAlreadyActive, message),
                Refusal::NodeUnknown { .. } => Self::new(Reason::NotFound, message),
                Refusal::NotWaiting { .. } => Self::new(Reason::NotWaiting, message),
                Refusal::Answer { .. } => Self::new(Reason::Validation, message),
                Refusal::Superseded { .. } => Self::new(Reason::InterruptExpired, message),
                Refusal::NotApprover { .. } => Self::new(Reason::Forbidden, message),
                Refusal::Paused => Self::new(Reason::RunPaused, message),
                Refusal::NotPaused => Self::new(Reason::RunNotPaused, message),
                _ => Self::new(Reason::Internal, "the run does not take that"),
            },
            ConductError::Fork(error) => match error.code() {
                "fork_replay_overlay" => Self::new(Reason::Validation, message),
                _ => Self::new(Reason::ForkPointInvalid, message),
            },
            ConductError::Busy { .. } | ConductError::Stopping | ConductError::Overtaken { .. } => {
                Self::new(Reason::Unavailable, message)
            }
            ConductError::Append(_) | ConductError::Store(_) | ConductError::Blob(_) => {
                Self::new(Reason::Unavailable, "the store cannot be asked now: come again later")
            }
            _ => Self::new(Reason::Internal, "the run cannot be used: see the log of the host"),
        }
    }
}

impl From<DefineError> for Failure {
    fn from(error: DefineError) -> Self {
        let message = error.to_string();
        match error {
            DefineError::Full { max, max_bytes } => Self::new(Reason::LimitReached, message)
                .detail("max", max)
                .detail("maxBytes", max_bytes),
            DefineError::Conduct(error) => error.into(),
            _ => Self::new(Reason::RunAlreadyActive, message),
        }
    }
}
