//! A typed agent whose verifier rejects every output but the last.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity::core::Outcome;
use probity::store::Store;
use probity_agent::chat::{Call, Model, ModelError, ModelReply, ModelRequest};
use probity_agent::{Agent, AgentContext, Reject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WARM_UP;
use crate::error::BenchError;
use crate::stopwatch::median;

/// The declared output: one string, as the peers have it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Answer {
    said: String,
}

/// Hands in another output every time it is asked.
struct Noop;

#[async_trait]
impl Model for Noop {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        Ok(hand_in(request.number))
    }

    fn identity(&self) -> String {
        "noop".to_owned()
    }
}

/// The call by which a model hands in an output that it has not handed in before.
pub(super) fn hand_in(number: u32) -> ModelReply {
    ModelReply::calls([Call {
        id: format!("call-{number}"),
        name: probity_agent::chat::FINAL_OUTPUT.to_owned(),
        arguments: format!("{{\"said\":\"Done {number}\"}}"),
    }])
}

/// Median time of a run that is accepted on its last attempt.
pub(super) async fn run(
    loops: usize,
    attempts: u32,
    store: &Arc<dyn Store>,
) -> Result<Duration, BenchError> {
    let verify = move |output: Answer, ctx: AgentContext| async move {
        if ctx.attempt < attempts {
            return Err(Reject::revise("file `out.txt` does not exist"));
        }
        Ok(output)
    };
    let agent = Agent::builder("You write files.")
        .model(Noop)
        .store(Arc::clone(store))
        .output::<Answer>()
        .verifier(verify)
        .verifier_max_attempts(attempts)
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let mut times = Vec::new();
    for round in 0..loops + WARM_UP {
        let started = Instant::now();
        let done = agent.run("write hello to out.txt").await;
        let elapsed = started.elapsed();
        let done = done.map_err(|error| wrong(error.to_string()))?;
        if done.outcome != Outcome::Verified || done.verification.attempts_used != attempts - 1 {
            return Err(wrong(format!("the run ended {}", done.outcome)));
        }
        if round >= WARM_UP {
            times.push(elapsed);
        }
    }
    Ok(median(times))
}

pub(super) const fn wrong(detail: String) -> BenchError {
    BenchError::Measure { what: "an agent", detail }
}
