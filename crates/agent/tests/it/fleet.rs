//! Workers for tests: on the time of tokio, in memory.

use std::future::Future;
use std::sync::{Arc, Mutex};

use probity_agent::{Agent, Agents, Done, SubmitOptions, Submitted};
use probity_core::{Event, RunId};
use probity_engine::read_entries;
use probity_store::{MemoryStore, Store, WorkStore};
use probity_testkit::VirtualClock;
use probity_worker::{Fleet, Worker, WorkerEvent, WorkerOptions, WorkerWatch};
use tokio_util::sync::CancellationToken;

use crate::stage::{Output, run_id};

/// What a worker told of itself.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<WorkerEvent>>>);

impl Seen {
    pub(crate) fn events(&self) -> Vec<WorkerEvent> {
        self.0.lock().unwrap().clone()
    }
}

impl WorkerWatch for Seen {
    fn event(&self, event: &WorkerEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

pub(crate) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new())
}

/// A store as it is seen from one place: all of them on one clock.
#[derive(Clone)]
pub(crate) struct Yard {
    pub(crate) clock: Arc<VirtualClock>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self { clock: Arc::new(VirtualClock::at(1_700_000_000_000)) }
    }

    pub(crate) fn fleet(&self, store: &Arc<dyn WorkStore>) -> Fleet {
        Fleet::new(store.clone(), self.clock.clone())
    }

    /// Works until something is over. Then the worker is gone, as by a crash.
    pub(crate) async fn works<F: Future>(
        &self,
        store: &Arc<dyn WorkStore>,
        name: &str,
        agents: Agents,
        until: F,
    ) -> F::Output {
        Box::pin(self.watched(store, name, agents, Seen::default(), until)).await
    }

    pub(crate) async fn watched<F: Future>(
        &self,
        store: &Arc<dyn WorkStore>,
        name: &str,
        agents: Agents,
        seen: Seen,
        until: F,
    ) -> F::Output {
        let options = WorkerOptions::new(name.parse().unwrap());
        let worker = Worker::new(store.clone(), self.clock.clone(), Arc::new(agents), options);
        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        let hours = std::time::Duration::from_secs(24 * 3600);
        let until = tokio::time::timeout(hours, Box::pin(until));
        tokio::select! {
            biased;
            ended = until => ended.expect("it does not end within a day"),
            tally = Box::pin(worker.work(Arc::new(seen), drain, stop)) => panic!("it went home: {tally:?}"),
        }
    }

    pub(crate) async fn submit(
        &self,
        store: &Arc<dyn WorkStore>,
        agent: &Agent<Output>,
        name: &str,
    ) -> Submitted<Output> {
        let options = SubmitOptions { run: Some(run_id(name)), ..SubmitOptions::default() };
        agent.submit(&self.fleet(store), "Fix it.", options).await.unwrap()
    }
}

/// The names of the events of a run.
pub(crate) async fn events(store: &Arc<dyn WorkStore>, run: &RunId) -> Vec<Event> {
    let entries = read_entries(store.as_ref() as &dyn Store, run).await.unwrap();
    entries.into_iter().map(|entry| entry.event).collect()
}

/// What must be the same however often a run changed hands.
pub(crate) fn told(done: &Done<Output>) -> (Output, u32, Vec<(String, bool)>) {
    let ledger = done.ledger.iter().map(|it| (it.candidate_hash.to_string(), it.counted));
    (done.result.clone(), done.verification.attempts_used, ledger.collect())
}
