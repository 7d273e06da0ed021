//! A host that takes delegations, with a worker beside it: the engine is the real one, and so is the store's
//! queue. Delegates and checks do what the request has them do.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_conductor::{Conductor, ConductorOptions, FleetDelegations};
use probity_core::{
    CheckDecl, Claim, Code, Fault, OnFailure, Outcome, Policy, RedFirst, RunId, Subject, Verdict,
};
use probity_delegate::{Answered, Delegate, DelegateError, FunctionDelegate};
use probity_engine::{Check, Plan, SystemClock};
use probity_host::{
    Conducted, Exporter, Failure, FleetDelegated, Host, HostConfig, IndexedBoard, Keys, Runs,
    Submission, Submitter, SystemIds, serve,
};
use probity_store::{MemoryStore, Pool, WorkStore};
use probity_verifier::{CheckContext, NoFacts, Verifier, Workspace};
use probity_worker::{Fleet, PlanError, Planner, Worker, WorkerEvent, WorkerOptions, WorkerWatch};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::face::{Answer, client, done, holds};

/// The key that may everything, of the tenant `acme`.
pub(crate) const ALL: &str = "acme-all";
/// A key of `acme` that may read all but content.
pub(crate) const BLIND: &str = "acme-blind";
/// A key of `acme` that may submit and nothing else.
pub(crate) const SUBMITTER: &str = "acme-submit";
/// The key of another tenant.
pub(crate) const OTHER: &str = "other-all";
/// The key of the tenant whose runs carry no mark of their own.
pub(crate) const DEFAULT: &str = "default-all";
/// What stands in every content.
pub(crate) const CANARY: &str = "CANARY-4711";

const KEYS: &str = r#"
[[key]]
key_env = "acme-all"
tenant = "acme"
principal = "ada"
[[key]]
key_env = "acme-blind"
tenant = "acme"
scopes = ["runs:read", "runs:cancel", "waivers:create"]
[[key]]
key_env = "acme-submit"
tenant = "acme"
scopes = ["delegations:create"]
[[key]]
key_env = "other-all"
tenant = "other"
[[key]]
key_env = "default-all"
"#;

/// Plans by what the request says: `says` (the claims, in turn), `check`, `escalate`, `broken`.
struct Scripted;

impl Scripted {
    fn plan_of(run: &RunId, bytes: Vec<u8>) -> Plan {
        let request: Value = serde_json::from_slice(&bytes).unwrap();
        let (delegate, workspace) = (delegate(request.clone()), Arc::new(Workspace::none()));
        let on_exhausted = match request["escalate"] == true {
            true => OnFailure::Escalate,
            false => OnFailure::Reject,
        };
        let policy = Policy {
            max_attempts: 2,
            max_verify_tries: 1,
            red_first: RedFirst::Off,
            on_exhausted,
            ..Policy::default()
        };
        let task = request["task"].as_str().unwrap();
        Plan {
            request: bytes,
            policy,
            checks: check(request["check"].as_str().unwrap_or("good")).into_iter().collect(),
            ..Plan::new(run.clone(), task, delegate, workspace, Arc::new(NoFacts))
        }
    }
}

fn delegate(request: Value) -> Arc<dyn Delegate> {
    Arc::new(FunctionDelegate::new("scripted", move |asked| {
        let request = request.clone();
        async move {
            if request["broken"] == true {
                let (status, stderr_tail) = ("exit status 2".to_owned(), CANARY.to_owned());
                return Err(DelegateError::Exit { status, stderr_tail });
            }
            let Some(says) = request["says"].as_str() else {
                asked.cancel.cancelled().await;
                return Err(DelegateError::Cancelled);
            };
            Ok(Answered::of(Claim::text(format!("{says} {CANARY}"))))
        }
    }))
}

/// Judges by its name; claims that begin with `good` are so.
struct Judge(String);

#[async_trait]
impl Verifier for Judge {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        match self.0.as_str() {
            "fail" => Ok(Verdict::fail("scripted_fail", CANARY)),
            "inconclusive" => Ok(Verdict::inconclusive("scripted_silence", CANARY)),
            "fault" => Err(Fault::new("scripted_fault", CANARY)),
            _ if ctx.claim.response.starts_with("good") => Ok(Verdict::pass()),
            _ => Ok(Verdict::revise("not_good", format!("it is not: {CANARY}"))),
        }
    }
}

fn check(name: &str) -> Option<Check> {
    let decl = CheckDecl { id: Code::slug("good"), subject: Subject::Claim, timeout_ms: 10_000 };
    (name != "none").then(|| Check::verifier(decl, Arc::new(Judge(name.to_owned()))))
}

#[async_trait]
impl Planner for Scripted {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        Ok(Self::plan_of(run, request))
    }
}

#[async_trait]
impl Submitter for Scripted {
    async fn submission(&self, run: &RunId, request: Value) -> Result<Submission, Failure> {
        if request["check"] == "unheard-of" {
            return Err(Failure::invalid("/check", "is not known"));
        }
        let pool = request["pool"].as_str().map(|pool| pool.parse().unwrap());
        let plan = Self::plan_of(run, serde_json::to_vec(&request).unwrap());
        Ok(Submission { plan, pool, warnings: Vec::new() })
    }

    async fn is_stale(&self, _: &RunId) -> Result<Option<bool>, Failure> {
        Ok(Some(false))
    }
}

#[async_trait]
impl Exporter for Scripted {
    async fn bundle(&self, run: &RunId) -> Result<Vec<u8>, Failure> {
        Ok(format!("bundle of {run}").into_bytes())
    }
}

struct Deaf;

impl WorkerWatch for Deaf {
    fn event(&self, _: &WorkerEvent) {}
}

