//! Cases that need a runtime: one thread, so that work is done in the same order every time.

use std::sync::Arc;
use std::time::Duration;

use probity::core::{Claim, Code, Outcome, RunId, VerdictKind};
use probity::delegate::{Answered, DelegateError, FunctionDelegate};
use probity::engine::{Engine, SystemClock};
use probity::location::{Programs, StoreUrl};
use probity::script::{Execution, Host, Limits, Script, ScriptVerifier};
use probity::verifier::{CheckContext, Manifest, Verifier as _, Workspace, expect};
use probity::{Request, open_workspace, prepare_with};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::{Work, wrong};
use crate::error::BenchError;
use crate::face::Unwatched;
use crate::figures::SCRIPT;

const ATTEMPTS: u32 = 10;
const FILES: u32 = 10;

pub(super) fn script() -> Result<Work, BenchError> {
    let runtime = runtime()?;
    let folder = tempfile::tempdir().map_err(BenchError::io("make a folder"))?;
    let workspace = Workspace::open(folder.path()).map_err(wrong)?;
    let before = Arc::new(Manifest::default());
    let mut ctx = CheckContext::new(Code::slug("script"), Arc::new(workspace), before);
    ctx.claim = Arc::new(Claim::text("hello"));
    let script = Script::new("check", SCRIPT).map_err(wrong)?;
    // Under a tool that counts, everything takes fifty times as long.
    let (host, limits) = (Host::default(), Limits { wall_ms: 600_000, ..Limits::default() });
    ctx.timeout = Duration::from_secs(600);
    let verifier = ScriptVerifier::new(script, Value::Null, host, limits, Execution::InProcess)
        .map_err(|fault| wrong(fault.message))?;
    Ok(Box::new(move || {
        let _kept = &folder;
        let verdict = runtime.block_on(verifier.verify(&ctx));
        match verdict.map_err(|fault| wrong(fault.message))? {
            verdict if verdict.kind == VerdictKind::Pass => Ok(()),
            verdict => Err(wrong(verdict.reason)),
        }
    }))
}

/// As `figures` does it, on another runtime.
pub(super) fn attempts() -> Result<Work, BenchError> {
    let runtime = runtime()?;
    let store = StoreUrl::Memory.open().map_err(wrong)?;
    let engine = Engine::new(store, Arc::new(SystemClock));
    let this = std::env::current_exe().map_err(BenchError::io("find this program"))?;
    let mut round = 0_u32;
    Ok(Box::new(move || {
        round += 1;
        let run: RunId = format!("r-{round:06}").parse()?;
        let folder = tempfile::tempdir().map_err(BenchError::io("make a folder"))?;
        for number in 0..FILES {
            let path = folder.path().join(format!("{number}.txt"));
            std::fs::write(path, "text\n".repeat(100)).map_err(BenchError::io("write a file"))?;
        }
        let request = Request {
            task: "write hello to out.txt".to_owned(),
            workspace: Some(folder.path().to_path_buf()),
            expect: vec![expect::parse("file:out.txt,created").map_err(wrong)?],
            max_verify_retries: Some(i64::from(ATTEMPTS) - 1),
            ..Request::default()
        };
        let path = folder.path().join("out.txt");
        let delegate = FunctionDelegate::new("fake", move |asked| {
            let path = path.clone();
            async move {
                if asked.attempt == ATTEMPTS {
                    std::fs::write(path, "hello\n")
                        .map_err(|error| DelegateError::Failed { message: error.to_string() })?;
                }
                Ok(Answered::of(Claim::text("Done")))
            }
        });
        let ended = runtime.block_on(async {
            let workspace = open_workspace(&request)?;
            let programs = Programs::of(&this);
            let prepared = prepare_with(&request, run, &programs, workspace, Arc::new(delegate))?;
            Ok::<_, BenchError>(
                engine.run(prepared.plan, &Unwatched, CancellationToken::new()).await?,
            )
        })?;
        match ended.outcome {
            Outcome::Verified => Ok(()),
            other => Err(wrong(format!("the run ended {other}"))),
        }
    }))
}

fn runtime() -> Result<Runtime, BenchError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(BenchError::io("start the runtime"))
}
