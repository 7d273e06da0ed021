//! An agent, and how its runs are driven.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use probity_chat::{ChatConfig, ChatDelegate, Model, Shared, Toolbox};
use probity_core::{CheckDecl, Code, Policy, RunId, Subject};
use probity_engine::{
    Check, Clock, Correction, Ended, Engine, EngineError, Plan, Report, read_entries, read_request,
};
use probity_store::Store;
use probity_verifier::{NoFacts, Workspace};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::agents::Crew;
use crate::builder::{AgentBuilder, NoOutput};
use crate::calls::Calls;
use crate::done::Done;
use crate::ending;
use crate::error::AgentError;
use crate::event::VerificationEvent;
use crate::feed::{Feed, Sink};
use crate::history;
use crate::lineage::Lineage;
use crate::request::RunRequest;
use crate::transcript::Transcript;
use crate::typed::{Function, TypedVerifier};
use crate::verification::Ledger;

/// The name of the verifier among the checks of a run.
const VERIFIER: &str = "verifier";
/// The longest that the tries of one verifier may take together, in milliseconds.
const MAX_CHECK_MS: u64 = probity_core::MAX_CHECK_MS;

/// A chat model with tools, a declared output, and a verifier. Cheap to clone; runs of one agent do not
/// know of each other.
pub struct Agent<R = String> {
    inner: Arc<Inner>,
    result: PhantomData<fn() -> R>,
}

/// What a run may be given beside its task.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Its name, unique in the store; absent draws one.
    pub run: Option<RunId>,
    /// The run that starts it; absent where a person does. A run is resumed with the parent that it was
    /// started by.
    pub parent: Option<Lineage>,
    /// Cancels it. The run ends as cancelled; to leave it as it is and go on later, drop the future.
    pub cancel: CancellationToken,
}

/// What an agent is made of, without its types.
pub(crate) struct Inner {
    pub(crate) name: Arc<str>,
    pub(crate) instructions: Arc<str>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) toolbox: Toolbox,
    pub(crate) chat: ChatConfig,
    pub(crate) function: Option<Function>,
    pub(crate) version: String,
    pub(crate) policy: Policy,
    pub(crate) verifier_timeout: Duration,
    pub(crate) checks: Arc<[Check]>,
    pub(crate) max_depth: u32,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shared: Shared,
    pub(crate) sink: Option<Sink>,
    pub(crate) calls: Calls,
}

/// How a run is taken up.
pub(crate) enum How {
    Start,
    Resume,
    Wake { about: String, by: String, value: Value },
}

impl Agent {
    /// Begins the description of an agent: who it is to be, in words for the model.
    pub fn builder(instructions: impl Into<String>) -> AgentBuilder<NoOutput, String> {
        AgentBuilder::new(instructions.into())
    }
}

impl<R: DeserializeOwned> Agent<R> {
    /// Gives the agent a task and drives the run to its end.
    ///
    /// Dropping the future leaves the run as it is recorded; [`Agent::resume`] goes on from there.
    ///
    /// # Errors
    /// [`AgentError`] if the run ended without a result, waits, or could not be driven on.
    pub async fn run(&self, task: impl Into<Arc<str>>) -> Result<Done<R>, AgentError> {
        self.run_with(task, RunOptions::default()).await
    }

    /// As [`Agent::run`], with a name, ancestors, or a token to cancel it by.
    ///
    /// # Errors
    /// As [`Agent::run`].
    pub async fn run_with(
        &self,
        task: impl Into<Arc<str>>,
        options: RunOptions,
    ) -> Result<Done<R>, AgentError> {
        typed(Arc::clone(&self.inner).run(task.into(), options).await?)
    }

    /// Takes up a run that was interrupted, or reads one that has ended: nothing that is recorded is
    /// done again.
    ///
    /// # Errors
    /// As [`Agent::run`]; [`EngineError::PlanDiffers`] if the run is that of another agent.
    pub async fn resume(&self, run: &RunId) -> Result<Done<R>, AgentError> {
        self.resume_with(run, RunOptions::default()).await
    }

    /// As [`Agent::resume`], with the parent that the run was started by, or a token to cancel it by.
    ///
    /// # Errors
    /// As [`Agent::resume`].
    pub async fn resume_with(
        &self,
        run: &RunId,
        options: RunOptions,
    ) -> Result<Done<R>, AgentError> {
        typed(Arc::clone(&self.inner).take_up(run, options, How::Resume).await?)
    }

    /// Answers what a parked run waits for, and drives it on: the tool that asked gets the answer. What
    /// it is `about` is told by [`AgentError::Waits`].
    ///
    /// # Errors
    /// As [`Agent::resume`]; [`EngineError::NotParked`] if the run does not wait for that.
    pub async fn wake(
        &self,
        run: &RunId,
        about: &str,
        by: &str,
        value: Value,
    ) -> Result<Done<R>, AgentError> {
        let how = How::Wake { about: about.to_owned(), by: by.to_owned(), value };
        typed(Arc::clone(&self.inner).take_up(run, RunOptions::default(), how).await?)
    }

