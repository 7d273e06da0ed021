//! Where a run is, as `RunSnapshot`.

use probity_core::Code;
use probity_workflow::{Origin, Snapshot, Status};
use serde_json::{Map, Value, json};

use super::instant::rfc3339;
use super::interrupt::suspend_request;
use super::payload::{failure, owner_json};

/// A run as it stands.
#[must_use]
pub fn run_snapshot(snapshot: &Snapshot) -> Value {
    let mut doc = Map::new();
    let mut put = |name: &str, value: Value| doc.insert(name.to_owned(), value);
    put("runId", snapshot.run.as_str().into());
    put("workflowId", snapshot.workflow.as_str().into());
    put("status", status_word(snapshot.status).into());
    put("startedAt", rfc3339(snapshot.started_ms).into());
    put("updatedAt", rfc3339(snapshot.changed_ms).into());
    put("eventCount", snapshot.events.into());
    put("owner", owner_json(&snapshot.owner));
    put("variables", Value::Object(snapshot.variables.clone()));
    if is_ended(snapshot.status) {
        put("completedAt", rfc3339(snapshot.changed_ms).into());
    }
    if let Some(node) = &snapshot.current_node {
        put("currentNodeId", node.as_str().into());
    }
    if let Some(error) = &snapshot.error {
        put("error", failure(error));
    }
    if let Some(agent) = &snapshot.supervisor {
        put("runOrchestrator", json!({"agentId": agent}));
    }
    if !snapshot.interrupts.is_empty() {
        let open = snapshot.interrupts.iter().map(|(node, interrupt)| {
            json!({
                "nodeId": node,
                "interruptId": interrupt.id,
                "request": suspend_request(interrupt),
            })
        });
        put("interrupts", open.collect());
    }
    // An empty list of criteria says nothing, so it is not told.
    if let Some(criteria) = snapshot.success_criteria.as_ref().filter(|list| !list.is_empty()) {
        put("successCriteria", json!(criteria));
    }
    if !snapshot.withheld.is_empty() {
        let withheld = snapshot.withheld.iter().map(|held| {
            let criteria: Vec<&str> = held.criteria.iter().map(Code::as_str).collect();
            json!({
                "nodeId": held.node,
                "workerId": held.worker,
                "code": held.code.as_str(),
                "criteria": criteria,
            })
        });
        put("withheld", withheld.collect());
    }
    if let Some(is_satisfied) = snapshot.is_goal_satisfied {
        put("goalSatisfied", is_satisfied.into());
    }
    match &snapshot.origin {
        Some(Origin::Child { parent, node, .. }) => {
            put("parentRunId", parent.as_str().into());
            put("parentNodeId", node.as_str().into());
        }
        Some(Origin::Fork { source, from_sequence, is_replay }) => {
            put("sourceRunId", source.as_str().into());
            put("forkedFromSeq", (*from_sequence).into());
            put("forkMode", if *is_replay { "replay" } else { "branch" }.into());
        }
        None => {}
    }
    Value::Object(doc)
}

/// The same for a list of runs: where each is, and nothing of what it holds or asks.
#[must_use]
pub fn run_summary(snapshot: &Snapshot) -> Value {
    let mut summary = run_snapshot(snapshot);
    if let Some(members) = summary.as_object_mut() {
        members.retain(|name, _| !matches!(name.as_str(), "variables" | "interrupts"));
        let error = members.get_mut("error").and_then(Value::as_object_mut);
        error.map(|error| error.remove("details"));
    }
    summary
}

/// The word of the wire.
#[must_use]
pub const fn status_word(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Paused => "paused",
        Status::WaitingApproval => "waiting-approval",
        Status::WaitingInput => "waiting-input",
        Status::WaitingExternal => "waiting-external",
        Status::Cancelling => "cancelling",
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}

const fn is_ended(status: Status) -> bool {
    matches!(status, Status::Completed | Status::Failed | Status::Cancelled)
}
