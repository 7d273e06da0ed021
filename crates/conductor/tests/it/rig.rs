//! A store, a clock of the runtime, a cast, and words for what happened.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use probity_conductor::{Conductor, ConductorOptions};
use probity_core::RunId;
use probity_engine::{Clock, SystemClock};
use probity_store::{MemoryStore, WorkStore};
use probity_testkit::VirtualClock;
use probity_workflow::{Bounds, Definition, Entry, Event, Input, Owner, Start, Terms};
use serde_json::{Map, Value, json};

use crate::cast::{Cast, Part};

/// The time that the clock of every test begins with.
const BEGIN_MS: u64 = 1_700_000_000_000;
/// No test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Fails instead of hanging.
pub(crate) async fn bounded<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("it does not end")
}

pub(crate) fn id(run: &str) -> RunId {
    run.parse().unwrap()
}

pub(crate) struct Rig {
    pub(crate) store: Arc<dyn WorkStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cast: Arc<Cast>,
    pub(crate) options: ConductorOptions,
}

impl Rig {
    pub(crate) fn new(part: Part) -> Self {
        Self::on(Arc::new(MemoryStore::new()), part)
    }

    pub(crate) fn on(store: Arc<dyn WorkStore>, part: Part) -> Self {
        let clock = Arc::new(VirtualClock::at(BEGIN_MS));
        let (cast, options) = (Arc::new(Cast::new(part)), ConductorOptions::default());
        Self { store, clock, cast, options }
    }

    /// With the time of the world.
    pub(crate) fn timed(store: Arc<dyn WorkStore>, part: Part) -> Self {
        Self { clock: Arc::new(SystemClock), ..Self::on(store, part) }
    }

    pub(crate) fn conductor(&self) -> Conductor {
        self.conductor_on(Arc::clone(&self.store))
    }

    pub(crate) fn conductor_on(&self, store: Arc<dyn WorkStore>) -> Conductor {
        let (clock, cast) = (Arc::clone(&self.clock), Arc::clone(&self.cast));
        let conductor = Conductor::new(store, clock, cast, self.options.clone());
        for definition in all() {
            conductor.definitions().add(definition).unwrap();
        }
        conductor
    }
}

pub(crate) fn all() -> Vec<Definition> {
    let worker = definition("writer", json!([node("w", "core.noop", json!({}))]), &[]);
    let worker = with_variables(worker, json!([{"name": "out", "defaultValue": "good"}]));
    let slow = json!([node("wait", "core.delay", json!({"delayMs": 30_000}))]);
    let nest = json!([node("in", "core.subWorkflow", json!({"workflowId": "nest"}))]);
    let ask = json!([node("gate", "core.approvalGate", json!({"actions": ["accept", "reject"]}))]);
    let work = json!({"request": {"task": {"$var": "task"}}, "outputVariable": "result"});
    let parsed = [
        worker,
        definition("slow", slow, &[]),
        definition("nest", nest, &[]),
        with_variables(
            definition("ask", ask, &[]),
            json!([{"name": "what", "defaultValue": "this"}]),
        ),
        with_variables(
            definition("work", json!([node("w", "probity.delegation", work)]), &[]),
            json!([{"name": "task", "defaultValue": "add"}]),
        ),
        team("team", None),
        team("checked", Some("ask-user")),
        team("again", Some("again")),
        team("quits", Some("give-up")),
        two_turns(),
    ];
    parsed.iter().map(|json| Definition::parse(json).unwrap()).collect()
}

pub(crate) fn start(conductor: &Conductor, workflow: &str) -> Start {
    Start {
        definition: conductor.definitions().get(workflow).unwrap().as_ref().clone(),
        inputs: Map::new(),
        owner: Owner { tenant: "acme".to_owned(), workspace: None, principal: None },
        origin: None,
        tags: Vec::new(),
        metadata: Map::new(),
        bounds: Bounds {
            max_node_executions: 100,
            max_run_duration_ms: 600_000,
            max_loop_iterations: 20,
        },
        terms: Terms {
            is_gating: true,
            confidence_floor: 0.5,
            escalation_threshold: 0.7,
            max_revisions: 2,
        },
    }
}

/// Follows a run to its end.
pub(crate) async fn to_end(conductor: &Conductor, run: &RunId) -> Vec<Arc<Entry>> {
    let mut follower = conductor.follow(run, 0).await.unwrap().expect("a run");
    let mut entries = Vec::new();
    while let Some(entry) = bounded(follower.next()).await.unwrap() {
        entries.push(entry);
    }
    entries
}