    /// The plan of a run of this agent, for an engine or a planner of one's own. The request in it is
    /// what the run is recorded with.
    ///
    /// # Errors
    /// [`AgentError::Engine`] if the request has no JSON form.
    pub fn plan(
        &self,
        run: RunId,
        task: impl Into<Arc<str>>,
        parent: Option<&Lineage>,
    ) -> Result<Plan, AgentError> {
        let (inner, store) = (self.inner(), Arc::clone(&self.inner.store));
        let feed = Arc::new(Feed::following(run.clone(), Arc::clone(&store)));
        let mut chat = inner.chat.clone();
        chat.shared = inner.shared.clone();
        inner.plan(run, task.into(), parent, &feed, chat, store)
    }

    /// The verdicts of a run, whoever drove it.
    ///
    /// # Errors
    /// [`AgentError::Engine`] if there is no such run, or its log is damaged.
    pub async fn ledger(&self, run: &RunId) -> Result<Ledger, AgentError> {
        Ok(Ledger::of(&read_entries(self.inner.store.as_ref(), run).await?))
    }

    /// What verification came to in a run, whoever drove it: the events that were told, or would have
    /// been, in order.
    ///
    /// # Errors
    /// [`AgentError::Engine`] if there is no such run, or its log is damaged.
    pub async fn history(&self, run: &RunId) -> Result<Vec<VerificationEvent>, AgentError> {
        Ok(history::read(self.inner.store.as_ref(), run).await?)
    }
}

impl<R> Agent<R> {
    pub(crate) fn of(inner: Inner) -> Self {
        Self { inner: Arc::new(inner), result: PhantomData }
    }

    /// The agent, whatever its result: for those who work with many.
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }
}

impl Inner {
    pub(crate) async fn run(
        self: Arc<Self>,
        task: Arc<str>,
        options: RunOptions,
    ) -> Result<Done<Value>, AgentError> {
        let run = match &options.run {
            Some(run) => run.clone(),
            None => fresh_run(),
        };
        self.drive(run, task, options, Ledger::default(), How::Start).await
    }

    /// What a run is parked for, if it waits for an answer.
    pub(crate) async fn parked_for(&self, run: &RunId) -> Result<Option<String>, AgentError> {
        Ok(Report::read(self.store.as_ref(), run).await?.parked_for)
    }

    /// Whether there is a run of this name.
    pub(crate) async fn knows(&self, run: &RunId) -> Result<bool, AgentError> {
        let state = self.store.state(run).await.map_err(EngineError::from)?;
        Ok(state.is_some())
    }

    /// Takes up a run by its name: its task stands in its log.
    pub(crate) async fn take_up(
        self: Arc<Self>,
        run: &RunId,
        options: RunOptions,
        how: How,
    ) -> Result<Done<Value>, AgentError> {
        let request = read_request(self.store.as_ref(), run).await?;
        let differs = |_| EngineError::PlanDiffers { run: run.clone(), what: "a request" };
        let request: RunRequest = serde_json::from_slice(&request).map_err(differs)?;
        let ledger = Ledger::of(&read_entries(self.store.as_ref(), run).await?);
        self.drive(run.clone(), request.task.into(), options, ledger, how).await
    }

    async fn drive(
        self: Arc<Self>,
        run: RunId,
        task: Arc<str>,
        options: RunOptions,
        ledger: Ledger,
        how: How,
    ) -> Result<Done<Value>, AgentError> {
        let feed = Arc::new(Feed::new(run.clone(), ledger, self.sink.clone()));
        let mut chat = self.chat.clone();
        chat.shared = self.shared.clone();
        let (above, store) = (options.parent.as_ref(), Arc::clone(&self.store));
        let plan = self.plan(run.clone(), task, above, &feed, chat, store)?;
        let engine = self.engine();
        let (watch, cancel) = (Arc::clone(&feed), options.cancel);
        // On a worker of the runtime, whoever awaits it: what the run starts is then next in line on
        // the same thread.
        let driven = tokio::spawn(async move {
            match how {
                How::Start => engine.run(plan, watch.as_ref(), cancel).await,
                How::Resume => engine.resume(plan, watch.as_ref(), cancel).await,
                How::Wake { about, by, value } => {
                    engine.wake(plan, &about, &by, value, watch.as_ref(), cancel).await
                }
            }
        });
        match AbortOnDropHandle::new(driven).await {
            Ok(ended) => self.ended(ended?, &feed).await,
            Err(_) => Err(AgentError::Aborted { run }),
        }
    }

    /// The plan of a run that a worker drives.
    pub(crate) fn plan_on(
        &self,
        run: RunId,
        task: Arc<str>,
        above: Option<&Lineage>,
        crew: &Crew,
    ) -> Result<Plan, AgentError> {
        let feed = Arc::new(Feed::following(run.clone(), crew.store()));
        let mut chat = self.chat.clone();
        if chat.outage.max_waits == 0 {
            chat.outage = crew.outage;
        }
        let parent = above.map(|above| above.run.clone());
        chat.shared = self.shared.with(crew.clone());
        let mut plan = self.plan(run, task, above, &feed, chat, crew.store())?;
        plan.parent = parent;
        Ok(plan)
    }

