//! Definitions that the conformance suite runs, in words of our own. Only with the seams.

use probity_workflow::{Definition, DefinitionError};
use serde_json::{Value, json};

/// Every fixture.
pub(crate) fn definitions() -> impl Iterator<Item = Result<Definition, DefinitionError>> {
    all().into_iter().map(|json| Definition::parse(&json))
}

/// The names of all fixtures, sorted.
pub(crate) fn names() -> Vec<String> {
    let id = |json: &Value| json.get("id").and_then(Value::as_str).map(str::to_owned);
    let mut names: Vec<String> = all().iter().filter_map(id).collect();
    names.sort_unstable();
    names
}

fn all() -> Vec<Value> {
    let mut all = plain();
    all.extend(waiting());
    all.extend(supervised());
    all.extend(verified());
    all
}

fn plain() -> Vec<Value> {
    let chain = |ids: &[&str]| -> (Vec<Value>, Vec<Value>) {
        let nodes = ids.iter().map(|id| node(id, "core.noop", &json!({}))).collect();
        let edges = ids.windows(2).filter_map(|pair| match pair {
            [from, to] => Some((*from, *to)),
            _ => None,
        });
        (nodes, edges.map(|(from, to)| edge(from, to)).collect())
    };
    let noop = || vec![node("noop", "core.noop", &json!({}))];
    let delay = |config: &Value| vec![node("delay", "core.delay", config)];
    let delay_ms = |ms: u64| vec![json!({"name": "delayMs", "type": "number", "defaultValue": ms})];
    let (row, row_edges) = chain(&["a", "b", "c"]);
    let (six, six_edges) = chain(&["n1", "n2", "n3", "n4", "n5", "n6"]);
    vec![
        workflow("conformance-noop", noop(), vec![], vec![]),
        workflow(
            "conformance-idempotent",
            noop(),
            vec![],
            vec![json!({"name": "nonce", "type": "string", "required": true})],
        ),
        workflow(
            "conformance-failure",
            vec![node(
                "fail",
                "core.fail",
                &json!({"code": "conformance_failure", "message": "It fails on purpose."}),
            )],
            vec![],
            vec![],
        ),
        workflow(
            "conformance-identity",
            vec![node("identity", "core.identity", &json!({}))],
            vec![],
            vec![json!({"name": "payload", "type": "object"})],
        ),
        workflow("conformance-delay", delay(&json!({})), vec![], delay_ms(1_000)),
        workflow("conformance-cancellable", delay(&json!({})), vec![], delay_ms(30_000)),
        workflow(
            "conformance-run-duration-breach",
            delay(&json!({"delayMs": 30_000})),
            vec![],
            vec![],
        ),
        workflow("conformance-multi-node", row, row_edges, vec![]),
        workflow("conformance-cap-breach", six, six_edges, vec![]),
    ]
}

fn waiting() -> Vec<Value> {
    let gate = json!({"title": "May it go on?", "actions": ["accept", "reject"]});
    let unsure = json!({"mockDecision": {"decision": "go-on", "confidence": 0.5}});
    let aloud = json!({
        "mockReasoning": {"summary": "It adds up."},
        "mockDecision": {"decision": "go-on", "confidence": 0.9},
    });
    let ask = json!({"questions": [{"id": "q1", "question": "Which colour?"}]});
    vec![
        workflow(
            "conformance-approval",
            vec![node("gate", "core.approvalGate", &gate)],
            vec![],
            vec![],
        ),
        workflow(
            "conformance-clarification",
            vec![node("ask", "core.clarificationGate", &ask)],
            vec![],
            vec![],
        ),
        workflow(
            "conformance-agent-low-confidence",
            vec![node("agent", "core.conformance.mock-agent", &unsure)],
            vec![],
            vec![],
        ),
        workflow(
            "conformance-agent-reasoning",
            vec![node("agent", "core.conformance.mock-agent", &aloud)],
            vec![],
            vec![],
        ),
    ]
}

