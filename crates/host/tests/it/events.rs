//! Every kind of event, held to its shape.

use std::collections::BTreeSet;

use probity_core::RunId;
use probity_host::wire::v1::{event_type, render, rfc3339};
use probity_host::{event_types, schema};
use probity_workflow::{
    Bound, Breach, Criterion, Decision, Entry, Event, Failure, Held, Interrupt, InterruptKind,
    Judgement, Origin, Owner, Phase, Verification,
};
use serde_json::{Map, Value, json};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn run() -> RunId {
    "run-1".parse().unwrap()
}

fn failure() -> Failure {
    Failure { code: "node_failed".to_owned(), message: "no".to_owned(), details: None }
}

fn interrupt(kind: InterruptKind, data: Value) -> Event {
    Event::InterruptRequested(Interrupt {
        id: "i-1".to_owned(),
        kind,
        key: "run-1:gate:1".to_owned(),
        timeout_ms: Some(5),
        resume_schema: Some(json!({"type": "string"})),
        data: object(data),
    })
}

fn handoff(phase: Phase) -> Event {
    let is_begun = !matches!(phase, Phase::Began | Phase::Failed);
    let is_harvest = phase == Phase::Harvested;
    Event::Handoff {
        phase,
        worker: "w".to_owned(),
        child: is_begun.then(|| "child-1".parse().unwrap()),
        harvested: is_harvest.then(|| vec!["result".to_owned()]),
        checksum: is_harvest.then(|| "0".repeat(64)),
        error: (phase == Phase::Failed).then(failure),
    }
}

fn of_runs() -> Vec<Event> {
    let owner = Owner {
        tenant: "acme".to_owned(),
        workspace: Some("w".to_owned()),
        principal: Some("ci".to_owned()),
    };
    vec![
        Event::RunStarted {
            workflow: "w".to_owned(),
            inputs: object(json!({"a": 1})),
            owner,
            origin: Some(Origin::Child {
                parent: "parent".parse().unwrap(),
                node: "n".to_owned(),
                is_dispatch: true,
            }),
            tags: vec!["t".to_owned()],
            metadata: object(json!({"probity.requestDigest": "secret", "k": "v"})),
        },
        Event::RunCompleted { outputs: object(json!({"a": 1})) },
        Event::RunFailed { error: failure(), failed_node: Some("n".to_owned()) },
        Event::RunCancelled {
            reason: Some("r".to_owned()),
            by: Some("ci".to_owned()),
            parent: None,
        },
        Event::RunCancelled { reason: None, by: None, parent: Some("parent".parse().unwrap()) },
        Event::RunPaused { reason: None, drain_policy: Some("drain".to_owned()) },
        Event::RunResumed { reason: None },
        Event::CapBreached(Breach { kind: Bound::NodeExecutions, limit: 3, observed: 4 }),
        Event::CapBreached(Breach { kind: Bound::RunDuration, limit: 3, observed: 4 }),
        Event::CapBreached(Breach { kind: Bound::LoopIterations, limit: 3, observed: 4 }),
        Event::VariableChanged { name: "a".to_owned(), previous: None, next: json!(null) },
        Event::ReplayDiverged { source: run(), at_sequence: 3 },
        Event::ReplayDivergedAtRefusal {
            source: run(),
            at_sequence: 3,
            was_refusal: true,
            is_refusal: false,
        },
    ]
}

fn of_nodes() -> Vec<Event> {
    let suspended = |held: Option<Held>| Event::NodeSuspended {
        interrupt: "i-1".to_owned(),
        kind: InterruptKind::LowConfidence,
        key: "run-1:n:1".to_owned(),
        held,
    };
    vec![
        Event::NodeStarted { type_id: "core.noop".to_owned(), attempt: 0 },
        Event::NodeCompleted { outputs: object(json!({"childStatus": "completed"})) },
        Event::NodeFailed { error: failure() },
        suspended(None),
        suspended(Some(Held { agent: "boss".to_owned(), threshold: 0.7, observed: 0.5 })),
        Event::NodeResumed { interrupt: "i-1".to_owned(), value: json!("accept") },
        Event::NodeDispatched { child: "child-1".parse().unwrap(), workflow: "w".to_owned() },
        interrupt(InterruptKind::Approval, json!({"actions": ["accept"], "title": "t"})),
        interrupt(
            InterruptKind::Clarification,
            json!({"questions": [{"id": "q1", "question": "what"}]}),
        ),
        interrupt(
            InterruptKind::LowConfidence,
            json!({"agentId": "boss", "threshold": 0.7, "observed": 0.5}),
        ),
        interrupt(InterruptKind::ExternalEvent, json!({})),
        Event::InterruptResolved {
            interrupt: "i-1".to_owned(),
            kind: InterruptKind::Approval,
            value: None,
        },
        Event::ApprovalReceived { action: "accept".to_owned(), by: Some("ci".to_owned()) },
        Event::ApprovalReceived { action: "timeout".to_owned(), by: None },
        Event::ClarificationRequested { questions: vec![json!({"id": "q1"})] },
        Event::ClarificationResolved { answers: object(json!({"q1": "blue"})) },
    ]
}

