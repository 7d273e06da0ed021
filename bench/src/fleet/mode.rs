//! What a task is: the agent, its scripted model, and how many turns that makes.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_agent::chat::{
    Call, FINAL_OUTPUT, FunctionTool, Model, ModelError, ModelReply, ModelRequest, ToolContext,
};
use probity_agent::{Agent, Reject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tasks::{Answer, INSTRUCTIONS, Tasks};
use super::wrong;
use crate::error::BenchError;

/// The first output that the verifier lets through, in the mode in which it rejects any.
pub(crate) const GOOD_SCORE: u32 = 3;

/// What a task asks of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// One turn: text.
    Plain,
    /// One turn: an output of a declared type.
    Output,
    /// The same with a verifier that lets it through.
    Verify1,
    /// Three outputs that the verifier rejects, and one that it lets through.
    Verify4,
    /// Three turns that call a tool, then text.
    Tools4,
}

#[derive(Deserialize, JsonSchema)]
struct Edit {
    text: String,
}

/// Answers at once.
struct Scripted {
    mode: Mode,
    /// Calls of tools before the end, in a mode with tools.
    tools: u32,
    asked: Arc<Asked>,
}

/// What a model was asked, by everybody.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    calls: AtomicU64,
    /// When, where somebody wants to know.
    times: Option<std::sync::Mutex<Vec<Instant>>>,
    /// How long the model takes.
    latency: Duration,
}

impl Mode {
    pub(crate) const ALL: [Self; 5] =
        [Self::Plain, Self::Output, Self::Verify1, Self::Verify4, Self::Tools4];

    /// Calls of the model in a task.
    pub(crate) const fn turns(self) -> u32 {
        match self {
            Self::Plain | Self::Output | Self::Verify1 => 1,
            Self::Verify4 | Self::Tools4 => 4,
        }
    }

    /// Tasks of a measurement.
    pub(crate) const fn tasks(self) -> u32 {
        match self {
            Self::Plain | Self::Output | Self::Verify1 => 2000,
            Self::Verify4 | Self::Tools4 => 500,
        }
    }

    /// The word of tables, which is also the peer's.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Output => "output",
            Self::Verify1 => "verify1",
            Self::Verify4 => "verify4",
            Self::Tools4 => "tools4",
        }
    }
}

/// The tasks of a mode; `turns` is for the one whose tasks may be long.
pub(crate) fn tasks(mode: Mode, turns: u32, asked: &Arc<Asked>) -> Result<Tasks, BenchError> {
    let scripted = Scripted { mode, tools: turns.saturating_sub(1), asked: Arc::clone(asked) };
    let agent = Agent::builder(INSTRUCTIONS).name("scripted").model(scripted);
    let agent = agent.max_model_calls(turns.saturating_add(1));
    Ok(match mode {
        Mode::Plain => Tasks::Text(agent.build().map_err(wrong)?),
        Mode::Tools4 => {
            let edit = |edit: Edit, _: ToolContext| async move {
                Ok::<_, Infallible>(format!("wrote {}", edit.text))
            };
            let tool = FunctionTool::new("edit", "Edits.", edit);
            Tasks::Text(agent.tool(tool).build().map_err(wrong)?)
        }
        Mode::Output => Tasks::Typed(agent.output::<Answer>().build().map_err(wrong)?),
        Mode::Verify1 | Mode::Verify4 => {
            let from = if mode == Mode::Verify4 { GOOD_SCORE } else { 0 };
            let verify = move |answer: Answer| async move { good_from(from, answer) };
            let agent = agent.output::<Answer>().verifier(verify);
            Tasks::Typed(agent.verifier_max_attempts(GOOD_SCORE + 2).build().map_err(wrong)?)
        }
    })
}

/// Lets an output through from a score on.
pub(crate) fn good_from(score: u32, answer: Answer) -> Result<Answer, Reject> {
    if answer.score >= score {
        return Ok(answer);
    }
    Err(Reject::revise(format!("the score {} is below {score}", answer.score)).code("too_low"))
}

impl Asked {
    /// Counts only.
    pub(crate) fn counted() -> Arc<Self> {
        Arc::default()
    }

    /// Notes when, too.
    pub(crate) fn timed() -> Arc<Self> {
        Arc::new(Self { times: Some(std::sync::Mutex::default()), ..Self::default() })
    }

    /// A model that takes its time.
    pub(crate) fn slow(latency: Duration) -> Arc<Self> {
        Arc::new(Self { latency, ..Self::default() })
    }

    /// How often so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// When, so far.
    pub(crate) fn times(&self) -> Vec<Instant> {
        let times = self.times.as_ref().map(|times| match times.lock() {
            Ok(mut times) => std::mem::take(&mut *times),
            Err(_) => Vec::new(),
        });
        times.unwrap_or_default()
    }
}

#[async_trait]
impl Model for Scripted {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        self.asked.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(Ok(mut times)) = self.asked.times.as_ref().map(std::sync::Mutex::lock) {
            times.push(Instant::now());
        }
        if !self.asked.latency.is_zero() {
            tokio::time::sleep(self.asked.latency).await;
        }
        let number = request.number;
        Ok(match self.mode {
            Mode::Tools4 if number < self.tools => {
                call(number, "edit", format!("{{\"text\":\"line {number}\"}}"))
            }
            Mode::Plain | Mode::Tools4 => ModelReply::text("Done"),
            Mode::Output | Mode::Verify1 | Mode::Verify4 => {
                call(number, FINAL_OUTPUT, format!("{{\"summary\":\"same\",\"score\":{number}}}"))
            }
        })
    }

    fn identity(&self) -> String {
        "scripted".to_owned()
    }
}

fn call(number: u32, name: &str, arguments: String) -> ModelReply {
    ModelReply::calls([Call { id: format!("call-{number}"), name: name.to_owned(), arguments }])
}
