//! Why an agent cannot be built, and why a run gave no result.

use probity_chat::{OutputSchemaError, ToolboxError};
use probity_core::{Code, PolicyError, RunId};
use probity_engine::EngineError;
use probity_worker::FleetError;

use crate::done::NotDone;

/// An agent cannot be built as described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no model.
    #[error("the agent has no model; give it one with `.model(…)`")]
    NoModel,
    /// A tool.
    #[error(transparent)]
    Tool(#[from] ToolboxError),
    /// The declared output.
    #[error(transparent)]
    Output(#[from] OutputSchemaError),
    /// A bound.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The verifier asks for something that the agent does not have.
    #[error("the verifier cannot be called: {what}")]
    Requirement {
        /// What is missing, and what to do.
        what: String,
    },
}

impl BuildError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoModel => "agent_no_model",
            Self::Tool(error) => error.code(),
            Self::Output(error) => error.code(),
            Self::Policy(_) => "policy_bound",
            Self::Requirement { .. } => "agent_requirement",
        }
    }
}

/// A run gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// It ended without one. The value says how, why, and with what in hand.
    #[error("{0}")]
    NotDone(Box<NotDone>),
    /// It waits: for a named human, or for the answer that a tool asked for.
    #[error("run `{run}` waits ({code}); answer it and it goes on")]
    Waits {
        /// The run.
        run: RunId,
        /// What for, in one word.
        code: Code,
        /// The wait, by the name that an answer to it must carry; empty where a human is asked.
        about: String,
        /// What is asked; empty where the asker gave no words.
        question: String,
    },
    /// The recorded result is not of the type that this agent's verifier returns.
    #[error("the result of run `{run}` is not of the declared type: {detail}")]
    Result {
        /// The run.
        run: RunId,
        /// What does not fit.
        detail: String,
    },
    /// The run could not be driven on. What is recorded stays valid: resume it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The run could not be left for a worker.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// No worker goes on with the run.
    #[error("run `{run}` is a dead letter ({code}): {message}; revive it once that is mended")]
    Buried {
        /// The run.
        run: RunId,
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
    /// The task that drove the run panicked or was aborted. What is recorded stays valid: resume it.
    #[error("the task that drove run `{run}` ended before the run did; resume the run")]
    Aborted {
        /// The run.
        run: RunId,
    },
}

impl AgentError {
    /// The stable machine word.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::NotDone(not_done) => not_done.code.as_str(),
            Self::Waits { code, .. } => code.as_str(),
            Self::Result { .. } => "agent_result",
            Self::Engine(error) => error.code(),
            Self::Fleet(error) => error.code(),
            Self::Buried { .. } => "run_buried",
            Self::Aborted { .. } => "agent_aborted",
        }
    }
}
