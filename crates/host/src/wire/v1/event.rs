//! An event as `RunEventDoc`.

use probity_core::RunId;
use probity_workflow::{Entry, Event};
use serde_json::{Map, Value};

use super::instant::rfc3339;
use super::payload::payload;

/// The version of every payload's shape.
const SCHEMA_VERSION: u64 = 1;
/// The version of the machine, as the wire has it.
const ENGINE_VERSION: &str = "1";

/// An event of a run.
#[must_use]
pub fn render(run: &RunId, entry: &Entry) -> Value {
    let mut doc = Map::new();
    let mut put = |name: &str, value: Value| doc.insert(name.to_owned(), value);
    put("eventId", event_id(run, entry.sequence).into());
    put("runId", run.as_str().into());
    put("type", event_type(&entry.event).into());
    put("payload", payload(run, entry));
    put("timestamp", rfc3339(entry.at_ms).into());
    put("sequence", entry.sequence.into());
    put("schemaVersion", SCHEMA_VERSION.into());
    put("engineVersion", ENGINE_VERSION.into());
    if let Some(node) = &entry.node {
        put("nodeId", node.as_str().into());
    }
    if let Some(cause) = entry.cause {
        put("causationId", event_id(run, cause).into());
    }
    Value::Object(doc)
}

/// The name of the event at that place of a run.
#[must_use]
pub fn event_id(run: &RunId, sequence: u64) -> String {
    format!("{run}.{sequence}")
}

/// The name of its kind.
#[must_use]
pub const fn event_type(event: &Event) -> &'static str {
    match event {
        Event::RunStarted { .. } => "run.started",
        Event::RunCompleted { .. } => "run.completed",
        Event::RunFailed { .. } => "run.failed",
        Event::RunCancelled { .. } => "run.cancelled",
        Event::RunPaused { .. } => "run.paused",
        Event::RunResumed { .. } => "run.resumed",
        Event::NodeStarted { .. } => "node.started",
        Event::NodeCompleted { .. } => "node.completed",
        Event::NodeFailed { .. } => "node.failed",
        Event::NodeSuspended { .. } => "node.suspended",
        Event::NodeResumed { .. } => "node.resumed",
        Event::NodeDispatched { .. } => "node.dispatched",
        Event::InterruptRequested(_) => "interrupt.requested",
        Event::InterruptResolved { .. } => "interrupt.resolved",
        Event::ApprovalReceived { .. } => "approval.received",
        Event::ClarificationRequested { .. } => "clarification.requested",
        Event::ClarificationResolved { .. } => "clarification.resolved",
        Event::AgentReasoned { .. } => "agent.reasoned",
        Event::AgentToolCalled { .. } => "agent.toolCalled",
        Event::AgentToolReturned { .. } => "agent.toolReturned",
        Event::AgentHandoff { .. } => "agent.handoff",
        Event::AgentDecided { .. } => "agent.decided",
        Event::AgentVerified(_) => "agent.verified",
        Event::SupervisorDecided { .. } => "runOrchestrator.decided",
        Event::Handoff { .. } => "core.workflowChain.event",
        Event::ConfidenceEscalated { .. } => "core.workflowChain.confidence-escalated",
        Event::CapBreached(_) => "cap.breached",
        Event::VariableChanged { .. } => "variable.changed",
        Event::ReplayDiverged { .. } => "replay.diverged",
        Event::ReplayDivergedAtRefusal { .. } => "replay.divergedAtRefusal",
    }
}
