//! Runs that are left for workers.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_store::{Pool, Standing, Store};
use probity_worker::{Fleet, FleetError};
use serde::de::DeserializeOwned;

use crate::agent::{Agent, fresh_run, typed};
use crate::agents::Crew;
use crate::done::Done;
use crate::ending;
use crate::error::AgentError;

/// How long the log is waited on before the queue is asked whether anybody will go on with it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a run that is left for workers may be given beside its task.
#[derive(Debug, Clone, Default)]
pub struct SubmitOptions {
    /// Its name, unique in the store; absent draws one. Submitting the same again under the same name
    /// changes nothing.
    pub run: Option<RunId>,
    /// Which workers may take it.
    pub pool: Pool,
    /// How long it is left alone.
    pub delay: Duration,
}

/// A run that was left for workers.
pub struct Submitted<R> {
    run: RunId,
    is_new: bool,
    fleet: Fleet,
    result: PhantomData<fn() -> R>,
}

impl<R: DeserializeOwned> Agent<R> {
    /// Leaves a task for a worker: any process with this agent among its [`crate::Agents`] may take it
    /// up, and another goes on where that one stops.
    ///
    /// # Errors
    /// [`AgentError::Fleet`] if it cannot be recorded or enqueued, or there is a run of that name with
    /// another task or agent.
    pub async fn submit(
        &self,
        fleet: &Fleet,
        task: impl Into<Arc<str>>,
        options: SubmitOptions,
    ) -> Result<Submitted<R>, AgentError> {
        let SubmitOptions { run, pool, delay } = options;
        let run = run.unwrap_or_else(fresh_run);
        let crew = Crew { fleet: fleet.clone(), outage: probity_chat::OutagePolicy::default() };
        let plan = self.inner().plan_on(run.clone(), task.into(), None, &crew)?;
        let posted = fleet.submit(&plan, &pool, delay).await?;
        Ok(Submitted { is_new: posted.is_new, ..Submitted::at(fleet.clone(), run) })
    }

    /// What a run of this agent came to, whoever drove it; `None` while it goes on.
    ///
    /// # Errors
    /// [`AgentError::NotDone`] if it ended without a result; [`AgentError::Waits`] if it waits for
    /// somebody; [`AgentError::Engine`] if there is no such run in the agent's store, or its log is
    /// damaged.
    pub async fn result(&self, run: &RunId) -> Result<Option<Done<R>>, AgentError> {
        let (engine, store) = (self.inner().engine(), &self.inner().store);
        ending::read(&engine, store.as_ref(), run).await?.map(typed).transpose()
    }
}

impl<R: DeserializeOwned> Submitted<R> {
    /// A run that somebody submitted, in whatever process.
    #[must_use]
    pub fn at(fleet: Fleet, run: RunId) -> Self {
        Self { run, is_new: false, fleet, result: PhantomData }
    }

    /// Its name.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// Whether it was opened just now.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Waits until the run has ended, by following its log. A run that waits for somebody is waited
    /// for, too: bound it with a timeout, and dropping the future changes nothing.
    ///
    /// # Errors
    /// [`AgentError::NotDone`] if it ended without a result; [`AgentError::Buried`] if it is a dead
    /// letter; others if the store fails.
    pub async fn wait(&self) -> Result<Done<R>, AgentError> {
        let store: Arc<dyn Store> = Arc::clone(self.fleet.store()) as Arc<dyn Store>;
        let mut len = 0;
        loop {
            let seen = store.wait_beyond(&self.run, len, LOOK_EVERY).await;
            let seen = seen.map_err(probity_engine::EngineError::from)?;
            if seen.sealed
                && let Some(done) =
                    Box::pin(ending::read(self.fleet.engine(), store.as_ref(), &self.run)).await?
            {
                return typed(done);
            }
            // Nothing was added for a while.
            if seen.len <= len
                && let Some(Standing::Dead { cause, .. }) =
                    self.fleet.store().standing(&self.run).await.map_err(FleetError::from)?
            {
                let (code, message) = (cause.code, cause.message);
                return Err(AgentError::Buried { run: self.run.clone(), code, message });
            }
            len = seen.len;
        }
    }
}

impl<R> fmt::Debug for Submitted<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted").field("run", &self.run).finish_non_exhaustive()
    }
}
