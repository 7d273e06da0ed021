//! A host on loopback, on a real conductor and a store in memory, and a plain client.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{Conductor, ConductorOptions, Delegations, DelegationsError, Ended, Job};
use probity_core::{Code, RunId};
use probity_engine::SystemClock;
use probity_host::{Conducted, Host, HostConfig, Keys, Runs, SystemIds, schema, serve};
use probity_store::{MemoryStore, WorkStore};
use probity_workflow::{Judgement, MockVerdict};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The key that may everything, of the tenant `acme`.
pub(crate) const KEY: &str = "acme-key";
/// The key of another tenant.
pub(crate) const OTHER: &str = "other-key";
/// A key of `acme` that may only read.
pub(crate) const READER: &str = "reader-key";

const KEYS: &str = r#"
[[key]]
key_env = "acme-key"
tenant = "acme"
principal = "ada"
[[key]]
key_env = "other-key"
tenant = "other"
[[key]]
key_env = "reader-key"
tenant = "acme"
scopes = ["runs:read"]
"#;

/// Critics that say what the definition has them say.
struct Mocked;

#[async_trait]
impl Delegations for Mocked {
    async fn begin(&self, _: &RunId, _: &Job) -> Result<(), DelegationsError> {
        Ok(())
    }

    async fn ended(&self, _: &RunId, job: &Job) -> Result<Ended, DelegationsError> {
        let (code, message) = (Code::slug("no_delegate"), "no delegate".to_owned());
        let Job::Verify { digest, mock, .. } = job else {
            return Err(DelegationsError::Never { code, message });
        };
        let verdict = match mock {
            Some(MockVerdict::Fail) => Judgement::Fail,
            Some(MockVerdict::Revise) => Judgement::Revise,
            _ => Judgement::Pass,
        };
        let (candidate, criteria) = (digest.clone(), vec![Code::slug("grounded")]);
        Ok(Ended::Verdict { candidate, verdict, criteria, confidence: Some(0.9) })
    }

    async fn stop(&self, _: &RunId, _: &str) -> Result<(), DelegationsError> {
        Ok(())
    }
}

/// A host that listens until it is dropped.
pub(crate) struct Face {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<dyn WorkStore>,
    pub(crate) stop: CancellationToken,
    /// Ends once it is stopped.
    pub(crate) serving: JoinHandle<io::Result<()>>,
    client: reqwest::Client,
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) json: Value,
}

pub(crate) fn config() -> HostConfig {
    let keys = Keys::parse(KEYS, |name| Some(name.to_owned())).unwrap();
    HostConfig { has_conformance_seams: true, ..HostConfig::new(keys, [7; 32]) }
}

impl Face {
    pub(crate) async fn new() -> Self {
        Self::with(config()).await
    }

    pub(crate) async fn with(config: HostConfig) -> Self {
        Self::on(config, Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn on(config: HostConfig, store: Arc<dyn WorkStore>) -> Self {
        let (clock, options) = (Arc::new(SystemClock), ConductorOptions::default());
        let conductor =
            Conductor::new(Arc::clone(&store), clock.clone(), Arc::new(Mocked), options);
        let runs: Arc<dyn Runs> = Arc::new(Conducted::new(conductor, Arc::clone(&store)));
        let host = Host::new(config, runs, clock, Arc::new(SystemIds)).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(host, listener, stop.clone()));
        Self { address, store, stop, serving, client: client() }
    }

    /// A request with the key that may everything.
    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(KEY)
    }

    /// A request without a key.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        done(self.ask(Method::GET, path).header("accept", "application/json")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        done(self.ask(Method::POST, path).body(body.to_string())).await
    }

    /// Begins a run and gives its name.
    pub(crate) async fn begin(&self, workflow: &str) -> String {
        self.begin_with(json!({"workflowId": workflow})).await
    }

    pub(crate) async fn begin_with(&self, body: Value) -> String {
        let answer = self.post("/v1/runs", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.json);
        holds("RunCreated", &answer.json);
        answer.text("runId")
    }

    /// Waits for the end of a run, as callers do, and gives its events.
    pub(crate) async fn to_end(&self, run: &str) -> Vec<Value> {
        self.until(run, |page| page["isComplete"] == true).await
    }

    /// Waits until somebody is asked.
    pub(crate) async fn to_wait(&self, run: &str) -> Vec<Value> {
        let asked = |page: &Value| {
            let events = page["events"].as_array().unwrap();
            events.iter().any(|event| event["type"] == "interrupt.requested")
        };
        self.until(run, asked).await
    }

    async fn until(&self, run: &str, is_there: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut last = -1;
        for _ in 0..1_000 {
            let page = self.get(&format!("/v1/runs/{run}/events/poll")).await.json;
            if is_there(&page) {
                holds("EventPage", &page);
                return page["events"].as_array().unwrap().clone();
            }
            let events = page["events"].as_array().unwrap();
            last = events.last().map_or(last, |event| event["sequence"].as_i64().unwrap());
            self.get(&format!("/v1/runs/{run}/events/poll?lastSequence={last}&timeout=10")).await;
        }
        unreachable!("run {run} does not come to it")
    }

    pub(crate) async fn snapshot(&self, run: &str) -> Value {
        let answer = self.get(&format!("/v1/runs/{run}")).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        holds("RunSnapshot", &answer.json);
        answer.json
    }
}

impl Drop for Face {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Answer {
    pub(crate) fn text(&self, member: &str) -> String {
        self.json[member].as_str().unwrap().to_owned()
    }

    /// The answer is the closed envelope, with that status and that word.
    pub(crate) fn is_failure(&self, status: u16, word: &str) {
        assert_eq!(
            (self.status, self.json["error"].as_str()),
            (status, Some(word)),
            "{}",
            self.json
        );
        holds("Error", &self.json);
        assert_eq!(self.headers["content-type"], "application/json");
    }
}

/// Reads an answer. Whatever is no success must be the closed envelope.
pub(crate) async fn done(request: RequestBuilder) -> Answer {
    read(request.send().await.unwrap()).await
}

pub(crate) async fn read(response: Response) -> Answer {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    let json = serde_json::from_str(&text).unwrap_or_default();
    let answer = Answer { status, headers, json };
    if status >= 400 {
        holds("Error", &answer.json);
    }
    answer
}

/// Fails unless a value has that shape.
pub(crate) fn holds(shape: &str, value: &Value) {
    let validator = jsonschema::validator_for(&schema(shape)).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "no {shape}: {value:#}\n{problems:?}");
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// A client that trusts nobody: everything here is plain HTTP.
pub(crate) fn client() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .retry(reqwest::retry::never())
        .build()
        .unwrap()
}
