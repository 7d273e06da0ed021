//! What a task is: the agent, its scripted model, and how many turns that makes.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity::core::{Fault, Verdict};
use probity::verifier::{CheckContext, Verifier};
use probity_agent::chat::{
    Call, FINAL_OUTPUT, FunctionTool, Model, ModelError, ModelReply, ModelRequest, ToolContext,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tasks::Tasks;
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

/// Lets outputs through from a number on.
struct From(u32);

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
    let tools = turns.saturating_sub(1);
    let mut tasks = Tasks::new(Arc::new(Scripted { mode, tools, asked: Arc::clone(asked) }));
    tasks.max_model_calls = turns.saturating_add(1);
    match mode {
        Mode::Plain => Ok(tasks),
        Mode::Tools4 => tasks.tool(FunctionTool::new(
            "edit",
            "Edits.",
            |edit: Edit, _: ToolContext| async move {
                Ok::<_, Infallible>(format!("wrote {}", edit.text))
            },
        )),
        Mode::Output => tasks.output(),
        Mode::Verify1 | Mode::Verify4 => {
            let from = if mode == Mode::Verify4 { GOOD_SCORE } else { 0 };
            tasks.verifier = Some(Arc::new(From(from)));
            tasks.output()
        }
    }
}

/// The number in an output; 0 where there is none.
pub(crate) fn score_of(ctx: &CheckContext) -> u32 {
    let score = ctx.claim.output.as_ref().and_then(|output| output.get("score")?.as_u64());
    score.and_then(|score| u32::try_from(score).ok()).unwrap_or(0)
}

#[async_trait]
impl Verifier for From {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let score = score_of(ctx);
        if score >= self.0 {
            return Ok(Verdict::pass());
        }
        Ok(Verdict::revise("too_low", format!("the score {score} is below {}", self.0)))
    }
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