fn supervised() -> Vec<Value> {
    let to = |worker: &str| json!({"kind": "next-worker", "nextWorkerIds": [worker]});
    let done = json!({"kind": "terminate", "reason": "goal-reached"});
    let unsure =
        json!({"kind": "next-worker", "nextWorkerIds": ["conformance-noop"], "confidence": 0.3});
    let child = "conformance-multi-agent-handoff-child";
    vec![
        looped(
            "conformance-multi-agent-handoff",
            &json!({"mockDispatchPlan": [to(child), done]}),
            &json!({"outputMapping": {"parentResult": "childOutcome"}}),
            None,
        ),
        workflow(
            child,
            vec![node("noop", "core.noop", &json!({}))],
            vec![],
            vec![json!({"name": "childOutcome", "type": "string", "defaultValue": "done"})],
        ),
        looped(
            "conformance-multi-agent-confidence-escalation",
            &json!({"mockDispatchPlan": [unsure]}),
            &json!({}),
            None,
        ),
        looped(
            "conformance-orchestrator-dispatch",
            &json!({"mockDecisions": [to("conformance-noop"), done]}),
            &json!({}),
            Some("core.conformance.supervisor"),
        ),
        looped(
            "conformance-orchestrator-terminate",
            &json!({"mockDecisions": [done]}),
            &json!({}),
            Some("core.conformance.supervisor"),
        ),
        looped(
            "conformance-orchestrator-low-confidence",
            &json!({"mockConfidence": 0.5, "mockPendingDecision": to("conformance-noop")}),
            &json!({}),
            Some("core.conformance.supervisor"),
        ),
        looped("conformance-dispatch-loop", &json!({}), &json!({}), None),
    ]
}

/// A verifier between a worker and its supervisor: what the seam of the verifier turn drives.
fn verified() -> Vec<Value> {
    let verdicts = ["pass", "fail", "revise"];
    verdicts
        .iter()
        .map(|verdict| {
            let mut definition = looped(
                &format!("conformance-probity-verified-{verdict}"),
                &json!({"mockDispatchPlan": [
                    {"kind": "next-worker", "nextWorkerIds": ["conformance-multi-agent-handoff-child"]},
                    {"kind": "terminate", "reason": "goal-reached"},
                ]}),
                &json!({"outputMapping": {"parentResult": "childOutcome"}}),
                None,
            );
            if let Some(place) = definition.get_mut("metadata") {
                *place = json!({"probity": {"verifiers": {"dispatch": {
                    "agentId": "core.probity.verifier",
                    "checks": [{"verifier": "text", "with": {"pattern": "."}}],
                    "mockVerdicts": [verdict, verdict, verdict, verdict],
                    "onFail": "ask-user",
                }}}});
            }
            definition
        })
        .collect()
}

/// A supervisor and its dispatch, each after the other.
pub(crate) fn looped(id: &str, supervisor: &Value, dispatch: &Value, agent: Option<&str>) -> Value {
    let mut decider = node("supervisor", "core.orchestrator.supervisor", supervisor);
    if let (Some(agent), Some(members)) = (agent, decider.as_object_mut()) {
        members.insert("agent".to_owned(), json!({"agentId": agent}));
    }
    workflow(
        id,
        vec![decider, node("dispatch", "core.dispatch", dispatch)],
        vec![edge("supervisor", "dispatch"), edge("dispatch", "supervisor")],
        vec![],
    )
}

pub(crate) fn workflow(
    id: &str,
    nodes: Vec<Value>,
    edges: Vec<Value>,
    variables: Vec<Value>,
) -> Value {
    json!({
        "id": id,
        "name": id,
        "version": "1.0.0",
        "nodes": nodes,
        "edges": edges,
        "triggers": [],
        "variables": variables,
        "metadata": {},
        "settings": {},
    })
}

pub(crate) fn node(id: &str, type_id: &str, config: &Value) -> Value {
    json!({
        "id": id,
        "typeId": type_id,
        "name": id,
        "position": {"x": 0, "y": 0},
        "config": config,
        "inputs": {},
    })
}

fn edge(from: &str, to: &str) -> Value {
    json!({"id": format!("{from}-{to}"), "sourceNodeId": from, "targetNodeId": to})
}
