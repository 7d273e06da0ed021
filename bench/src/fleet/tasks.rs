//! Tasks of one agent: submitted by one process, planned again by those that work on them.

use std::sync::Arc;

use probity::core::RunId;
use probity::worker::{Fleet, Planner};
use probity_agent::{Agent, Agents, SubmitOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::wrong;
use crate::error::BenchError;

/// The task, as the peer has it.
pub(crate) const TASK: &str = "write hello to out.txt";
/// Who the model is to be, as the peer has it.
pub(crate) const INSTRUCTIONS: &str = "You write files.";

/// A declared output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    pub(crate) summary: String,
    pub(crate) score: u32,
}

/// An agent, with a declared output or without.
pub(crate) enum Tasks {
    Text(Agent<String>),
    Typed(Agent<Answer>),
}

impl Tasks {
    /// Leaves a run for a worker.
    pub(crate) async fn submit(&self, fleet: &Fleet, run: RunId) -> Result<(), BenchError> {
        let options = SubmitOptions { run: Some(run), ..SubmitOptions::default() };
        match self {
            Self::Text(agent) => agent.submit(fleet, TASK, options).await.map(|_| ()),
            Self::Typed(agent) => agent.submit(fleet, TASK, options).await.map(|_| ()),
        }
        .map_err(wrong)
    }

    /// Who plans them for a worker.
    pub(crate) fn planner(&self, fleet: Fleet) -> Arc<dyn Planner> {
        let agents = Agents::new(fleet);
        Arc::new(match self {
            Self::Text(agent) => agents.with(agent),
            Self::Typed(agent) => agents.with(agent),
        })
    }
}
