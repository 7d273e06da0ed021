//! One call of a Starlark verifier that is already compiled.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use probity::core::{Claim, Code, VerdictKind};
use probity::location::Programs;
use probity::script::{Execution, Host, Limits, PoolConfig, Script, ScriptVerifier, WorkerPool};
use probity::verifier::{CheckContext, Manifest, Verifier as _, Workspace};
use serde::Serialize;
use serde_json::Value;

use crate::error::BenchError;
use crate::stopwatch::{median, us};

/// As small as a verifier is: it looks at the claim and answers.
pub(crate) const SOURCE: &str = "def run(result):
    said = result.get(\"response\", \"\")
    return {\"verified\": \"hello\" in said, \"reason\": \"it did not say hello\"}
";
const CALLS: usize = 2_000;

/// Microseconds per call, the median of 2,000.
#[derive(Debug, Serialize)]
pub(super) struct Scripts {
    pub(super) in_process_us: f64,
    pub(super) worker_us: f64,
}

/// Both places.
pub(super) async fn measure(this: &Path) -> Result<Scripts, BenchError> {
    let pool = WorkerPool::new(PoolConfig::new(Programs::of(this).worker))
        .map_err(|error| wrong(error.to_string()))?;
    Ok(Scripts {
        in_process_us: call_us(Execution::InProcess).await?,
        worker_us: call_us(Execution::Worker(Arc::new(pool))).await?,
    })
}

async fn call_us(execution: Execution) -> Result<f64, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::io("make a folder"))?;
    let workspace = Workspace::open(folder.path()).map_err(|error| wrong(error.to_string()))?;
    let before = Arc::new(Manifest::default());
    let mut ctx = CheckContext::new(Code::slug("script"), Arc::new(workspace), before);
    ctx.claim = Arc::new(Claim::text("hello"));
    let script = Script::new("check", SOURCE).map_err(|error| wrong(error.to_string()))?;
    let verifier =
        ScriptVerifier::new(script, Value::Null, Host::default(), Limits::default(), execution)
            .map_err(|fault| wrong(fault.message))?;
    let mut times = Vec::new();
    for call in 0..CALLS + 100 {
        let started = Instant::now();
        let verdict = verifier.verify(&ctx).await.map_err(|fault| wrong(fault.message))?;
        // The first calls compile, start the worker and warm up.
        if call >= 100 {
            times.push(started.elapsed());
        }
        if verdict.kind != VerdictKind::Pass {
            return Err(wrong(verdict.reason));
        }
    }
    Ok(us(median(times)))
}

const fn wrong(detail: String) -> BenchError {
    BenchError::Measure { what: "a script", detail }
}
