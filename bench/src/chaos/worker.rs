//! The life of a worker, up to its kill.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use probity::engine::SystemClock;
use probity::worker::{Fleet, How, Worker, WorkerEvent, WorkerOptions, WorkerWatch};
use tokio_util::sync::CancellationToken;

use super::lives::Duty;
use super::side::Side;
use super::{agent, wrong};
use crate::error::BenchError;
use crate::fleet::hand::next_line;

/// Tells whoever started this process what ended, and people what went wrong.
struct Told;

impl WorkerWatch for Told {
    fn event(&self, event: &WorkerEvent) {
        match event {
            WorkerEvent::Rested { run, how: How::Ended { outcome, .. } } => {
                println!("ended {run} {outcome}");
            }
            WorkerEvent::Failed { .. } | WorkerEvent::Buried { .. } => {
                eprintln!("chaos: {event:?}")
            }
            _ => {}
        }
    }
}

/// Works until it is killed, or until there is nothing more to read.
pub(super) async fn live(duty: Duty) -> Result<(), BenchError> {
    let side = Arc::new(Side::open(Path::new(&duty.side))?);
    let model = Duration::from_millis(duty.model_ms);
    let verifier = Duration::from_millis(duty.verifier_ms);
    let tasks = agent::to_work(side, model, verifier)?;
    let mut options = WorkerOptions::new(duty.name.parse()?);
    options.concurrency = duty.concurrency;
    let store = duty.place.open().await?;
    let fleet = Fleet::new(Arc::clone(&store), Arc::new(SystemClock));
    let worker = Worker::new(store, Arc::new(SystemClock), tasks.planner(fleet), options);
    let drain = CancellationToken::new();
    let drained = drain.clone();
    let work = tokio::spawn(async move {
        worker.work(Arc::new(Told), drained, CancellationToken::new()).await
    });
    next_line().await?;
    drain.cancel();
    work.await.map(|_| ()).map_err(wrong)
}
