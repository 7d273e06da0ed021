//! An output, models that hand it in, and what tests look at.

use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_agent::chat::{Call, FunctionTool, Message, ModelReply, Tool, ToolContext};
use probity_agent::{Agent, AgentBuilder, AgentError, Done, NoOutput, NotDone, Reject};
use probity_agent::{VerdictEvent, VerificationEvent};
use probity_core::RunId;
use probity_testkit::{Asked, ScriptedModel, call, final_output};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Long enough for a loaded machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the agents here hand in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    pub(crate) summary: String,
    #[serde(default = "fast")]
    pub(crate) profile: String,
}

/// Any object at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Anything(pub(crate) Map<String, Value>);

fn fast() -> String {
    "fast".to_owned()
}

/// An agent of this model, without output and verifier.
pub(crate) fn agent(model: &Arc<ScriptedModel>) -> AgentBuilder<NoOutput, String> {
    Agent::builder("You fix tests.").shared_model(model.clone())
}

pub(crate) fn model(replies: impl IntoIterator<Item = ModelReply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::replies(replies))
}

/// Says the last of these for ever.
pub(crate) fn model_for_ever(replies: impl IntoIterator<Item = ModelReply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::replies(replies).repeat_last())
}

/// Hands in an output of this summary.
pub(crate) fn hand_in(summary: &str) -> ModelReply {
    final_output(json!({ "summary": summary }))
}

/// Calls the tool `edit`.
pub(crate) fn edit() -> ModelReply {
    ModelReply::calls([call("", "edit", json!({}))])
}

/// No arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// A tool `edit` that says `edited`.
pub(crate) fn editor() -> impl Tool + use<> {
    let edit = |_: Nothing, _: ToolContext| async { Ok::<_, Infallible>("edited") };
    FunctionTool::new("edit", "Edits a file.", edit)
}

/// A verifier that rejects everything.
pub(crate) async fn never(output: Output) -> Result<Output, Reject> {
    Err(Reject::revise(format!("`{}` is not good enough.", output.summary)).code("bad"))
}

/// A verifier that lets `good` through.
pub(crate) async fn only_good(output: Output) -> Result<Output, Reject> {
    match output.summary.as_str() {
        "good" => Ok(output),
        "fatal" => Err(Reject::fatal("Not this.").code("hopeless")),
        _ => never(output).await,
    }
}

/// Fails instead of hanging.
pub(crate) async fn bounded<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("the run does not end")
}

/// As [`bounded`], where the time of the runtime is paused: an hour of it.
pub(crate) async fn within_an_hour<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(3600), work).await.expect("the run does not end")
}

pub(crate) fn run_id(name: &str) -> RunId {
    name.parse().unwrap()
}

/// How a run ended that gave no result.
pub(crate) fn not_done<R: std::fmt::Debug>(result: Result<Done<R>, AgentError>) -> NotDone {
    match result {
        Err(AgentError::NotDone(not_done)) => *not_done,
        other => panic!("the run did not end without a result: {other:?}"),
    }
}

/// The question that a run waits for.
pub(crate) fn question<R: std::fmt::Debug>(result: Result<Done<R>, AgentError>) -> String {
    match result {
        Err(AgentError::Waits { question, .. }) => question,
        other => panic!("the run does not wait: {other:?}"),
    }
}

/// What was told of verification.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<VerificationEvent>>>);

impl Told {
    pub(crate) fn sink(&self) -> impl Fn(&VerificationEvent) + Send + Sync + use<> {
        let told = self.clone();
        move |event| told.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn events(&self) -> Vec<VerificationEvent> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.events().iter().map(VerificationEvent::name).collect()
    }
}

pub(crate) fn verdict(event: &VerificationEvent) -> &VerdictEvent {
    match event {
        VerificationEvent::Passed { verdict }
        | VerificationEvent::Rejected { verdict, .. }
        | VerificationEvent::Exhausted { verdict, .. } => verdict,
        VerificationEvent::Error { .. } => panic!("{event:?} is no verdict"),
    }
}

/// The answers to the calls of the last assistant message, in order, with whether they are failures.
pub(crate) fn answers(asked: &Asked) -> Vec<(String, bool)> {
    let last = asked.messages.iter().rposition(|it| matches!(it, Message::Assistant { .. }));
    let behind = last.map_or(0, |at| at + 1);
    asked.messages[behind..]
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, is_error, .. } => Some((content.clone(), *is_error)),
            _ => None,
        })
        .collect()
}

/// What the model was told of its last output.
pub(crate) fn feedback(asked: &Asked) -> String {
    let answers = answers(asked);
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0].0.clone()
}

/// A call with these arguments, to the byte.
pub(crate) fn raw_call(name: &str, arguments: &str) -> Call {
    Call { id: String::new(), name: name.to_owned(), arguments: arguments.to_owned() }
}
