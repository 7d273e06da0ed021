//! What an agent is made of.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use probity_chat::{ChatConfig, ChatEvent, Model, OutputSchema, Shared, Tool, Toolbox};
use probity_core::{Counting, Policy, RedFirst};
use probity_engine::{Check, Clock, SystemClock};
use probity_store::{MemoryStore, Store};
use probity_verifier::Workspace;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::{Agent, Inner};
use crate::calls::Calls;
use crate::error::BuildError;
use crate::event::VerificationEvent;
use crate::extract::{Equipment, Requirement};
use crate::feed::Sink;
use crate::function::VerifierFn;
use crate::lineage::MAX_DEPTH;
use crate::typed::Function;

/// Rejections allowed when nothing else is said.
const DEFAULT_MAX_ATTEMPTS: u32 = 3;
/// Calls of a verifier that may fail to tell, when nothing else is said.
const DEFAULT_MAX_SYSTEM_ERRORS: u32 = 5;
/// Wall time of one call of a verifier, when nothing else is said.
const DEFAULT_VERIFIER_TIMEOUT: Duration = Duration::from_secs(60);

/// No declared output: the result is the model's text.
#[derive(Debug)]
pub enum NoOutput {}

/// A type that a model can hand in: plain data with a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of an agent",
    note = "derive `Serialize`, `Deserialize` and `JsonSchema` for it"
)]
pub trait Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Output for T {}

/// Describes an agent. `O` is the declared output, `R` the result of a run.
pub struct AgentBuilder<O, R> {
    parts: Parts,
    types: PhantomData<fn() -> (O, R)>,
}

struct Parts {
    name: String,
    instructions: String,
    model: Option<Arc<dyn Model>>,
    tools: Vec<Arc<dyn Tool>>,
    chat: ChatConfig,
    output: Option<Result<OutputSchema, probity_chat::OutputSchemaError>>,
    function: Option<Function>,
    version: String,
    requirements: Vec<Requirement>,
    policy: Policy,
    counting: Option<Counting>,
    verifier_timeout: Duration,
    checks: Vec<Check>,
    max_depth: u32,
    workspace: Arc<Workspace>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    shared: Shared,
    sink: Option<Sink>,
}

impl AgentBuilder<NoOutput, String> {
    pub(crate) fn new(instructions: String) -> Self {
        let policy = Policy {
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            max_verify_tries: DEFAULT_MAX_SYSTEM_ERRORS,
            red_first: RedFirst::Warn,
            ..Policy::default()
        };
        let parts = Parts {
            name: "agent".to_owned(),
            instructions,
            model: None,
            tools: Vec::new(),
            chat: ChatConfig::new(Arc::new(|| SystemClock.now_ms())),
            output: None,
            function: None,
            version: String::new(),
            requirements: Vec::new(),
            policy,
            counting: None,
            verifier_timeout: DEFAULT_VERIFIER_TIMEOUT,
            checks: Vec::new(),
            max_depth: MAX_DEPTH,
            workspace: Arc::new(Workspace::none()),
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(SystemClock),
            shared: Shared::default(),
            sink: None,
        };
        Self { parts, types: PhantomData }
    }

    /// Declares the output: the model hands it in by calling `final_output`, whose arguments are of this
    /// type. Output that does not fit is told so at once and is no attempt; three misfits in a row end
    /// the run.
    #[must_use]
    pub fn output<O: Output>(mut self) -> AgentBuilder<O, O> {
        let schema = schemars::schema_for!(O).to_value();
        // Read into the type and written back, so that defaults are there when the output is hashed.
        let normalise = |value: Value| {
            let output: O = serde_json::from_value(value).map_err(|error| error.to_string())?;
            serde_json::to_value(output).map_err(|error| error.to_string())
        };
        let schema = OutputSchema::new(schema).map(|schema| schema.normalised(Arc::new(normalise)));
        self.parts.output = Some(schema);
        AgentBuilder { parts: self.parts, types: PhantomData }
    }
}

impl<O: Output, R> AgentBuilder<O, R> {
    /// Verifies the output before it counts: a function of the output and of what else it asks for
    /// ([`crate::FromVerification`]), async or not. What it returns becomes the run's result.
    #[must_use]
    pub fn verifier<Args, F>(mut self, verifier: F) -> AgentBuilder<O, F::Result>
    where
        F: VerifierFn<Args, O>,
        F::Result: Serialize + DeserializeOwned,
    {
        self.parts.requirements = F::requirements();
        self.parts.function = Some(Function::new(verifier));
        AgentBuilder { parts: self.parts, types: PhantomData }
    }

    /// Rejections allowed in all, 1 to 100; the last of them ends the run. By default 3.
    #[must_use]
    pub fn verifier_max_attempts(mut self, attempts: u32) -> Self {
        self.parts.policy.max_attempts = attempts;
        self
    }

    /// Wall time of one call of the verifier. Beyond it the call could not tell. By default 60 s.
    #[must_use]
    pub fn verifier_timeout(mut self, timeout: Duration) -> Self {
        self.parts.verifier_timeout = timeout;
        self
    }

