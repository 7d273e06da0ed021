//! Agents by name, for workers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use probity_chat::OutagePolicy;
use probity_core::{Code, RunId};
use probity_engine::{EngineError, Plan, read_request};
use probity_store::Store;
use probity_worker::{Fleet, PlanError, Planner};

use crate::agent::{Agent, Inner};
use crate::lineage::{Lineage, MAX_DEPTH};
use crate::request::RunRequest;

/// Agents by their names: what a worker that drives their runs knows.
///
/// A run is planned from what it was opened with. One of an agent that is not here, or that is not the
/// same any more, is refused for good; its log stays, and it goes on once the agent is back.
///
/// Agents that these delegate to ([`crate::DelegateTool`]) must be here, too: on a worker each child is
/// a job of its own, and whoever is free takes it.
pub struct Agents {
    crew: Crew,
    agents: HashMap<String, Arc<Inner>>,
}

/// What a run on a worker has beside what it has elsewhere. Tools find it among the shared values of
/// their context.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) fleet: Fleet,
    pub(crate) outage: OutagePolicy,
}

impl Crew {
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.fleet.store()) as Arc<dyn Store>
    }
}

impl Agents {
    /// No agents yet, on the store of this control plane: the one that the worker is on.
    #[must_use]
    pub fn new(fleet: Fleet) -> Self {
        let crew = Crew { fleet, outage: OutagePolicy::of_workers() };
        Self { crew, agents: HashMap::new() }
    }

    /// Adds an agent, under its name; one that has the name is replaced. Its runs are recorded in the
    /// store of the worker, whatever store it was built with.
    #[must_use]
    pub fn with<R>(mut self, agent: &Agent<R>) -> Self {
        self.agents.insert(agent.name().to_owned(), Arc::clone(agent.inner()));
        self
    }

    /// When runs wait for a model's provider that is out of reach: [`OutagePolicy::of_workers`] where
    /// nothing is said. An agent that was built with its own policy keeps it.
    #[must_use]
    pub const fn outage(mut self, policy: OutagePolicy) -> Self {
        self.crew.outage = policy;
        self
    }

    fn agent(&self, run: &RunId, request: &RunRequest) -> Result<&Arc<Inner>, PlanError> {
        self.agents.get(&request.agent).ok_or_else(|| {
            let mut names: Vec<&str> = self.agents.keys().map(String::as_str).collect();
            names.sort_unstable();
            let message = format!(
                "run `{run}` is one of the agent `{}`; this worker knows: {}",
                request.agent,
                names.join(", ")
            );
            PlanError::Never { code: Code::slug("agent_unknown"), message }
        })
    }

    /// Where the run above stands: as it was when it opened the run below.
    async fn above(&self, run: &RunId) -> Result<Lineage, PlanError> {
        let store = self.crew.store();
        let mut family = Vec::new();
        let mut next = Some(run.clone());
        while let Some(run) = next {
            if family.len() > MAX_DEPTH as usize {
                let message = format!("run `{run}` has more than {MAX_DEPTH} runs above it");
                return Err(PlanError::Never { code: Code::slug("agent_unknown"), message });
            }
            let request = read_request(store.as_ref(), &run).await;
            let request = request.map_err(|error| unread(&run, &error))?;
            let request = parsed(&run, &request)?;
            next = request.parent_id.clone();
            family.push((run, request));
        }
        let mut above: Option<Lineage> = None;
        for (run, request) in family.into_iter().rev() {
            above = Some(self.agent(&run, &request)?.lineage(run, above.as_ref()));
        }
        above.ok_or_else(|| unread(run, &EngineError::Missing { run: run.clone() }))
    }
}

#[async_trait]
impl Planner for Agents {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        let recorded = parsed(run, &request)?;
        let agent = self.agent(run, &recorded)?;
        let above = match &recorded.parent_id {
            Some(parent) => Some(self.above(parent).await?),
            None => None,
        };
        let task = recorded.task.as_str().into();
        let plan = agent.plan_on(run.clone(), task, above.as_ref(), &self.crew);
        let plan = plan.map_err(|error| differs(run, &recorded, &error.to_string()))?;
        if plan.request == request {
            return Ok(plan);
        }
        let now = parsed(run, &plan.request)?;
        Err(differs(run, &recorded, &recorded.differences(&now).join(", ")))
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("agents", &self.agents.len()).finish_non_exhaustive()
    }
}

fn parsed(run: &RunId, request: &[u8]) -> Result<RunRequest, PlanError> {
    serde_json::from_slice(request).map_err(|error| {
        let message = format!("run `{run}` was not opened by an agent: {error}");
        PlanError::Never { code: Code::slug("agent_unknown"), message }
    })
}

fn unread(run: &RunId, error: &EngineError) -> PlanError {
    let message = format!("the run `{run}` above it cannot be read: {error}");
    match error {
        EngineError::Missing { .. } => {
            PlanError::Never { code: Code::slug("agent_unknown"), message }
        }
        error => PlanError::Later { code: Code::slug(error.code()), message },
    }
}

fn differs(run: &RunId, recorded: &RunRequest, what: &str) -> PlanError {
    let message = format!(
        "run `{run}` was opened with another agent `{}`: what differs is {what}; bring back the \
         agent that it was opened with",
        recorded.agent
    );
    PlanError::Never { code: Code::slug("agent_differs"), message }
}
