//! A child on a worker: left for whoever is free, and waited for.

use std::sync::Arc;

use probity_chat::{ToolContext, ToolError, ToolOutput, ToolReply, Wait};
use probity_core::RunId;
use probity_engine::EngineError;
use probity_store::Pool;
use probity_worker::FleetError;
use serde_json::{Value, json};

use crate::agent::Inner;
use crate::agents::Crew;
use crate::delegate_tool::{failure, result};
use crate::ending;
use crate::error::AgentError;
use crate::lineage::Lineage;

/// One call that gives a task away.
pub(crate) struct Errand<'a> {
    pub(crate) crew: &'a Crew,
    pub(crate) ctx: &'a ToolContext,
    pub(crate) child: RunId,
}

impl Errand<'_> {
    /// Leaves the child for a worker, and waits for its end. To leave it twice is to leave it once.
    pub(crate) async fn send(
        self,
        member: &Arc<Inner>,
        task: Arc<str>,
        parent: Option<&Lineage>,
    ) -> Result<ToolReply, ToolError> {
        let pool = self.pool().await?;
        let Self { crew, child, .. } = self;
        let plan = member.plan_on(child.clone(), task, parent, crew);
        let plan = plan.map_err(|error| ToolError::Fatal { message: error.to_string() })?;
        match crew.fleet.submit(&plan, &pool, std::time::Duration::ZERO).await {
            // One that nobody will work on is told by the end that it came to.
            Ok(_) | Err(FleetError::Buried { .. }) => Ok(ToolReply::Park(Wait::Runs(vec![child]))),
            Err(FleetError::Engine(error @ EngineError::Exists { .. })) => {
                Err(ToolError::Fatal { message: error.to_string() })
            }
            Err(error) => Err(ToolError::Lost { message: error.to_string() }),
        }
    }

    /// The child has ended. What it came to is read from its log; of one that has none worth reading,
    /// the worker says how it is.
    pub(crate) async fn come_back(self, ends: &Value) -> Result<ToolReply, ToolError> {
        let run = self.child.as_str();
        let end = ends.as_array().and_then(|ends| {
            ends.iter().find(|end| end.get("run").and_then(Value::as_str) == Some(run))
        });
        let Some(end) = end else {
            // The wait was ended by somebody else than a worker.
            return Ok(ToolReply::Park(Wait::Runs(vec![self.child])));
        };
        let store = self.crew.store();
        match ending::read(self.crew.fleet.engine(), store.as_ref(), &self.child).await {
            Ok(Some(done)) => Ok(result(done)),
            Err(AgentError::NotDone(not_done)) => failure(*not_done),
            Ok(None) | Err(AgentError::Waits { .. }) => Ok(stuck(end)),
            Err(error) if ending::is_missing(&error) => Ok(stuck(end)),
            Err(error) if is_damage(&error) => Ok(stuck(end)),
            Err(error) => Err(ToolError::Lost { message: error.to_string() }),
        }
    }

    /// The pool that the parent is worked on in.
    async fn pool(&self) -> Result<Pool, ToolError> {
        let standing = self.crew.fleet.store().standing(&self.ctx.run).await;
        let standing = standing.map_err(|error| ToolError::Lost { message: error.to_string() })?;
        Ok(standing.map_or_else(Pool::default, |standing| standing.pool().clone()))
    }
}

/// A child that has no end of its own: a dead letter, or one that is not there.
fn stuck(end: &Value) -> ToolReply {
    let told = |key: &str| end.get(key).cloned().unwrap_or_default();
    let words = json!({
        "error": "not_finished",
        "outcome": told("outcome"),
        "code": told("code"),
        "run": told("run"),
    });
    ToolReply::Done(ToolOutput::error(words.to_string()))
}

/// Whether a log cannot be read, however often it is tried.
const fn is_damage(error: &AgentError) -> bool {
    matches!(
        error,
        AgentError::Engine(
            EngineError::Read(_)
                | EngineError::Replay(_)
                | EngineError::Resume(_)
                | EngineError::BlobMissing { .. }
                | EngineError::Content { .. }
        )
    )
}
