//! The host of these tests, on loopback, with critics that count.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use probity_conductor::{Conductor, ConductorOptions, Delegations, DelegationsError, Ended, Job};
use probity_conformance::{Filter, Key, Kit, Options, Report, Silent};
use probity_core::{Code, RunId};
use probity_egress::PrivateRule;
use probity_engine::SystemClock;
use probity_host::{Conducted, Courier, Host, HostConfig, Keys, Runs, SystemIds, serve};
use probity_store::{MemoryStore, WorkStore};
use probity_workflow::{Judgement, MockVerdict};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::broken::{Broken, Rule};

const KEY: &str = "own-key-0123456789";
const OTHER_KEY: &str = "own-key-of-another-tenant";
const KEYS: &str = r#"
[[key]]
key_env = "own-key-0123456789"
tenant = "acme"
[[key]]
key_env = "own-key-of-another-tenant"
tenant = "other"
"#;

/// Critics that say what the definition has them say, break where it has them break, and never answer
/// where it has them hang.
#[derive(Default)]
pub(crate) struct Stated {
    /// How often one was asked.
    pub(crate) asked: AtomicU64,
}

/// A host that listens, and a client of it.
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) runs: Arc<dyn Runs>,
    pub(crate) critics: Arc<Stated>,
    client: reqwest::Client,
}

#[async_trait]
impl Delegations for Stated {
    async fn begin(&self, _: &RunId, _: &Job) -> Result<(), DelegationsError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn ended(&self, _: &RunId, job: &Job) -> Result<Ended, DelegationsError> {
        let never = |word: &'static str| DelegationsError::Never {
            code: Code::slug(word),
            message: word.to_owned(),
        };
        let Job::Verify { digest, mock, .. } = job else { return Err(never("no_delegate")) };
        let verdict = match mock {
            Some(MockVerdict::Fail) => Judgement::Fail,
            Some(MockVerdict::Revise) => Judgement::Revise,
            Some(MockVerdict::Fault) => return Err(never("check_panicked")),
            Some(MockVerdict::Hang) => std::future::pending().await,
            _ => Judgement::Pass,
        };
        let (candidate, criteria) = (digest.clone(), vec![Code::slug("grounded")]);
        Ok(Ended::Verdict { candidate, verdict, criteria, confidence: Some(0.9) })
    }

    async fn stop(&self, _: &RunId, _: &str) -> Result<(), DelegationsError> {
        Ok(())
    }
}

impl Served {
    pub(crate) async fn start(rule: Option<Rule>) -> Self {
        Self::with(rule, true).await
    }

    /// The same as it is in production: nobody opened the seams.
    pub(crate) async fn without_seams() -> Self {
        Self::with(None, false).await
    }

    async fn with(rule: Option<Rule>, has_conformance_seams: bool) -> Self {
        let keys = Keys::parse(KEYS, |name| Some(name.to_owned())).unwrap();
        // The kit listens for webhooks on loopback: a host refuses that unless it is told otherwise.
        let loopback = vec!["127.0.0.1/32".parse::<PrivateRule>().unwrap()];
        let config = HostConfig {
            has_conformance_seams,
            courier: Courier::new(loopback),
            ..HostConfig::new(keys, [7; 32])
        };
        let store: Arc<dyn WorkStore> = Arc::new(MemoryStore::new());
        let (clock, critics) = (Arc::new(SystemClock), Arc::new(Stated::default()));
        let conductor = Conductor::new(
            Arc::clone(&store),
            clock.clone(),
            critics.clone(),
            ConductorOptions::default(),
        );
        let runs = Conducted::new(conductor, store);
        let runs: Arc<dyn Runs> = match rule {
            Some(rule) => Arc::new(Broken { runs, rule }),
            None => Arc::new(runs),
        };
        let host = Host::new(config, Arc::clone(&runs), clock, Arc::new(SystemIds)).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(host, listener, CancellationToken::new()));
        Self { url, runs, critics, client: client() }
    }

    /// What comes of a run of the kit.
    pub(crate) async fn kit(&self, filter: Filter) -> Report {
        let mut options = Options::new("a mark of this test");
        options.other_tenant = Some(Key::new(OTHER_KEY));
        options.receiver = Some((Ipv4Addr::LOCALHOST, 0).into());
        let kit = Kit::new(&self.url, Key::new(KEY), options).unwrap();
        kit.run(&filter, &Silent).await.unwrap()
    }

    pub(crate) async fn text(&self, path: &str) -> String {
        let request = self.ask(Method::GET, path).header("accept", "application/json");
        request.send().await.unwrap().text().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(path).await).unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.told(Method::POST, path, &body.to_string()).await;
        assert!((200..300).contains(&status), "POST {path}: {status} {answer}");
        answer
    }

    /// Status and body of an answer.
    pub(crate) async fn told(&self, method: Method, path: &str, body: &str) -> (u16, Value) {
        let request = self.ask(method, path).body(body.to_owned());
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        (status, serde_json::from_str(&text).unwrap())
    }

    /// A run, from its beginning to its end.
    pub(crate) async fn ended(&self, workflow: &str, mut body: Value) -> String {
        body["workflowId"] = workflow.into();
        let created = self.post("/v1/runs", &body).await;
        let run = created["runId"].as_str().unwrap().to_owned();
        self.is_ended(&run).await;
        run
    }

    /// Waits for the end of a run, as the host offers it.
    pub(crate) async fn is_ended(&self, run: &str) {
        loop {
            let page = self.get(&format!("/v1/runs/{run}/events/poll?timeout=20")).await;
            if page["isComplete"] == true {
                return;
            }
            let last = page["events"].as_array().unwrap().last().unwrap()["sequence"].clone();
            let path = format!("/v1/runs/{run}/events/poll?timeout=20&lastSequence={last}");
            self.get(&path).await;
        }
    }

    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(KEY)
    }
}

fn client() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
    builder.retry(reqwest::retry::never()).build().unwrap()
}
