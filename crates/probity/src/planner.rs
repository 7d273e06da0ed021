//! Plans of recorded runs, for workers.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Code, Digest, RunId};
use probity_engine::{Engine, Plan};
use probity_worker::{PlanError, Planner};

use crate::location::Programs;
use crate::{PrepareError, Project, Request, prepare};

/// Prepares what a store's runs were opened with, on this machine and as this user. What the requests
/// say is done: whoever may write to the store decides what runs.
pub struct RecordedPlanner {
    engine: Engine,
    programs: Arc<Programs>,
}

impl RecordedPlanner {
    /// A planner of the runs that an engine reads.
    #[must_use]
    pub fn new(engine: Engine, programs: Programs) -> Self {
        let programs = Programs { are_of_worker: true, ..programs };
        Self { engine, programs: Arc::new(programs) }
    }

    /// Refuses a run that has not begun where the project is not the one that was trusted when the run
    /// was submitted. Once it has begun, its judge is sealed, and a difference is a verdict.
    async fn require_project(&self, run: &RunId, request: &Request) -> Result<(), PlanError> {
        let Some(trusted) = request.project else { return Ok(()) };
        let found = self.engine.find(run).await;
        let found = found.map_err(|error| later(error.code(), &error))?;
        if found.machine().baseline().is_some() {
            return Ok(());
        }
        let root = request.workspace.clone().unwrap_or_default();
        let found = tokio::task::spawn_blocking(move || digest_of(&root)).await;
        let found = found.map_err(|error| later("internal", &error))?;
        match found {
            Ok(Some(digest)) if digest == trusted => Ok(()),
            Ok(_) => Err(never(
                "project_differs",
                &"the project in the workspace is not the one that was trusted when the run was \
                  submitted; submit it again",
            )),
            Err(error) => Err(never(error.code(), &error)),
        }
    }
}

fn digest_of(root: &std::path::Path) -> Result<Option<Digest>, crate::ProjectError> {
    Ok(Project::find(root)?.map(|project| project.digest))
}

#[async_trait]
impl Planner for RecordedPlanner {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        let read: Request = serde_json::from_slice(&request)
            .map_err(|error| never("request_parse", &format!("the recorded request: {error}")))?;
        self.require_project(run, &read).await?;
        let (run, programs) = (run.clone(), Arc::clone(&self.programs));
        // Scripts are compiled and files read.
        let work = move || prepare(&read, run, &programs);
        let prepared = tokio::task::spawn_blocking(work).await;
        let prepared = prepared.map_err(|error| later("internal", &error))?;
        let mut plan = prepared.map_err(|error| refusal(&error))?.plan;
        plan.request = request;
        Ok(plan)
    }
}

/// A key that is not set may be on another worker, or on this one after a restart. Everything else says
/// the same however often it is asked, until somebody changes something and retries the dead letter.
pub(crate) fn refusal(error: &PrepareError) -> PlanError {
    match error {
        PrepareError::NoKey { .. } => later(error.code(), error),
        _ => never(error.code(), error),
    }
}

pub(crate) fn never(code: &str, message: &impl ToString) -> PlanError {
    PlanError::Never { code: Code::slug(code), message: message.to_string() }
}

fn later(code: &str, message: &impl ToString) -> PlanError {
    PlanError::Later { code: Code::slug(code), message: message.to_string() }
}
