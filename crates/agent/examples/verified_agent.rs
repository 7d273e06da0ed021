//! An agent whose work is verified before it counts: the example of seed 003.
//!
//! The model is scripted: it claims to be done twice before it is. Run it with
//! `cargo run -p probity-agent --example verified_agent`.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use probity_agent::chat::{Call, Model, ModelError, ModelReply, ModelRequest};
use probity_agent::{Agent, AgentContext, Reject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize, JsonSchema)]
struct AgentOutput {
    summary: String,
    #[serde(default = "fast")]
    test_profile: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct VerificationMetadata {
    duration_ms: u64,
    tests_run: u32,
    failed: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct FinalResult {
    summary: String,
    verification: VerificationMetadata,
}

async fn verify_output(output: AgentOutput, agent: AgentContext) -> Result<FinalResult, Reject> {
    let report = run_verification(&output.test_profile, agent.attempt).await?;
    if !report.failed_tests.is_empty() {
        return Err(Reject::revise(report.summary)
            .code("tests_failed")
            .metadata(json!({ "failed_tests": report.failed_tests })));
    }
    Ok(FinalResult {
        summary: output.summary,
        verification: VerificationMetadata {
            duration_ms: report.duration_ms,
            tests_run: report.tests_run,
            failed: 0,
        },
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder("You fix the failing tests of this repository.")
        .model(Scripted::default())
        .output::<AgentOutput>()
        .verifier(verify_output)
        .verifier_max_attempts(5)
        .on_verification(|event| println!("{}", event.name()))
        .build()?;
    let done = agent.run("Make the tests pass.").await?;
    println!("{}", serde_json::to_string_pretty(&done.result)?);
    println!("attempts used: {}", done.verification.attempts_used);
    Ok(())
}

/// What a run of the tests came to.
struct TestReport {
    summary: String,
    failed_tests: Vec<&'static str>,
    tests_run: u32,
    duration_ms: u64,
}

/// Stands for a real run of the tests: three fail at first, then one, then none.
async fn run_verification(profile: &str, attempt: u32) -> std::io::Result<TestReport> {
    let failing = ["test_parser_generics", "test_codegen_switch", "test_linker_symbols"];
    let failed = match attempt {
        1 => 3,
        2 => 1,
        _ => 0,
    };
    let failed_tests: Vec<_> = failing.into_iter().take(failed).collect();
    let summary = format!("{failed} regression tests failed in profile {profile}.");
    Ok(TestReport { summary, failed_tests, tests_run: 412, duration_ms: 1840 })
}

fn fast() -> String {
    "fast".to_owned()
}

/// A model that hands in another summary every time.
#[derive(Default)]
struct Scripted {
    calls: AtomicU32,
}

#[async_trait]
impl Model for Scripted {
    async fn complete(&self, _: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let arguments = json!({ "summary": format!("All tests pass now, edit {call}.") });
        Ok(ModelReply::calls([Call {
            id: format!("call_{call}"),
            name: "final_output".to_owned(),
            arguments: arguments.to_string(),
        }]))
    }

    fn identity(&self) -> String {
        "scripted".to_owned()
    }
}