    /// Where a run of this agent stands below another.
    pub(crate) fn lineage(&self, run: RunId, above: Option<&Lineage>) -> Lineage {
        let inherited = above.map_or(&[][..], |above| &above.checks);
        Lineage {
            run,
            parent: above.map(|above| above.run.clone()),
            depth: above.map_or(0, |above| above.depth.saturating_add(1)),
            max_depth: above.map_or(self.max_depth, |above| above.max_depth.min(self.max_depth)),
            checks: inherited.iter().chain(self.checks.iter()).cloned().collect(),
        }
    }

    /// The engine on the agent's own store.
    pub(crate) fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.store), Arc::clone(&self.clock))
    }

    fn plan(
        &self,
        run: RunId,
        task: Arc<str>,
        above: Option<&Lineage>,
        feed: &Arc<Feed>,
        chat: ChatConfig,
        store: Arc<dyn Store>,
    ) -> Result<Plan, AgentError> {
        let lineage = self.lineage(run.clone(), above);
        let operator = Arc::clone(&lineage.checks);
        let request = self.request(&task, &lineage);
        let shared = chat.shared.with(lineage);
        let chat = ChatConfig { shared: shared.clone(), ..chat };
        let delegate = ChatDelegate::new(Arc::clone(&self.model), self.toolbox.clone(), chat);
        let workspace = Arc::clone(&self.workspace);
        let mut plan = Plan::new(run, task, Arc::new(delegate), workspace, Arc::new(NoFacts));
        plan.request = serde_json::to_vec(&request).map_err(EngineError::from)?;
        plan.system_prompt = Some(Arc::clone(&self.instructions));
        plan.agent = Arc::clone(&self.name);
        plan.policy = self.policy.clone();
        plan.correction = Correction::Rejections;
        plan.checks = operator.to_vec();
        if let Some(function) = &self.function {
            let verifier = TypedVerifier {
                function: function.clone(),
                timeout: self.verifier_timeout,
                shared,
                transcript: Transcript::new(store),
                feed: Arc::clone(feed),
                alive: self.calls.of(feed.run()),
            };
            plan.checks.push(Check::verifier(self.decl(), Arc::new(verifier)));
        }
        Ok(plan)
    }

    fn decl(&self) -> CheckDecl {
        // Every try gets its whole time, and the waits between them come on top.
        let each_ms = u64::try_from(self.verifier_timeout.as_millis()).unwrap_or(u64::MAX);
        let each_ms = each_ms.saturating_add(Policy::MAX_BACKOFF_MS);
        let timeout_ms = each_ms.saturating_mul(self.policy.max_verify_tries.into());
        CheckDecl {
            id: Code::slug(VERIFIER),
            subject: Subject::Claim,
            timeout_ms: timeout_ms.clamp(1, MAX_CHECK_MS),
        }
    }

    fn request(&self, task: &str, lineage: &Lineage) -> RunRequest {
        let output = self.chat.output.as_ref().map_or(Value::Null, |it| it.schema().clone());
        RunRequest {
            agent: self.name.as_ref().to_owned(),
            task: task.to_owned(),
            instructions: self.instructions.as_ref().to_owned(),
            model: self.model.identity(),
            tools: json!(self.toolbox.specs()),
            output,
            verifier: self.function.as_ref().map(|_| self.version.clone()),
            parent_id: lineage.parent.clone(),
            depth: lineage.depth,
        }
    }

    async fn ended(&self, ended: Ended, feed: &Feed) -> Result<Done<Value>, AgentError> {
        let Ended { run, outcome, code, delivered, result, .. } = ended;
        let ledger = feed.ledger();
        if outcome.delivers()
            && let Some(claim) = delivered
        {
            return Ok(ending::done(&run, outcome, claim, result, &ledger));
        }
        let report = Report::read(self.store.as_ref(), &run).await?;
        if outcome == probity_core::Outcome::Escalated {
            let about = report.parked_for.unwrap_or_default();
            let question = report.question.unwrap_or_default();
            return Err(AgentError::Waits { run, code, about, question });
        }
        Err(ending::not_done(&run, outcome, code, report, &ledger))
    }
}

/// A result of its type.
pub(crate) fn typed<R: DeserializeOwned>(done: Done<Value>) -> Result<Done<R>, AgentError> {
    let run = done.run.clone();
    done.map(|result| {
        serde_json::from_value(result)
            .map_err(|error| AgentError::Result { run, detail: error.to_string() })
    })
}

/// A name that no other run has.
pub(crate) fn fresh_run() -> RunId {
    RunId::from_uuid(Uuid::now_v7().as_u128())
}

impl<R> Clone for Agent<R> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), result: PhantomData }
    }
}

impl<R> fmt::Debug for Agent<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.inner.name)
            .field("model", &self.inner.model.identity())
            .finish_non_exhaustive()
    }
}