/// A host and a worker, until they are dropped.
pub(crate) struct Desk {
    address: std::net::SocketAddr,
    pub(crate) store: Arc<dyn WorkStore>,
    client: reqwest::Client,
    stop: CancellationToken,
    _worker: AbortOnDropHandle<()>,
}

impl Desk {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn on(store: Arc<dyn WorkStore>) -> Self {
        let (clock, planner) = (Arc::new(SystemClock), Arc::new(Scripted));
        let fleet = Fleet::new(Arc::clone(&store), clock.clone());
        let delegations = FleetDelegations::new(fleet.clone(), planner.clone(), Pool::default());
        let conductor = Conductor::new(
            Arc::clone(&store),
            clock.clone(),
            Arc::new(delegations),
            ConductorOptions::default(),
        );
        let runs: Arc<dyn Runs> = Arc::new(Conducted::new(conductor, Arc::clone(&store)));
        let delegated = Arc::new(FleetDelegated::new(
            fleet,
            clock.clone(),
            planner.clone(),
            planner.clone(),
            planner.clone(),
        ));
        let keys = Keys::parse(KEYS, |name| Some(name.to_owned())).unwrap();
        let config = HostConfig::new(keys, [7; 32]);
        let index = probity_projection::Index::in_memory("desk").unwrap();
        let board = Arc::new(IndexedBoard::new(index, Arc::clone(&store), clock.clone()));
        let ids = Arc::new(SystemIds);
        let host = Host::with_board(config, runs, delegated, board, clock.clone(), ids).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve(host, listener, stop.clone()));
        let options = WorkerOptions::new("desk".parse().unwrap());
        let worker = Worker::new(Arc::clone(&store), clock, planner, options);
        let stopped = stop.clone();
        let working = tokio::spawn(async move {
            worker.work(Arc::new(Deaf), CancellationToken::new(), stopped).await;
        });
        let worker = AbortOnDropHandle::new(working);
        Self { address, store, client: client(), stop, _worker: worker }
    }

    pub(crate) fn ask(&self, key: &str, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address)).bearer_auth(key)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.get_as(ALL, path).await
    }

    pub(crate) async fn get_as(&self, key: &str, path: &str) -> Answer {
        done(self.ask(key, Method::GET, path).header("accept", "application/json")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(ALL, path, body).await
    }

    pub(crate) async fn post_as(&self, key: &str, path: &str, body: &Value) -> Answer {
        done(self.ask(key, Method::POST, path).body(body.to_string())).await
    }

    /// Submits a delegation and gives its name.
    pub(crate) async fn submit(&self, body: Value) -> String {
        let answer = self.post("/api/v1/delegations", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.json);
        holds("DelegationSubmitted", &answer.json);
        answer.text("runId")
    }

    /// Everything that is told of a run as it happens, to its seal.
    pub(crate) async fn to_seal(&self, run: &str) -> String {
        let path = place(run, "/events");
        let told = self.ask(ALL, Method::GET, &path).send().await.unwrap();
        assert_eq!(told.headers()["content-type"], "text/event-stream");
        told.text().await.unwrap()
    }

    /// Submits a delegation that comes to that outcome, and waits for it.
    pub(crate) async fn ended(&self, outcome: Outcome) -> String {
        let run = self.submit(request(outcome)).await;
        match outcome {
            Outcome::Escalated => self.to_event(&run, "run.escalated").await,
            Outcome::Cancelled => {
                self.to_event(&run, "delegate.dispatched").await;
                let answer = self.post(&place(&run, "/cancel"), &json!({"reason": CANARY})).await;
                assert_eq!(answer.status, 202, "{}", answer.json);
                holds("DelegationTold", &answer.json);
                self.to_seal(&run).await;
            }
            _ => drop(self.to_seal(&run).await),
        }
        run
    }

    /// Waits until a run's log holds an event of that type.
    pub(crate) async fn to_event(&self, run: &str, kind: &str) {
        let id: RunId = run.parse().unwrap();
        let mut len = 0;
        for _ in 0..1_000 {
            let page = self.get(&place(run, "/events")).await.json;
            let events = page["events"].as_array().unwrap();
            if events.iter().any(|event| event["type"] == kind) {
                return;
            }
            assert_eq!(page["isComplete"], false, "{run} ended without {kind}");
            len = len.max(u64::try_from(events.len()).unwrap());
            self.store.wait_beyond(&id, len, Duration::from_secs(20)).await.unwrap();
        }
        unreachable!("{run} does not come to {kind}")
    }

    pub(crate) async fn may_merge(&self, run: &str, query: &str) -> Value {
        let answer = self.get(&place(run, &format!("/may-merge{query}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        holds("MayMerge", &answer.json);
        answer.json
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn place(run: &str, rest: &str) -> String {
    format!("/api/v1/delegations/{run}{rest}")
}

/// A request that comes to that outcome.
pub(crate) fn request(outcome: Outcome) -> Value {
    let task = format!("be good {CANARY}");
    match outcome {
        Outcome::Verified => json!({"task": task, "says": "good", "kind": "honest"}),
        Outcome::Exhausted => json!({"task": task, "says": "done", "kind": "liar"}),
        Outcome::Rejected => json!({"task": task, "says": "done", "check": "fail"}),
        Outcome::Inconclusive => json!({"task": task, "says": "done", "check": "inconclusive"}),
        Outcome::Unverified => json!({"task": task, "says": "done", "check": "none"}),
        Outcome::Faulted => json!({"task": task, "says": "done", "check": "fault"}),
        Outcome::DelegateFailed => json!({"task": task, "broken": true}),
        Outcome::Cancelled => json!({"task": task}),
        Outcome::Escalated => json!({"task": task, "says": "done", "escalate": true}),
    }
}
