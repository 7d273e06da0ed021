//! One long run: many turns that call a tool, then the output.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity::core::Outcome;
use probity::store::Store;
use probity_agent::chat::{
    Call, FunctionTool, Model, ModelError, ModelReply, ModelRequest, ToolContext,
};
use probity_agent::{Agent, Reject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::typed::{Answer, hand_in, wrong};
use crate::error::BenchError;
use crate::stopwatch::{median, us};

/// Runs of which the median is taken are a third of the loops, as each is long.
const LOOPS_PER_RUN: usize = 3;

/// What turns cost at both ends of a run.
#[derive(Debug, Serialize)]
pub(super) struct Turns {
    pub(super) store: &'static str,
    pub(super) turns: u32,
    /// How many turns an end has.
    pub(super) window: u32,
    pub(super) first_us: f64,
    pub(super) last_us: f64,
    pub(super) last_by_first: f64,
    pub(super) whole_run_ms: f64,
}

/// Calls a tool for so many turns, and notes when it was asked.
struct Busy {
    turns: u32,
    asked: Arc<Mutex<Vec<Instant>>>,
}

#[derive(Deserialize, JsonSchema)]
struct Edit {
    text: String,
}

#[async_trait]
impl Model for Busy {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let number = request.number;
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        if number >= self.turns {
            return Ok(hand_in(number));
        }
        Ok(ModelReply::calls([Call {
            id: format!("call-{number}"),
            name: "edit".to_owned(),
            arguments: format!("{{\"text\":\"line {number}\"}}"),
        }]))
    }

    fn identity(&self) -> String {
        "busy".to_owned()
    }
}

/// Median of a few runs, behind one that warms up.
pub(super) async fn measure(
    loops: usize,
    turns: u32,
    store: &'static str,
    handle: &Arc<dyn Store>,
) -> Result<Turns, BenchError> {
    let window = (turns / 10).max(1);
    let (mut first, mut last, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=(loops / LOOPS_PER_RUN).max(1) {
        let asked = once(turns, handle).await?;
        if round == 0 {
            continue;
        }
        let end = asked.len().saturating_sub(1);
        let width = usize::try_from(window).unwrap_or(usize::MAX);
        first.push(between(&asked, 0, width)? / window);
        last.push(between(&asked, end.saturating_sub(width), end)? / window);
        whole.push(between(&asked, 0, end)?);
    }
    let (first_us, last_us) = (us(median(first)), us(median(last)));
    Ok(Turns {
        store,
        turns,
        window,
        first_us,
        last_us,
        last_by_first: last_us / first_us,
        whole_run_ms: us(median(whole)) / 1e3,
    })
}

/// When the model was asked, over one run.
async fn once(turns: u32, store: &Arc<dyn Store>) -> Result<Vec<Instant>, BenchError> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let tool = FunctionTool::new("edit", "Edits.", |edit: Edit, _: ToolContext| async move {
        Ok::<_, std::convert::Infallible>(format!("wrote {}", edit.text))
    });
    let agent = Agent::builder("You write files.")
        .model(Busy { turns, asked: Arc::clone(&asked) })
        .store(Arc::clone(store))
        .tool(tool)
        .max_model_calls(turns.saturating_add(1))
        .output::<Answer>()
        .verifier(|output: Answer| async move { Ok::<_, Reject>(output) })
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let done = agent.run("write hello to out.txt").await;
    let done = done.map_err(|error| wrong(error.to_string()))?;
    if done.outcome != Outcome::Verified {
        return Err(wrong(format!("the run ended {}", done.outcome)));
    }
    let asked = std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(asked)
}

fn between(asked: &[Instant], from: usize, to: usize) -> Result<Duration, BenchError> {
    match (asked.get(from), asked.get(to)) {
        (Some(from), Some(to)) => Ok(to.duration_since(*from)),
        _ => Err(wrong(format!("the model was asked {} times only", asked.len()))),
    }
}
