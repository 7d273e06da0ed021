//! One rejected attempt: a claim, a `file` check, a snapshot, a record.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probity::core::{Claim, Outcome, RunId};
use probity::delegate::{Answered, DelegateError, FunctionDelegate};
use probity::engine::{Engine, SystemClock};
use probity::location::{Programs, StoreUrl};
use probity::store::Store;
use probity::verifier::expect;
use probity::{Request, open_workspace, prepare_with};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{ATTEMPTS, FILES};
use crate::error::BenchError;
use crate::face::Unwatched;
use crate::stopwatch::{median, ms};

/// One way to keep the record.
#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    pub(super) store: &'static str,
    /// A run of ten attempts, by ten.
    pub(super) per_attempt_ms: f64,
    /// A run of one attempt, whole.
    pub(super) one_shot_ms: f64,
    /// The difference of the two runs by the nine attempts that one has more.
    pub(super) further_attempt_ms: f64,
}

/// Both stores.
pub(super) async fn measure(
    loops: usize,
    folder: &Path,
    this: &Path,
) -> Result<Vec<Attempt>, BenchError> {
    let mut figures = Vec::new();
    for store in ["memory", "sqlite, synchronous=FULL"] {
        let home = tempfile::tempdir_in(folder).map_err(BenchError::io("make a folder"))?;
        let url = match store {
            "memory" => StoreUrl::Memory,
            _ => StoreUrl::Sqlite(home.path().join("runs.db")),
        };
        let open = || url.open().map_err(|error| wrong(error.to_string()));
        let store_handle = open()?;
        let long = total(loops, ATTEMPTS, &store_handle, this).await?;
        let short = total(loops, 1, &store_handle, this).await?;
        figures.push(Attempt {
            store,
            per_attempt_ms: ms(long) / f64::from(ATTEMPTS),
            one_shot_ms: ms(short),
            further_attempt_ms: ms(long.saturating_sub(short)) / f64::from(ATTEMPTS - 1),
        });
    }
    Ok(figures)
}

/// Median time of a run that is accepted on its last attempt.
async fn total(
    loops: usize,
    attempts: u32,
    store: &Arc<dyn Store>,
    this: &Path,
) -> Result<Duration, BenchError> {
    let mut times = Vec::new();
    // The first few warm up.
    for round in 0..loops + 3 {
        let time = once(&format!("r{attempts}-{round}"), attempts, store, this).await?;
        if round >= 3 {
            times.push(time);
        }
    }
    Ok(median(times))
}

async fn once(
    name: &str,
    attempts: u32,
    store: &Arc<dyn Store>,
    this: &Path,
) -> Result<Duration, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::io("make a folder"))?;
    for number in 0..FILES {
        let path = folder.path().join(format!("{number}.txt"));
        std::fs::write(path, "text\n".repeat(100)).map_err(BenchError::io("write a file"))?;
    }
    let request = Request {
        task: "write hello to out.txt".to_owned(),
        workspace: Some(folder.path().to_path_buf()),
        expect: vec![expect::parse("file:out.txt,created").map_err(|e| wrong(e.to_string()))?],
        max_verify_retries: Some(i64::from(attempts) - 1),
        ..Request::default()
    };
    let path = folder.path().join("out.txt");
    let delegate = FunctionDelegate::new("fake", move |asked| {
        let path = path.clone();
        async move {
            if asked.attempt == attempts {
                std::fs::write(path, "hello\n")
                    .map_err(|error| DelegateError::Failed { message: error.to_string() })?;
            }
            Ok(Answered::of(Claim::text("Done")))
        }
    });
    let run: RunId = name.parse()?;
    let workspace = open_workspace(&request)?;
    let engine = Engine::new(Arc::clone(store), Arc::new(SystemClock));
    let programs = Programs::of(this);
    let started = Instant::now();
    let prepared = prepare_with(&request, run, &programs, workspace, Arc::new(delegate))?;
    let ended = engine.run(prepared.plan, &Unwatched, CancellationToken::new()).await?;
    let elapsed = started.elapsed();
    if ended.outcome != Outcome::Verified {
        return Err(wrong(format!("the run ended {}", ended.outcome)));
    }
    Ok(elapsed)
}

const fn wrong(detail: String) -> BenchError {
    BenchError::Measure { what: "an attempt", detail }
}
