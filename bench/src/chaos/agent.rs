//! The agent of every run: four outputs, of which the verifier rejects three. What it really does is
//! written beside the run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity::core::RunId;
use probity::record::read_records;
use probity::store::{MemoryStore, Store, read_run};
use probity_agent::chat::{Call, FINAL_OUTPUT, Model, ModelError, ModelReply, ModelRequest};
use probity_agent::{Agent, Reject, RunOptions, Submission};

use super::proof::{self, Row};
use super::side::Side;
use super::wrong;
use crate::error::BenchError;
use crate::fleet::mode::{GOOD_SCORE, good_from};
use crate::fleet::tasks::{Answer, INSTRUCTIONS, TASK, Tasks};

/// Verdicts of a run.
pub(super) const VERDICTS: usize = 4;

/// Asked, writes that down, takes its time, hands in another output every time.
struct Noting {
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
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (run, none): (RunId, _) = ("unharmed".parse()?, Duration::ZERO);
    let agent = agent(Some(side), none, none, Arc::clone(&store))?;
    let options = RunOptions { run: Some(run.clone()), ..RunOptions::default() };
    agent.run_with(TASK, options).await.map_err(wrong)?;
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
    // The store of the worker is the one that counts.
    agent(side, model, verifier, Arc::new(MemoryStore::new())).map(Tasks::Typed)
}

fn agent(
    side: Option<Arc<Side>>,
    model: Duration,
    verifier: Duration,
    store: Arc<dyn Store>,
) -> Result<Agent<Answer>, BenchError> {
    let looked = side.clone();
    let verify = move |answer: Answer, submission: Submission| {
        let looked = looked.clone();
        async move {
            if let Some(looked) = looked {
                looked.verifier(&submission.id).map_err(Reject::system)?;
            }
            tokio::time::sleep(verifier).await;
            good_from(GOOD_SCORE, answer)
        }
    };
    Agent::builder(INSTRUCTIONS)
        .name("noting")
        .model(Noting { side, latency: model })
        .store(store)
        .max_interruptions(1000)
        .output::<Answer>()
        .verifier(verify)
        .verifier_max_attempts(GOOD_SCORE + 2)
        .build()
        .map_err(wrong)
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
        let refused = |message: String| ModelError::Refused { status: None, message };
        let name = name.map_err(|error| refused(error.to_string()))?;
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
