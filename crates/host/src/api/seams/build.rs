//! Definitions that the doors of the suite make for one request.

use serde_json::{Value, json};

/// A supervisor and its dispatch, each after the other.
pub(super) fn looped(id: &str, supervisor: &Value, dispatch: &Value) -> Value {
    let edges = vec![edge("supervisor", "dispatch"), edge("dispatch", "supervisor")];
    let nodes = vec![
        node("supervisor", "core.orchestrator.supervisor", supervisor),
        node("dispatch", "core.dispatch", dispatch),
    ];
    workflow(id, nodes, edges, vec![])
}

pub(super) fn workflow(
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

pub(super) fn node(id: &str, type_id: &str, config: &Value) -> Value {
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
