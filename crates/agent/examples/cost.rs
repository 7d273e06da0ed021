//! What a turn costs in CPU time as a run grows, on the store in memory with a scripted model.
//!
//! `cargo run --release -p probity-agent --example cost`

use std::convert::Infallible;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_agent::chat::{FunctionTool, ModelReply, ToolContext};
use probity_agent::{Agent, Reject};
use probity_testkit::{ScriptedModel, call, final_output};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const TURNS: u32 = 1000;
/// Attempts of the second run: the most that there can be.
const ATTEMPTS: u32 = 100;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Output {
    summary: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// CPU time of this process so far, in microseconds.
fn cpu_us() -> u64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    // Of the main thread alone, which is the only one here.
    let ns = text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    ns.unwrap_or_default() / 1000
}

/// When the model was asked, turn by turn, in microseconds of CPU time.
type Times = Arc<Mutex<Vec<u64>>>;

fn locked(times: &Times) -> MutexGuard<'_, Vec<u64>> {
    times.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Microseconds per turn, over the twenty turns around a turn.
fn around(at: &[u64], turn: usize) -> Option<u64> {
    let (from, to) = (at.get(turn.saturating_sub(10))?, at.get(turn.saturating_add(10))?);
    Some(to.saturating_sub(*from) / 20)
}

fn print(name: &str, at: &[u64], turns: &[usize]) {
    for turn in turns {
        println!("{name}, turn {turn}: {} us CPU", around(at, *turn).unwrap_or_default());
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for bytes in [0, 2000] {
        let at = Times::default();
        let times = Arc::clone(&at);
        let script = ScriptedModel::new().forgetful().with(move |asked| {
            locked(&times).push(cpu_us());
            match asked.number {
                TURNS.. => final_output(json!({ "summary": "good" })),
                _ => ModelReply {
                    text: "x".repeat(bytes),
                    ..ModelReply::calls([call("", "edit", json!({}))])
                },
            }
        });
        let edit = |_: Nothing, _: ToolContext| async { Ok::<_, Infallible>("edited") };
        let agent = Agent::builder("You fix tests.")
            .model(script.repeat_last())
            .tool(FunctionTool::new("edit", "Edits a file.", edit))
            .max_model_calls(TURNS + 1)
            .output::<Output>()
            .verifier(|output: Output| async { Ok::<_, Reject>(output) })
            .build()?;
        agent.run("Fix it.").await?;
        let at = locked(&at).clone();
        print(&format!("one attempt, {bytes} bytes of text a turn"), &at, &[20, 100, 400, 990]);
    }
    let at = Times::default();
    let times = Arc::clone(&at);
    // Ten turns of work in each attempt.
    let script = ScriptedModel::new().forgetful().with(move |asked| {
        locked(&times).push(cpu_us());
        match asked.number % 10 {
            9 => final_output(json!({ "summary": format!("try {}", asked.number) })),
            _ => ModelReply::calls([call("", "edit", json!({}))]),
        }
    });
    let edit = |_: Nothing, _: ToolContext| async { Ok::<_, Infallible>("edited") };
    let agent = Agent::builder("You fix tests.")
        .model(script.repeat_last())
        .tool(FunctionTool::new("edit", "Edits a file.", edit))
        .max_model_calls(10 * ATTEMPTS)
        .output::<Output>()
        .verifier(|_: Output| async { Err::<Output, _>(Reject::revise("Not yet.")) })
        .verifier_max_attempts(ATTEMPTS)
        .build()?;
    let _ = agent.run("Fix it.").await;
    let at = locked(&at).clone();
    print("ten turns an attempt, rejected", &at, &[20, 100, 400, 980]);
    Ok(())
}
