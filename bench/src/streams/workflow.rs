//! The workflows that are run.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::BenchError;

/// How long a run waits for its readers, in milliseconds.
pub(super) const ATTACH_MS: u64 = 300;
/// Nodes of the long row.
const ROW: usize = 400;
/// Workers that a supervisor sends for, one after the other.
const TURNS: usize = 8;

/// A row of nodes that do nothing: many events of few steps.
pub(super) const LONG: &str = "row";
/// A supervisor, its workers, and a check before each is taken over: few events of many steps.
pub(super) const CHECKED: &str = "turns";

/// What a worker leaves is looked at by a script.
const CHECK: &str = "def run(result):\n    return \"done\" in result[\"response\"]\n";

/// Writes them where the host reads them.
pub(super) fn write(folder: &Path) -> Result<(), BenchError> {
    let failed = BenchError::io("write a workflow");
    std::fs::create_dir_all(folder).map_err(&failed)?;
    for definition in [row(), turns(), child()] {
        let id = definition.get("id").and_then(Value::as_str).unwrap_or_default();
        let path = folder.join(format!("{id}.json"));
        std::fs::write(path, definition.to_string()).map_err(&failed)?;
    }
    Ok(())
}

fn row() -> Value {
    let mut nodes = vec![attach()];
    nodes.extend((1..=ROW).map(|at| node(&format!("n{at}"), "core.noop", json!({}))));
    let edges = (1..=ROW).map(|at| match at {
        1 => edge("attach", "n1"),
        _ => edge(&format!("n{}", at - 1), &format!("n{at}")),
    });
    workflow(LONG, &nodes, &edges.collect::<Vec<_>>(), json!({}))
}

fn turns() -> Value {
    let send = json!({"kind": "next-worker", "nextWorkerIds": ["child"]});
    let mut plan = vec![send; TURNS];
    plan.push(json!({"kind": "terminate", "reason": "goal-reached"}));
    let mut boss = node("boss", "core.orchestrator.supervisor", json!({"plan": plan}));
    if let Some(members) = boss.as_object_mut() {
        members.insert("agent".to_owned(), json!({"agentId": "the.boss"}));
    }
    let hand = node("hand", "core.dispatch", json!({"outputMapping": {"result": "said"}}));
    let mut definition = workflow(
        CHECKED,
        &[attach(), boss, hand],
        &[edge("attach", "boss"), edge("boss", "hand"), edge("hand", "boss")],
        json!({"probity": {"verifiers": {"hand": {
            "agentId": "the.critic",
            "checks": [{"verify": CHECK}],
            "onFail": "give-up",
        }}}}),
    );
    if let Some(variables) = definition.get_mut("variables") {
        *variables = json!([{"name": "result", "type": "string", "defaultValue": "nothing"}]);
    }
    definition
}

fn child() -> Value {
    let mut definition = workflow("child", &[node("work", "core.noop", json!({}))], &[], json!({}));
    if let Some(variables) = definition.get_mut("variables") {
        *variables = json!([{"name": "said", "type": "string", "defaultValue": "done"}]);
    }
    definition
}

fn attach() -> Value {
    node("attach", "core.delay", json!({"delayMs": ATTACH_MS}))
}

fn node(id: &str, kind: &str, config: Value) -> Value {
    json!({"id": id, "typeId": kind, "name": id, "config": config})
}

fn edge(from: &str, to: &str) -> Value {
    json!({"id": format!("{from}-{to}"), "sourceNodeId": from, "targetNodeId": to})
}

fn workflow(id: &str, nodes: &[Value], edges: &[Value], metadata: Value) -> Value {
    json!({
        "id": id, "name": id, "version": "1", "nodes": nodes, "edges": edges,
        "variables": [], "metadata": metadata,
    })
}
