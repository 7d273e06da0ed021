//! A small engine that runs the fixtures, for the host of these tests. It is honest unless told to lie.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use crate::hook::Hooks;
use crate::lie::Lie;

pub(crate) struct Engine {
    pub(crate) lie: Option<Lie>,
    runs: Mutex<BTreeMap<String, Run>>,
    definitions: Mutex<BTreeMap<String, Value>>,
    next: AtomicU64,
    pub(crate) changed: watch::Sender<u64>,
    pub(crate) hooks: Hooks,
    /// How often a log was read.
    pub(crate) reads: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct Run {
    pub(crate) workflow: String,
    pub(crate) status: &'static str,
    pub(crate) events: Vec<Value>,
    pub(crate) variables: Map<String, Value>,
    pub(crate) node: Option<String>,
    pub(crate) error: Option<Value>,
    pub(crate) supervisor: Option<String>,
    pub(crate) parent: Option<(String, String)>,
    waits: Option<(String, Vec<&'static str>, oneshot::Sender<Value>)>,
    task: Option<AbortHandle>,
    /// Its task may be at work for a while yet: nothing that it does then counts.
    is_stopped: bool,
    starts: u64,
}

/// An event before it has a place.
pub(crate) struct Told {
    kind: &'static str,
    node: Option<String>,
    cause: Option<String>,
    payload: Value,
}

/// Why a run fails, after what is told first.
pub(crate) struct Fails {
    pub(crate) code: &'static str,
    pub(crate) first: Option<Value>,
}

pub(crate) type Doing<T> = Pin<Box<dyn Future<Output = Result<T, Fails>> + Send>>;

pub(crate) fn told(kind: &'static str, payload: Value) -> Told {
    Told { kind, node: None, cause: None, payload }
}

impl Told {
    pub(crate) fn at(mut self, node: &str) -> Self {
        self.node = Some(node.to_owned());
        if let Some(payload) = self.payload.as_object_mut()
            && self.kind.starts_with("node.")
        {
            payload.insert("nodeId".to_owned(), json!(node));
        }
        self
    }

    pub(crate) fn add(&mut self, name: &str, value: Value) {
        self.payload[name] = value;
    }

    pub(crate) fn because(mut self, cause: &str) -> Self {
        self.cause = Some(cause.to_owned());
        self
    }
}

pub(crate) const ENDED: [&str; 3] = ["completed", "failed", "cancelled"];

fn now() -> String {
    let now = time::OffsetDateTime::now_utc();
    now.format(&time::format_description::well_known::Rfc3339).unwrap()
}

impl Engine {
    pub(crate) fn new(lie: Option<Lie>) -> Arc<Self> {
        let read =
            |(id, text): &(&str, &str)| ((*id).to_owned(), serde_json::from_str(text).unwrap());
        Arc::new(Self {
            lie,
            runs: Mutex::default(),
            definitions: Mutex::new(probity_conformance::fixtures().iter().map(read).collect()),
            next: AtomicU64::new(1),
            changed: watch::Sender::new(0),
            hooks: Hooks::default(),
            reads: watch::Sender::new(0),
        })
    }

    pub(crate) fn lies(&self, lie: Lie) -> bool {
        self.lie == Some(lie)
    }

    pub(crate) fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Run>> {
        self.runs.lock().unwrap()
    }

    pub(crate) fn definition(&self, id: &str) -> Option<Value> {
        self.definitions.lock().unwrap().get(id).cloned()
    }

    fn fresh(&self, what: &str) -> String {
        format!("{what}-{}", self.next.fetch_add(1, Ordering::SeqCst))
    }

    /// Begins a run, and gives its name. It goes on by itself.
    pub(crate) fn begin(
        self: &Arc<Self>,
        workflow: &str,
        inputs: &Map<String, Value>,
        configurable: &Value,
    ) -> String {
        let (run, doing) = self.prepare(workflow, inputs, configurable, None);
        let task = tokio::spawn(doing);
        self.with(&run, |own| own.task = Some(task.abort_handle()));
        run
    }

    fn prepare(
        self: &Arc<Self>,
        workflow: &str,
        inputs: &Map<String, Value>,
        configurable: &Value,
        parent: Option<(String, String)>,
    ) -> (String, Pin<Box<dyn Future<Output = ()> + Send>>) {
        let definition = self.definition(workflow).unwrap();
        let run = self.fresh("run");
        let mut variables = Map::new();
        for variable in definition["variables"].as_array().unwrap() {
            if let Some(value) = variable.get("defaultValue") {
                variables.insert(variable["name"].as_str().unwrap().to_owned(), value.clone());
            }
        }
        variables.extend(inputs.clone());
        let own = Run {
            workflow: workflow.to_owned(),
            status: "running",
            variables,
            parent,
            ..Run::default()
        };
        self.runs().insert(run.clone(), own);
        self.emit(&run, vec![told("run.started", json!({"workflowId": workflow}))]);
        let (engine, name, configurable) = (Arc::clone(self), run.clone(), configurable.clone());
        let doing = async move { engine.drive(name, definition, configurable).await };
        (run, Box::pin(doing))
    }

    pub(crate) fn with<T>(&self, run: &str, change: impl FnOnce(&mut Run) -> T) -> T {
        let changed = change(self.runs().get_mut(run).unwrap());
        self.changed.send_modify(|version| *version += 1);
        changed
    }

    /// Appends together. Gives the names of the events.
    pub(crate) fn emit(&self, run: &str, events: Vec<Told>) -> Vec<String> {
        self.with(run, |own| {
            if own.is_stopped {
                return events.into_iter().map(|_| format!("{run}.none")).collect();
            }
            events.into_iter().map(|event| self.append(run, own, event)).collect()
        })
    }

    fn append(&self, run: &str, own: &mut Run, event: Told) -> String {
        let sequence = own.events.len() + usize::from(self.lies(Lie::SequenceFromOne));
        let id = format!("{run}.{sequence}");
        let timestamp = if self.lies(Lie::TimestampNoDate) { "just now".to_owned() } else { now() };
        let mut json = json!({"eventId": id, "runId": run, "type": event.kind, "payload": event.payload,
            "timestamp": timestamp, "sequence": sequence});
        if let Some(node) = event.node {
            json["nodeId"] = json!(node);
        }
        if let Some(cause) = event.cause {
            json["causationId"] = json!(cause);
        }
        own.events.push(json);
        id
    }

    async fn drive(self: Arc<Self>, run: String, definition: Value, configurable: Value) {
        let limit = configurable["runTimeoutMs"].as_u64().unwrap_or(600_000);
        let work = Arc::clone(&self).work(run.clone(), definition, configurable);
        let end = match tokio::time::timeout(Duration::from_millis(limit), work).await {
            Ok(end) => end,
            Err(_) => Err(Fails {
                code: "run_timeout",
                first: Some(json!({"kind": "run-duration", "limit": limit, "observed": limit + 1})),
            }),
        };
        if self.lies(Lie::StatusBeforeEnd) {
            self.with(&run, |own| own.status = "completed");
            self.is_read().await;
        }
        self.end(&run, end);
    }

    /// Waits until somebody read a log, from its beginning to its end.
    pub(crate) async fn is_read(&self) {
        let mut reads = self.reads.subscribe();
        for _ in 0..2 {
            reads.changed().await.unwrap();
        }
    }

    fn end(&self, run: &str, end: Result<(), Fails>) {
        self.with(run, |own| {
            if own.is_stopped {
                return;
            }
            own.node = None;
            match end {
                Ok(()) => {
                    let outputs = own.variables.clone();
                    self.append(run, own, told("run.completed", json!({"outputs": outputs})));
                    own.status = "completed";
                    self.hooks.send(own.events.last().unwrap(), self.lie);
                }
                Err(fails) => {
                    if let Some(breach) = fails.first {
                        self.append(run, own, told("cap.breached", breach));
                    }
                    let mut error = json!({"code": fails.code, "message": "as the fixture has it"});
                    own.error = Some(error.clone());
                    if self.lies(Lie::ErrorWithoutMessage) {
                        error = json!({"code": fails.code});
                    }
                    self.append(run, own, told("run.failed", json!({"error": error})));
                    own.status = "failed";
                }
            }
            if self.lies(Lie::EventBehindEnd) {
                self.append(run, own, told("log.appended", json!({"message": "one more thing"})));
            }
        });
    }

    pub(crate) fn cancel(&self, run: &str) {
        let children: Vec<String> = {
            let runs = self.runs();
            let of = |own: &Run| own.parent.as_ref().is_some_and(|(parent, _)| parent == run);
            runs.iter().filter(|(_, own)| of(own)).map(|(name, _)| name.clone()).collect()
        };
        self.with(run, |own| {
            if ENDED.contains(&own.status) {
                return;
            }
            if let Some(task) = own.task.take() {
                task.abort();
            }
            own.waits = None;
            own.is_stopped = true;
            self.append(run, own, told("run.cancelled", json!({"reason": "asked"})));
            own.status = "cancelled";
        });
        children.iter().for_each(|child| self.cancel(child));
    }

    /// A run that repeats what its source said.
    pub(crate) fn replay(&self, source: &str) -> String {
        let run = self.fresh("run");
        let mut runs = self.runs();
        let own = &runs[source];
        let mut copy = Run {
            workflow: own.workflow.clone(),
            status: own.status,
            variables: own.variables.clone(),
            events: own.events.clone(),
            error: own.error.clone(),
            ..Run::default()
        };
        for event in &mut copy.events {
            for member in ["eventId", "runId", "causationId"] {
                if let Some(name) = event[member].as_str() {
                    event[member] = json!(name.replacen(source, &run, 1));
                }
            }
            if event["type"] == "agent.verified" && self.lies(Lie::ReplayAsksAgain) {
                event["payload"]["confidence"] = json!(0.8);
            }
        }
        runs.insert(run.clone(), copy);
        run
    }

    /// Answers a node; the status of the answer.
    pub(crate) fn resolve(&self, run: &str, node: &str, value: &Value) -> u16 {
        let mut runs = self.runs();
        let Some(own) = runs.get_mut(run) else { return 404 };
        let definition = self.definition(&own.workflow).unwrap();
        let is_known =
            definition["nodes"].as_array().unwrap().iter().any(|known| known["id"] == node);
        if !is_known {
            return 404;
        }
        let Some((at, actions, answer)) = own.waits.take() else { return 409 };
        let action = value["action"].as_str().unwrap_or_default();
        let is_list =
            value.as_array().is_some_and(|list| list.iter().all(|one| one["id"].is_string()));
        let is_fit = if actions.is_empty() {
            value.is_object() || is_list
        } else {
            actions.contains(&action)
        };
        if at != node || (!is_fit && !self.lies(Lie::AnyAnswerTaken)) {
            own.waits = Some((at, actions, answer));
            return if is_fit { 409 } else { 400 };
        }
        own.status = "running";
        let _ = answer.send(value.clone());
        200
    }

    async fn work(
        self: Arc<Self>,
        run: String,
        definition: Value,
        configurable: Value,
    ) -> Result<(), Fails> {
        let nodes = definition["nodes"].as_array().unwrap().clone();
        if nodes[0]["typeId"] == "core.orchestrator.supervisor" {
            return crate::turn::supervise(self, run, definition, configurable).await;
        }
        for node in nodes {
            let name = node["id"].as_str().unwrap().to_owned();
            self.start(&run, &name, &node["typeId"], &configurable)?;
            let outputs = self.node(&run, &name, &node).await?;
            self.emit(&run, vec![told("node.completed", json!({"outputs": outputs})).at(&name)]);
        }
        Ok(())
    }

    pub(crate) fn start(
        &self,
        run: &str,
        node: &str,
        type_id: &Value,
        configurable: &Value,
    ) -> Result<(), Fails> {
        let limit = configurable["recursionLimit"].as_u64().unwrap_or(1_000);
        let starts = self.with(run, |own| {
            own.starts += 1;
            own.starts
        });
        if starts > limit + u64::from(self.lies(Lie::OneNodeTooMany)) {
            let breach = json!({"kind": "node-executions", "limit": limit, "observed": starts, "nodeId": node});
            return Err(Fails { code: "recursion_limit_exceeded", first: Some(breach) });
        }
        self.emit(run, vec![told("node.started", json!({"typeId": type_id})).at(node)]);
        Ok(())
    }

    async fn node(self: &Arc<Self>, run: &str, name: &str, node: &Value) -> Result<Value, Fails> {
        match node["typeId"].as_str().unwrap() {
            "core.fail" => {
                let error =
                    json!({"code": "conformance_failure", "message": "as the fixture has it"});
                self.emit(run, vec![told("node.failed", json!({"error": error})).at(name)]);
                return Err(Fails { code: "conformance_failure", first: None });
            }
            "core.delay" => {
                let own =
                    self.with(run, |own| own.variables.get("delayMs").and_then(Value::as_u64));
                let delay = own.or(node["config"]["delayMs"].as_u64()).unwrap();
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
            "core.approvalGate" => {
                let data = json!({"title": "?", "artifactId": "a", "artifactType": "t", "actions": ["accept", "reject"]});
                let answer = self.ask(run, name, "approval", data, vec!["accept", "reject"]).await;
                if answer["action"] == "reject" {
                    return Err(Fails { code: "approval_rejected", first: None });
                }
            }
            "core.clarificationGate" => {
                let data = json!({"questions": node["config"]["questions"]});
                self.ask(run, name, "clarification", data, Vec::new()).await;
            }
            "core.subWorkflow" => return crate::turn::sub(self, run, name, node).await,
            _ => {}
        }
        Ok(json!({}))
    }

    /// Waits for somebody at a node.
    pub(crate) async fn ask(
        &self,
        run: &str,
        node: &str,
        kind: &str,
        data: Value,
        actions: Vec<&'static str>,
    ) -> Value {
        let (answer, answered) = oneshot::channel();
        let interrupt = self.fresh("interrupt");
        let is_approval = kind == "approval" || kind == "low-confidence";
        self.with(run, |own| {
            if own.is_stopped {
                return;
            }
            let mut suspended = json!({"interruptId": interrupt, "kind": kind});
            if kind == "low-confidence" {
                suspended["reason"] = json!("low-confidence");
                for member in ["agentId", "threshold", "observed"] {
                    suspended[member] = data[member].clone();
                }
            }
            self.append(run, own, told("node.suspended", suspended).at(node));
            let asked = json!({"kind": kind, "key": format!("{run}:{node}:1"), "data": data});
            self.append(run, own, told("interrupt.requested", asked).at(node));
            own.waits = Some((node.to_owned(), actions, answer));
            own.node = Some(node.to_owned());
            own.status = if is_approval { "waiting-approval" } else { "waiting-input" };
            if self.lies(Lie::SnapshotBadStatus) && is_approval {
                own.status = "waiting-for-you";
            }
        });
        let value = answered.await.unwrap_or_default();
        if is_approval {
            let mut received =
                json!({"nodeId": node, "action": value["action"], "decidedBy": "principal"});
            if self.lies(Lie::NobodyDecided) {
                received.as_object_mut().unwrap().remove("decidedBy");
            }
            self.emit(run, vec![told("approval.received", received).at(node)]);
        }
        self.emit(run, vec![told("node.resumed", json!({"interruptId": interrupt})).at(node)]);
        value
    }

    /// Runs a child to its end: its name, and how it ended.
    pub(crate) async fn child(
        self: &Arc<Self>,
        run: &str,
        node: &str,
        workflow: &str,
        inputs: &Map<String, Value>,
    ) -> String {
        let (child, doing) =
            self.prepare(workflow, inputs, &json!({}), Some((run.to_owned(), node.to_owned())));
        let task = tokio::spawn(doing);
        self.with(&child, |own| own.task = Some(task.abort_handle()));
        child
    }

    pub(crate) async fn child_end(&self, child: &str) -> &'static str {
        let mut changed = self.changed.subscribe();
        loop {
            let status = self.runs()[child].status;
            if ENDED.contains(&status) {
                return status;
            }
            changed.changed().await.unwrap();
        }
    }
}