fn of_agents() -> Vec<Event> {
    let by = || "agent".to_owned();
    let worker =
        Decision::NextWorker { next_worker_ids: vec!["w".to_owned()], confidence: Some(0.3) };
    let decided =
        |decision| Event::SupervisorDecided { agent: "agent".to_owned(), decision, iteration: 1 };
    let phases = [
        Phase::Began,
        Phase::Succeeded,
        Phase::Failed,
        Phase::ChildCompleted,
        Phase::ChildFailed,
        Phase::ChildCancelled,
        Phase::Harvested,
    ];
    let mut events = vec![
        Event::AgentReasoned { agent: by(), reasoning: "so".to_owned() },
        Event::AgentToolCalled { agent: by(), tool: "t".to_owned(), call: "c".to_owned() },
        Event::AgentToolReturned {
            agent: by(),
            tool: "t".to_owned(),
            call: "c".to_owned(),
            status: "ok".to_owned(),
        },
        Event::AgentHandoff { from: by(), to: "other".to_owned() },
        Event::AgentDecided { agent: by(), decision: json!("x"), confidence: Some(0.5) },
        decided(worker.clone()),
        decided(Decision::AskUser { prompt: "what".to_owned() }),
        decided(Decision::Terminate {
            reason: Some("done".to_owned()),
            confidence: None,
            success_criteria: Some(vec![Criterion { key: "built".to_owned(), met: true }]),
        }),
        Event::ConfidenceEscalated {
            confidence: 0.3,
            floor: 0.5,
            worker: Some("w".to_owned()),
            decision: worker,
        },
        verified(&["built"], Some(0.9)),
    ];
    events.extend(phases.map(handoff));
    events
}

fn verified(criteria: &[&str], confidence: Option<f64>) -> Event {
    Event::AgentVerified(Verification {
        agent: "critic".to_owned(),
        target: "child-1".parse().unwrap(),
        candidate: "c".repeat(64),
        verdict: Judgement::Fail,
        criteria: criteria.iter().map(|key| key.parse().unwrap()).collect(),
        confidence,
    })
}

fn entry(event: Event) -> Entry {
    let is_of_run = event_type(&event).starts_with("run.");
    Entry {
        sequence: 4,
        at_ms: 1_767_225_600_007,
        node: (!is_of_run).then(|| "gate".to_owned()),
        cause: Some(2),
        event,
    }
}

fn all() -> Vec<Event> {
    of_runs().into_iter().chain(of_nodes()).chain(of_agents()).collect()
}

#[test]
fn every_event_has_the_shape_of_its_type_and_every_type_is_told() {
    let shape = jsonschema::validator_for(&schema("RunEventDoc")).unwrap();
    let mut told = BTreeSet::new();
    for event in all() {
        let doc = render(&run(), &entry(event));
        let problems: Vec<String> = shape
            .iter_errors(&doc)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{doc:#}\n{problems:?}");
        told.insert(doc["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(told, event_types().into_iter().collect());
}

#[test]
fn the_shapes_refuse_what_is_not_theirs() {
    let shape = jsonschema::validator_for(&schema("RunEventDoc")).unwrap();
    let good = render(&run(), &entry(verified(&["built"], None)));
    for (pointer, value) in [
        ("/payload/verdict", json!("ok")),
        ("/payload/agentId", json!("c")),
        ("/payload/criteria", json!(["Text of a criterion."])),
        ("/type", json!("agent.checked")),
        ("/sequence", json!(-1)),
        ("/timestamp", json!("yesterday")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert!(!shape.is_valid(&bad), "{pointer}");
    }
    let mut bad = good.clone();
    bad["payload"]["result"] = json!("text");
    assert!(!shape.is_valid(&bad));
    let mut bad = good;
    bad["seq"] = json!(1);
    assert!(!shape.is_valid(&bad));
}

#[test]
fn a_verdict_says_nothing_of_what_was_checked() {
    let many: Vec<String> = (0..80).map(|n| format!("key-{n:02}")).collect();
    let mut keys: Vec<&str> = many.iter().map(String::as_str).collect();
    keys.extend(["0starts-with-a-digit", "_starts-otherwise", "key-00"]);
    let doc = render(&run(), &entry(verified(&keys, None)));
    let payload = doc["payload"].as_object().unwrap();
    let names: Vec<&str> = payload.keys().map(String::as_str).collect();
    assert_eq!(names, ["agentId", "target", "verdict", "criteria"]);
    let criteria = payload["criteria"].as_array().unwrap();
    assert_eq!(criteria.len(), 64);
    assert_eq!(criteria[0], "key-00");
    assert!(!doc.to_string().contains(&"c".repeat(64)), "no digest of the candidate");
}

#[test]
fn an_event_is_named_by_its_run_and_its_place() {
    let doc = render(&run(), &entry(Event::RunResumed { reason: None }));
    assert_eq!(doc["eventId"], "run-1.4");
    assert_eq!(doc["causationId"], "run-1.2");
    assert_eq!(doc["timestamp"], "2026-01-01T00:00:00.007Z");
    assert_eq!(doc["payload"], json!({}));
}

#[test]
fn the_hosts_own_metadata_is_not_shown() {
    let started = of_runs().swap_remove(0);
    let doc = render(&run(), &entry(started));
    assert_eq!(doc["payload"]["metadata"], json!({"k": "v"}));
}

#[test]
fn times_are_written_to_the_millisecond() {
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(rfc3339(951_782_400_123), "2000-02-29T00:00:00.123Z");
    assert_eq!(rfc3339(u64::MAX), "1970-01-01T00:00:00.000Z");
}
