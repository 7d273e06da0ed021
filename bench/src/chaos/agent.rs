//! The agent of every run: four outputs, of which the verifier rejects three. What it really does is
//! written beside the run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity::core::{Fault, RunId, Verdict};
use probity::engine::{Engine, SystemClock};
use probity::record::read_records;
use probity::store::{MemoryStore, Store, read_run};
use probity::verifier::{CheckContext, Verifier};
use probity_agent::chat::{Call, FINAL_OUTPUT, Model, ModelError, ModelReply, ModelRequest};
use tokio_util::sync::CancellationToken;

use super::proof::{self, Row};
use super::side::Side;
use super::wrong;
use crate::error::BenchError;
use crate::face::Unwatched;
use crate::fleet::mode::{GOOD_SCORE, score_of};
use crate::fleet::tasks::Tasks;

/// Verdicts of a run.
pub(super) const VERDICTS: usize = 4;

/// Asked, writes that down, takes its time, hands in another output every time.
struct Noting {
    side: Option<Arc<Side>>,
    latency: Duration,
}

/// Looks, writes that down, takes its time.
struct Looking {
    side: Option<Arc<Side>>,
    latency: Duration,
}

/// The runs as whoever submits them has them: nobody is asked anything.
pub(super) fn to_submit() -> Result<Tasks, BenchError> {
    tasks(None, Duration::ZERO, Duration::ZERO)
}

/// The runs as those have them that work on them.
pub(super) fn to_work(
    side: Arc<Side>,
    model: Duration,
    verifier: Duration,
) -> Result<Tasks, BenchError> {
    tasks(Some(side), model, verifier)
}

/// The verdicts of a run that nobody harms.
pub(super) async fn unharmed(side: &Path) -> Result<Vec<Row>, BenchError> {
    let side = Arc::new(Side::open(side)?);
    let tasks = to_work(side, Duration::ZERO, Duration::ZERO)?;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let engine = Engine::new(Arc::clone(&store), Arc::new(SystemClock));
    let run: RunId = "unharmed".parse()?;
    engine.run(tasks.plan(&run), &Unwatched, CancellationToken::new()).await?;
    let records = read_run(store.as_ref(), &run).await.map_err(wrong)?;
    let rows = proof::rows(&read_records(&records).map_err(wrong)?.entries);
    if rows.len() != VERDICTS {
        return Err(wrong(format!("a run that nobody harmed has the verdicts {rows:?}")));
    }
    Ok(rows)
}

fn tasks(
    side: Option<Arc<Side>>,
    model: Duration,
    verifier: Duration,
) -> Result<Tasks, BenchError> {
    let noting = Noting { side: side.clone(), latency: model };
    let mut tasks = Tasks::new(Arc::new(noting)).output()?;
    tasks.verifier = Some(Arc::new(Looking { side, latency: verifier }));
    Ok(tasks)
}

#[async_trait]
impl Model for Noting {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let number = request.number;
        // Written before the answer is given: what a log holds must stand there.
        let name = match &self.side {
            Some(side) => side.model(request.run, number),
            None => Ok("nobody".to_owned()),
        };
        let name =
            name.map_err(|error| ModelError::Refused { status: None, message: error.to_string() })?;
        tokio::time::sleep(self.latency).await;
        Ok(ModelReply::calls([Call {
            id: name,
            name: FINAL_OUTPUT.to_owned(),
            arguments: format!("{{\"summary\":\"same\",\"score\":{number}}}"),
        }]))
    }

    fn identity(&self) -> String {
        "noting".to_owned()
    }
}

#[async_trait]
impl Verifier for Looking {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let score = score_of(ctx);
        if let (Some(side), Some(submission)) = (&self.side, &ctx.submission) {
            side.verifier(submission)
                .map_err(|error| Fault::new("side_file", error.to_string()))?;
        }
        tokio::time::sleep(self.latency).await;
        if score >= GOOD_SCORE {
            return Ok(Verdict::pass());
        }
        Ok(Verdict::revise("too_low", format!("the score {score} is below {GOOD_SCORE}")))
    }
}
