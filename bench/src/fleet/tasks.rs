//! Tasks of one agent: submitted by one process, planned again by those that work on them.

use std::sync::Arc;

use async_trait::async_trait;
use probity::core::{CheckDecl, Code, Counting, Policy, RunId, Subject};
use probity::engine::{Check, Clock as _, Correction, Plan, SystemClock};
use probity::verifier::{NoFacts, Verifier, Workspace};
use probity::worker::{PlanError, Planner};
use probity_agent::chat::{ChatConfig, ChatDelegate, Model, OutputSchema, Tool, Toolbox};
use serde_json::json;

use super::wrong;
use crate::error::BenchError;

/// The task, as the peer has it.
const TASK: &str = "write hello to out.txt";
/// Who the model is to be, as the peer has it.
const INSTRUCTIONS: &str = "You write files.";

/// An agent, and its runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tasks {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Toolbox,
    pub(crate) output: Option<OutputSchema>,
    pub(crate) verifier: Option<Arc<dyn Verifier>>,
    /// Calls of the model in a run, at most.
    pub(crate) max_model_calls: u32,
}

impl Tasks {
    /// Of a model without tools whose claim is its text.
    pub(crate) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tools: Toolbox::default(),
            output: None,
            verifier: None,
            max_model_calls: 100,
        }
    }

    /// With a tool.
    pub(crate) fn tool(mut self, tool: impl Tool + 'static) -> Result<Self, BenchError> {
        self.tools = Toolbox::new(vec![Arc::new(tool) as Arc<dyn Tool>]).map_err(wrong)?;
        Ok(self)
    }

    /// With a declared output: a text and a number.
    pub(crate) fn output(mut self) -> Result<Self, BenchError> {
        let schema = json!({
            "type": "object",
            "properties": {"summary": {"type": "string"}, "score": {"type": "integer"}},
            "required": ["summary", "score"],
        });
        self.output = Some(OutputSchema::new(schema).map_err(wrong)?);
        Ok(self)
    }

    /// The plan of a run.
    pub(crate) fn plan(&self, run: &RunId) -> Plan {
        let mut chat = ChatConfig::new(Arc::new(|| SystemClock.now_ms()));
        chat.output.clone_from(&self.output);
        chat.max_model_calls = self.max_model_calls;
        let delegate = ChatDelegate::new(Arc::clone(&self.model), self.tools.clone(), chat);
        let workspace = Arc::new(Workspace::none());
        let mut plan =
            Plan::new(run.clone(), TASK, Arc::new(delegate), workspace, Arc::new(NoFacts));
        plan.request = format!("{{\"task\":\"{TASK}\"}}").into_bytes();
        plan.system_prompt = Some(INSTRUCTIONS.into());
        plan.policy = Policy { max_attempts: 5, max_interruptions: 1000, ..Policy::default() };
        plan.policy.counting = Counting::by_candidate(plan.policy.max_attempts);
        plan.correction = Correction::Rejections;
        if let Some(verifier) = &self.verifier {
            let id = Code::slug("verifier");
            let decl = CheckDecl { id, subject: Subject::Claim, timeout_ms: 60_000 };
            plan.checks.push(Check::verifier(decl, Arc::clone(verifier)));
        }
        plan
    }

    /// Who plans it for a worker.
    pub(crate) fn planner(&self) -> Arc<dyn Planner> {
        Arc::new(self.clone())
    }
}

#[async_trait]
impl Planner for Tasks {
    async fn plan(&self, run: &RunId, _request: Vec<u8>) -> Result<Plan, PlanError> {
        Ok(Self::plan(self, run))
    }
}
