//! A host whose runs cannot be had.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{Begun, ConductError, DefinitionDiffers, Fork, Page};
use probity_core::RunId;
use probity_engine::SystemClock;
use probity_host::{Follow, Host, HostConfig, Runs, SystemIds, run_id, serve};
use probity_workflow::{Definition, Entry, Input, Snapshot, Start};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::face::{Answer, KEY, client, config, read};

/// What happens to whoever asks.
#[derive(Clone, Copy)]
enum Break {
    Panic,
    Hang,
    Stop,
}

struct Broken(Break);

impl Broken {
    async fn ask<T>(&self) -> Result<T, ConductError> {
        match self.0 {
            Break::Panic => unreachable!("a secret of the host"),
            Break::Hang => std::future::pending().await,
            Break::Stop => Err(ConductError::Stopping),
        }
    }
}

#[async_trait]
impl Runs for Broken {
    fn definition(&self, _: &str) -> Option<Arc<Definition>> {
        None
    }

    fn define(&self, definition: Definition) -> Result<Arc<Definition>, DefinitionDiffers> {
        Ok(Arc::new(definition))
    }

    async fn begin(&self, _: &RunId, _: Start) -> Result<Begun, ConductError> {
        self.ask().await
    }

    async fn tell(&self, _: &RunId, _: Input) -> Result<Snapshot, ConductError> {
        self.ask().await
    }

    async fn snapshot(&self, _: &RunId) -> Result<Option<Snapshot>, ConductError> {
        self.ask().await
    }

    async fn start(&self, _: &RunId) -> Result<Option<Start>, ConductError> {
        self.ask().await
    }

    async fn entries(&self, _: &RunId, _: u64, _: usize) -> Result<Option<Page>, ConductError> {
        self.ask().await
    }

    async fn follow(&self, _: &RunId, _: u64) -> Result<Option<Box<dyn Follow>>, ConductError> {
        self.ask().await
    }

    async fn fork(&self, _: &RunId, _: &RunId, _: Fork) -> Result<Begun, ConductError> {
        self.ask().await
    }

    async fn list(&self, _: Option<u64>, _: usize) -> Result<Vec<(RunId, u64)>, ConductError> {
        self.ask().await
    }

    fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)> {
        broadcast::Sender::new(1).subscribe()
    }
}

async fn ask(config: HostConfig, how: Break, path: &str) -> Answer {
    let runs: Arc<dyn Runs> = Arc::new(Broken(how));
    let host = Host::new(config, runs, Arc::new(SystemClock), Arc::new(SystemIds)).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    tokio::spawn(serve(host, listener, stop));
    let request = client().get(url).bearer_auth(KEY).header("accept", "text/event-stream");
    read(request.send().await.unwrap()).await
}

fn paths() -> [String; 4] {
    let run = run_id("acme", 1);
    ["", "/events", "/events/poll?timeout=1", "/ancestry"].map(|end| format!("/v1/runs/{run}{end}"))
}

#[tokio::test]
async fn a_mistake_of_the_host_is_told_as_one_and_shows_nothing() {
    for path in paths() {
        let answer = ask(config(), Break::Panic, &path).await;
        answer.is_failure(500, "internal_error");
        assert!(!answer.json.to_string().contains("secret"));
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_told_so() {
    let mut config = config();
    config.limits.answer_timeout_ms = 50;
    for path in [&paths()[0], &paths()[1]] {
        let answer = ask(config.clone(), Break::Hang, path).await;
        answer.is_failure(503, "unavailable");
        assert_eq!(answer.headers["retry-after"], "1");
    }
}

#[tokio::test]
async fn who_asks_a_host_that_is_ending_is_told_to_come_again() {
    for path in paths() {
        ask(config(), Break::Stop, &path).await.is_failure(503, "unavailable");
    }
}
