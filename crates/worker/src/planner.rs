//! From a recorded run back to what drives it.

use async_trait::async_trait;
use probity_core::{Code, RunId};
use probity_engine::Plan;

/// Makes plans of recorded runs.
#[async_trait]
pub trait Planner: Send + Sync {
    /// Makes the plan of a recorded run again, from the request it was opened with.
    ///
    /// # Errors
    /// [`PlanError`] says whether trying again can help.
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError>;
}

/// There is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There never will be one: the run becomes a dead letter at once.
    #[error("the run cannot be planned: {message}")]
    Never {
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
    /// There may be one later: the run is tried again, as after a failure of the store.
    #[error("the run cannot be planned now: {message}")]
    Later {
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
}

impl PlanError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &Code {
        match self {
            Self::Never { code, .. } | Self::Later { code, .. } => code,
        }
    }
}