/// Follows a run until it waits for somebody, and gives the node that does.
pub(crate) async fn to_wait(conductor: &Conductor, run: &RunId) -> String {
    let mut follower = conductor.follow(run, 0).await.unwrap().expect("a run");
    let mut node = None;
    while node.is_none() {
        let entry = bounded(follower.next()).await.unwrap().expect("a wait before the end");
        if matches!(entry.event, Event::NodeSuspended { .. }) {
            node.clone_from(&entry.node);
        }
    }
    node.unwrap()
}

pub(crate) fn resolve(node: &str, value: Value) -> Input {
    Input::Resolve { node: node.to_owned(), value, by: "ada".to_owned(), interrupt: None }
}

pub(crate) fn cancel() -> Input {
    Input::Cancel { reason: Some("enough".to_owned()), by: Some("ada".to_owned()), parent: None }
}

/// What happened, without the times.
pub(crate) fn timeless(entries: &[Arc<Entry>]) -> Vec<Value> {
    let strip = |entry: &Arc<Entry>| {
        let mut json = serde_json::to_value(entry.as_ref()).unwrap();
        json.as_object_mut().unwrap().remove("at_ms");
        json
    };
    entries.iter().map(strip).collect()
}

/// The types of what happened.
pub(crate) fn kinds(entries: &[Arc<Entry>]) -> Vec<String> {
    let kind = |json: Value| json["event"]["type"].as_str().unwrap().to_owned();
    timeless(entries).into_iter().map(kind).collect()
}

pub(crate) fn assert_sound(entries: &[Arc<Entry>]) {
    for (place, entry) in (0..).zip(entries) {
        assert_eq!(entry.sequence, place, "no gap, nothing twice");
    }
    let ends = entries.iter().filter(|entry| entry.event.is_terminal()).count();
    assert_eq!(ends, 1, "one end");
    assert!(entries.last().unwrap().event.is_terminal(), "and nothing behind it");
}

pub(crate) fn definition(id: &str, nodes: Value, edges: &[(&str, &str)]) -> Value {
    let edges: Vec<Value> = edges
        .iter()
        .map(|(from, to)| {
            json!({"id": format!("{from}-{to}"), "sourceNodeId": from, "targetNodeId": to})
        })
        .collect();
    json!({
        "id": id, "name": id, "version": "1.0", "nodes": nodes, "edges": edges,
        "triggers": [{"id": "manual", "type": "manual", "enabled": true}],
        "variables": [], "metadata": {}, "settings": {},
    })
}

pub(crate) fn node(id: &str, type_id: &str, config: Value) -> Value {
    json!({
        "id": id, "typeId": type_id, "name": id, "position": {"x": 0, "y": 0},
        "config": config, "inputs": {},
    })
}

fn with_variables(mut definition: Value, variables: Value) -> Value {
    definition["variables"] = variables;
    definition
}

/// A supervisor that asks the writer and ends, with a critic between them.
pub(crate) fn team(id: &str, on_fail: Option<&str>) -> Value {
    let plan = json!([{"kind": "next-worker", "nextWorkerIds": ["writer"]}, {"kind": "terminate"}]);
    let nodes = json!([
        node("boss", "core.orchestrator.supervisor", json!({"plan": plan})),
        node("desk", "core.dispatch", json!({"outputMapping": {"result": "out"}})),
    ]);
    let mut team = definition(id, nodes, &[("boss", "desk"), ("desk", "boss")]);
    if let Some(on_fail) = on_fail {
        team["metadata"] = json!({"probity": {"verifiers": {"desk": {
            "agentId": "the.critic", "checks": [{"file": "report.md"}], "onFail": on_fail,
            "timeoutMs": 5_000,
        }}}});
    }
    team
}

/// A delegation, a child that is checked, and a gate: everything that a run may wait for.
fn two_turns() -> Value {
    let call = json!({"workflowId": "writer", "outputMapping": {"result": "out"}});
    let nodes = json!([
        node(
            "work",
            "probity.delegation",
            json!({"request": {"n": 1.0}, "outputVariable": "made"})
        ),
        node("call", "core.subWorkflow", call),
        node("pause", "core.delay", json!({"delayMs": 1_000})),
    ]);
    let mut two = definition("two-turns", nodes, &[("work", "call"), ("call", "pause")]);
    two["metadata"] = json!({"probity": {"verifiers": {"call": {
        "agentId": "the.critic", "checks": [{"file": "report.md"}], "onFail": "again",
    }}}});
    two
}
