//! A host whose runs cannot be had.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{Begun, ConductError, DefinitionDiffers, Fork, Page};
use probity_core::RunId;
use probity_engine::SystemClock;
use probity_host::{Follow, Grant, Host, HostConfig, Runs, SystemIds, run_id, serve};
use probity_workflow::{
    Definition, Entry, Event, Input, Interrupt, InterruptKind, Owner, Refusal, Snapshot, Start,
    Status,
};
use reqwest::{Client, RequestBuilder};
use serde_json::Map;
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
    /// Every replay comes to another refusal.
    Refuse,
    /// What was waited for when somebody looked is over when somebody answers: the node waits anew.
    Supersede,
}

struct Broken(Break);

impl Broken {
    async fn ask<T>(&self) -> Result<T, ConductError> {
        match self.0 {
            Break::Panic => unreachable!("a secret of the host"),
            Break::Hang => std::future::pending().await,
            Break::Stop | Break::Refuse | Break::Supersede => Err(ConductError::Stopping),
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

    async fn tell(&self, run: &RunId, input: Input) -> Result<Snapshot, ConductError> {
        match (self.0, input) {
            (Break::Supersede, Input::Resolve { interrupt: Some(interrupt), .. }) => {
                assert_eq!(interrupt, "first");
                Err(ConductError::Refused(Refusal::Superseded { interrupt }))
            }
            (Break::Supersede, _) => Ok(failed(run)),
            _ => self.ask().await,
        }
    }

    async fn snapshot(&self, run: &RunId) -> Result<Option<Snapshot>, ConductError> {
        if !matches!(self.0, Break::Supersede) {
            return self.ask().await;
        }
        let interrupt = Interrupt {
            id: "first".to_owned(),
            kind: InterruptKind::Approval,
            key: String::new(),
            timeout_ms: None,
            resume_schema: None,
            data: Map::new(),
        };
        Ok(Some(Snapshot { interrupts: vec![("gate".to_owned(), interrupt)], ..failed(run) }))
    }

    async fn start(&self, _: &RunId) -> Result<Option<Start>, ConductError> {
        self.ask().await
    }

    async fn entries(
        &self,
        run: &RunId,
        from: u64,
        _: usize,
    ) -> Result<Option<Page>, ConductError> {
        if !matches!(self.0, Break::Refuse) {
            return self.ask().await;
        }
        let event = Event::ReplayDivergedAtRefusal {
            source: run.clone(),
            at_sequence: 7,
            was_refusal: false,
            is_refusal: true,
        };
        let entry = Entry { sequence: 0, at_ms: 0, node: None, cause: None, event };
        let entries = if from == 0 { vec![Arc::new(entry)] } else { Vec::new() };
        Ok(Some(Page { entries, is_complete: true }))
    }

    async fn follow(&self, _: &RunId, _: u64) -> Result<Option<Box<dyn Follow>>, ConductError> {
        self.ask().await
    }

    async fn fork(&self, _: &RunId, run: &RunId, _: Fork) -> Result<Begun, ConductError> {
        match self.0 {
            Break::Refuse => Ok(Begun { snapshot: failed(run), is_new: true }),
            _ => self.ask().await,
        }
    }

    async fn list(&self, _: Option<u64>, _: usize) -> Result<Vec<(RunId, u64)>, ConductError> {
        self.ask().await
    }

    fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)> {
        broadcast::Sender::new(1).subscribe()
    }
}

fn failed(run: &RunId) -> Snapshot {
    Snapshot {
        run: run.clone(),
        workflow: "w".to_owned(),
        owner: Owner { tenant: "acme".to_owned(), workspace: None, principal: None },
        origin: None,
        status: Status::Failed,
        current_node: None,
        variables: Map::new(),
        error: None,
        interrupts: Vec::new(),
        supervisor: None,
        success_criteria: None,
        withheld: Vec::new(),
        is_goal_satisfied: Some(false),
        started_ms: 0,
        changed_ms: 0,
        events: 1,
    }
}

async fn ask(config: HostConfig, how: Break, path: &str) -> Answer {
    let accept = |client: Client, url| client.get(url).header("accept", "text/event-stream");
    asked(config, how, path, accept).await
}

async fn asked(
    config: HostConfig,
    how: Break,
    path: &str,
    request: impl FnOnce(Client, String) -> RequestBuilder,
) -> Answer {
    let runs: Arc<dyn Runs> = Arc::new(Broken(how));
    let host = Host::new(config, runs, Arc::new(SystemClock), Arc::new(SystemIds)).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    tokio::spawn(serve(host, listener, stop));
    read(request(client(), url).bearer_auth(KEY).send().await.unwrap()).await
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

#[tokio::test]
async fn a_replay_that_parts_at_a_refusal_is_a_run_that_failed() {
    let path = format!("/v1/runs/{}:fork", run_id("acme", 1));
    for mode in ["replay", "branch"] {
        let body = format!("{{\"mode\": \"{mode}\"}}");
        let post = |client: Client, url| client.post(url).body(body);
        let answer = asked(config(), Break::Refuse, &path, post).await;
        assert_eq!(answer.status, 201, "{}", answer.json);
        assert_eq!(answer.json["status"], "failed");
    }
}

#[tokio::test]
async fn a_token_never_answers_a_later_question_of_its_node() {
    let run = run_id("acme", 1);
    let grant = Grant {
        run: run.to_string(),
        node: "gate".to_owned(),
        interrupt: "first".to_owned(),
        principal: "ada".to_owned(),
        expires_ms: u64::MAX,
    };
    let accept = |client: Client, url| client.post(url).body("{\"resumeValue\": \"accept\"}");
    let path = format!("/v1/interrupts/{}", grant.sign(&[7; 32]));
    let late = asked(config(), Break::Supersede, &path, accept).await;
    late.is_failure(410, "interrupt_expired");
    // Who names the node means whatever it waits for.
    let path = format!("/v1/runs/{run}/interrupts/gate");
    let answer = asked(config(), Break::Supersede, &path, accept).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
}
