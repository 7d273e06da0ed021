//! The same loop without the agent: a function as the delegate, a verifier that counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity::core::{CheckDecl, Claim, Code, Fault, Outcome, Policy, RunId, Subject, Verdict};
use probity::delegate::{Answered, FunctionDelegate};
use probity::engine::{Check, Engine, Plan, SystemClock};
use probity::store::Store;
use probity::verifier::{CheckContext, NoFacts, Verifier, Workspace};
use tokio_util::sync::CancellationToken;

use super::WARM_UP;
use crate::error::BenchError;
use crate::face::Unwatched;
use crate::stopwatch::median;

/// Accepts that attempt and none before it.
struct Counts(u32);

#[async_trait]
impl Verifier for Counts {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        if ctx.attempt < self.0 {
            return Ok(Verdict::revise("file_missing", "file `out.txt` does not exist"));
        }
        Ok(Verdict::pass())
    }
}

/// Median time of a run that is accepted on its last attempt.
pub(super) async fn run(
    loops: usize,
    attempts: u32,
    store: &Arc<dyn Store>,
) -> Result<Duration, BenchError> {
    let mut times = Vec::new();
    for round in 0..loops + WARM_UP {
        let run: RunId = format!("r{attempts}-{round}").parse()?;
        let started = Instant::now();
        let engine = Engine::new(Arc::clone(store), Arc::new(SystemClock));
        let plan = plan(run, attempts);
        // On a worker of the runtime, as agents run.
        let ended =
            tokio::spawn(
                async move { engine.run(plan, &Unwatched, CancellationToken::new()).await },
            );
        let ended = ended.await.map_err(|error| wrong(error.to_string()))??;
        let elapsed = started.elapsed();
        if ended.outcome != Outcome::Verified {
            return Err(wrong(format!("the run ended {}", ended.outcome)));
        }
        if round >= WARM_UP {
            times.push(elapsed);
        }
    }
    Ok(median(times))
}

fn plan(run: RunId, attempts: u32) -> Plan {
    let delegate = FunctionDelegate::new("noop", |asked| async move {
        Ok(Answered::of(Claim::text(format!("Done {}", asked.attempt))))
    });
    let decl = CheckDecl { id: Code::slug("counts"), subject: Subject::Claim, timeout_ms: 60_000 };
    let workspace = Arc::new(Workspace::none());
    let task = "write hello to out.txt";
    let mut plan = Plan::new(run, task, Arc::new(delegate), workspace, Arc::new(NoFacts));
    plan.policy = Policy { max_attempts: attempts, ..Policy::default() };
    plan.checks = vec![Check::verifier(decl, Arc::new(Counts(attempts)))];
    plan
}

const fn wrong(detail: String) -> BenchError {
    BenchError::Measure { what: "the engine", detail }
}