    /// Calls of the verifier on one output that may fail to tell, 1 to 100, before the run ends
    /// inconclusive. By default 5; waits between them double from `backoff`, 1 ms to 60 s, by default
    /// 200 ms.
    #[must_use]
    pub fn verifier_max_system_errors(mut self, errors: u32, backoff: Duration) -> Self {
        self.parts.policy.max_verify_tries = errors;
        self.parts.policy.verify_backoff_ms = millis(backoff);
        self
    }

    /// A name for this state of the verifier. Recorded; a run is not resumed with another one.
    #[must_use]
    pub fn verifier_version(mut self, version: impl Into<String>) -> Self {
        self.parts.version = version.into();
        self
    }

    /// How outputs become attempts. By default [`Counting::by_candidate`], seed 003's mode with its
    /// guards.
    #[must_use]
    pub fn counting(mut self, counting: Counting) -> Self {
        self.parts.counting = Some(counting);
        self
    }
}

impl<O, R> AgentBuilder<O, R> {
    /// A name for records and people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.parts.name = name.into();
        self
    }

    /// The model.
    #[must_use]
    pub fn model(self, model: impl Model + 'static) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// The model, where several agents share it.
    #[must_use]
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.parts.model = Some(model);
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.tools([Arc::new(tool) as Arc<dyn Tool>])
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.parts.tools.extend(tools);
        self
    }

    /// A value for tools and verifiers, by type: [`crate::State`].
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.parts.shared = self.parts.shared.with(state);
        self
    }

    /// Where the work is done: read before the run and after every output, so that verifiers know what
    /// changed. By default there is none.
    #[must_use]
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.parts.workspace = Arc::new(workspace);
        self
    }

    /// A check of the operator, beside the verifier. Agents that this one delegates to have it, too.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.parts.checks.push(check);
        self
    }

    /// Where runs are recorded. By default in memory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.parts.store = store;
        self
    }

    /// The clock. By default the system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Model tokens of a run, all attempts together. By default unbounded.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.parts.policy.max_tokens = Some(tokens);
        self
    }

    /// Tool calls of a run, all attempts together. By default unbounded.
    #[must_use]
    pub fn max_tool_calls(mut self, calls: u64) -> Self {
        self.parts.policy.max_tool_calls = Some(calls);
        self
    }

    /// Calls of the model in a run, all attempts together. By default 100.
    #[must_use]
    pub fn max_model_calls(mut self, calls: u32) -> Self {
        self.parts.chat.max_model_calls = calls;
        self
    }

    /// Wall time of a run, waits not included. By default unbounded.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.parts.policy.wall_ms = Some(millis(timeout));
        self
    }

    /// Crashes, restarts and lost delegates that a run survives in all, 0 to 1000. By default 10. A run
    /// that waits is not interrupted.
    #[must_use]
    pub fn max_interruptions(mut self, interruptions: u32) -> Self {
        self.parts.policy.max_interruptions = interruptions;
        self
    }

    /// How deep agents may delegate to each other below this one, at most [`MAX_DEPTH`]. By default
    /// [`MAX_DEPTH`].
    #[must_use]
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.parts.max_depth = depth.min(MAX_DEPTH);
        self
    }

    /// How the conversation is held: retries of the model, sizes, parallel calls.
    #[must_use]
    pub fn chat(mut self, configure: impl FnOnce(&mut ChatConfig)) -> Self {
        configure(&mut self.parts.chat);
        self
    }

    /// Told what verification comes to, in the process that drives the run.
    #[must_use]
    pub fn on_verification(
        mut self,
        told: impl Fn(&VerificationEvent) + Send + Sync + 'static,
    ) -> Self {
        self.parts.sink = Some(Arc::new(told));
        self
    }

    /// Told what the model and the tools do, in the process that drives the run.
    #[must_use]
    pub fn on_chat(mut self, told: impl Fn(&ChatEvent) + Send + Sync + 'static) -> Self {
        self.parts.chat.on_event = Some(Arc::new(told));
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// [`BuildError`] naming the first thing that is missing or out of bounds.
    pub fn build(self) -> Result<Agent<R>, BuildError> {
        let mut parts = self.parts;
        let model = parts.model.take().ok_or(BuildError::NoModel)?;
        let output = parts.output.take().transpose()?;
        let toolbox = Toolbox::new(parts.tools)?;
        let equipment =
            Equipment { shared: parts.shared.clone(), has_workspace: !parts.workspace.is_none() };
        if let Some(missing) = parts.requirements.iter().find(|it| !(it.is_met)(&equipment)) {
            return Err(BuildError::Requirement { what: missing.what.clone() });
        }
        let mut policy = parts.policy;
        policy.counting =
            parts.counting.unwrap_or_else(|| Counting::by_candidate(policy.max_attempts));
        policy.validate()?;
        let clock = Arc::clone(&parts.clock);
        let mut chat = parts.chat;
        chat.output = output;
        chat.now_ms = Arc::new(move || clock.now_ms());
        Ok(Agent::of(Inner {
            name: parts.name.into(),
            instructions: parts.instructions.into(),
            model,
            toolbox,
            chat,
            function: parts.function,
            version: parts.version,
            policy,
            verifier_timeout: parts.verifier_timeout,
            checks: parts.checks.into(),
            max_depth: parts.max_depth,
            workspace: parts.workspace,
            store: parts.store,
            clock: parts.clock,
            shared: parts.shared,
            sink: parts.sink,
            calls: Calls::default(),
        }))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
