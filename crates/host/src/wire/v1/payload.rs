//! What an event says, by its kind.

use probity_core::{Code, RunId};
use probity_workflow::{
    Bound, Breach, Entry, Event, Failure, Held, Judgement, Owner, Phase, Verification,
};
use serde_json::{Map, Value, json};

use super::interrupt::{kind_word, suspend_request};
use crate::idempotency::DIGEST_KEY;

/// Keys of criteria that a verdict may name.
const MAX_CRITERIA: usize = 64;

/// Members that are added one by one; those without a value are left out.
#[derive(Default)]
struct Members(Map<String, Value>);

impl Members {
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn done(self) -> Value {
        Value::Object(self.0)
    }
}

/// The payload of an event.
pub(super) fn payload(run: &RunId, entry: &Entry) -> Value {
    let of_node = || Members::default().maybe("nodeId", entry.node.as_deref());
    match &entry.event {
        event @ (Event::RunStarted { .. }
        | Event::RunCompleted { .. }
        | Event::RunFailed { .. }
        | Event::RunCancelled { .. }
        | Event::RunPaused { .. }
        | Event::RunResumed { .. }
        | Event::ReplayDiverged { .. }
        | Event::ReplayDivergedAtRefusal { .. }) => of_run(event, entry.node.as_deref()),
        event @ (Event::AgentReasoned { .. }
        | Event::AgentToolCalled { .. }
        | Event::AgentToolReturned { .. }
        | Event::AgentHandoff { .. }
        | Event::AgentDecided { .. }
        | Event::AgentVerified(_)
        | Event::SupervisorDecided { .. }
        | Event::Handoff { .. }
        | Event::ConfidenceEscalated { .. }) => of_agent(run, event),
        event @ (Event::InterruptRequested(_)
        | Event::InterruptResolved { .. }
        | Event::ApprovalReceived { .. }
        | Event::ClarificationRequested { .. }
        | Event::ClarificationResolved { .. }) => of_wait(event, of_node()),
        Event::NodeStarted { type_id, attempt } => {
            of_node().with("typeId", type_id.as_str()).with("attempt", *attempt).done()
        }
        Event::NodeCompleted { outputs } => of_node().with("outputs", outputs.clone()).done(),
        Event::NodeFailed { error } => of_node().with("error", failure(error)).done(),
        Event::NodeSuspended { interrupt, kind, key, held } => suspended(
            of_node()
                .with("interruptId", interrupt.as_str())
                .with("kind", kind_word(*kind))
                .with("key", key.as_str()),
            held.as_ref(),
        ),
        Event::NodeResumed { interrupt, value } => of_node()
            .with("interruptId", interrupt.as_str())
            .with("resumeValue", value.clone())
            .done(),
        Event::NodeDispatched { child, workflow } => Members::default()
            .with("childRunId", child.as_str())
            .with("childWorkflowId", workflow.as_str())
            .done(),
        Event::CapBreached(breach) => breached(of_node(), *breach),
        Event::VariableChanged { name, previous, next } => of_node()
            .with("name", name.as_str())
            .maybe("previous", previous.clone())
            .with("next", next.clone())
            .done(),
    }
}

fn of_run(event: &Event, node: Option<&str>) -> Value {
    let members = Members::default();
    match event {
        Event::RunStarted { workflow, inputs, owner, tags, metadata, .. } => {
            let mut metadata = metadata.clone();
            metadata.remove(DIGEST_KEY);
            members
                .with("workflowId", workflow.as_str())
                .with("inputs", inputs.clone())
                .with("transport", "rest")
                .with("owner", owner_json(owner))
                .maybe("tags", (!tags.is_empty()).then(|| tags.clone()))
                .maybe("metadata", (!metadata.is_empty()).then_some(metadata))
                .done()
        }
        Event::RunCompleted { outputs } => members.with("outputs", outputs.clone()).done(),
        Event::RunFailed { error, failed_node } => members
            .with("error", failure(error))
            .maybe("failedNodeId", failed_node.as_deref())
            .done(),
        Event::RunCancelled { reason, by, parent } => members
            .maybe("reason", parent.as_ref().map(|_| "parent-cancelled").or(reason.as_deref()))
            .maybe("cancelledBy", by.as_deref())
            .maybe("parentRunId", parent.as_ref().map(RunId::as_str))
            .done(),
        Event::RunPaused { reason, drain_policy } => members
            .maybe("reason", reason.as_deref())
            .maybe("drainPolicy", drain_policy.as_deref())
            .done(),
        Event::RunResumed { reason } => members.maybe("reason", reason.as_deref()).done(),
        Event::ReplayDiverged { source, at_sequence } => {
            members.with("sourceRunId", source.as_str()).with("atSequence", *at_sequence).done()
        }
        Event::ReplayDivergedAtRefusal { source, at_sequence, was_refusal, is_refusal } => members
            .with("sourceRunId", source.as_str())
            .with("atSequence", *at_sequence)
            .with("originalEnvelopeKind", envelope_kind(*was_refusal))
            .with("replayEnvelopeKind", envelope_kind(*is_refusal))
            .maybe("nodeId", node)
            .done(),
        _ => members.done(),
    }
}

fn of_agent(run: &RunId, event: &Event) -> Value {
    let by = |agent: &str| Members::default().with("agentId", agent);
    match event {
        Event::AgentReasoned { agent, reasoning } => {
            by(agent).with("reasoning", reasoning.as_str()).done()
        }
        Event::AgentToolCalled { agent, tool, call } => {
            by(agent).with("toolName", tool.as_str()).with("callId", call.as_str()).done()
        }
        Event::AgentToolReturned { agent, tool, call, status } => by(agent)
            .with("toolName", tool.as_str())
            .with("callId", call.as_str())
            .with("status", status.as_str())
            .done(),
        Event::AgentHandoff { from, to } => Members::default()
            .with("fromAgentId", from.as_str())
            .with("toAgentId", to.as_str())
            .done(),
        Event::AgentDecided { agent, decision, confidence } => {
            by(agent).with("decision", decision.clone()).maybe("confidence", *confidence).done()
        }
        Event::AgentVerified(verification) => verified(verification),
        Event::SupervisorDecided { agent, decision, iteration } => {
            by(agent).with("decision", json!(decision)).with("iteration", *iteration).done()
        }
        Event::Handoff { phase, worker, child, harvested, checksum, error } => Members::default()
            .with("phase", phase_word(*phase))
            .with("workerId", worker.as_str())
            .with("parentRunId", run.as_str())
            .maybe("childRunId", child.as_ref().map(RunId::as_str))
            .maybe("harvestedKeys", harvested.clone())
            .maybe("attestation", checksum.as_ref().map(|text| attestation(text)))
            .maybe("error", error.as_ref().map(failure))
            .done(),
        Event::ConfidenceEscalated { confidence, floor, worker, decision } => Members::default()
            .with("confidence", *confidence)
            .with("floor", *floor)
            .with("escalationKind", "escalate")
            .with("parentRunId", run.as_str())
            .maybe("workerId", worker.as_deref())
            .with("originalDecision", json!(decision))
            .done(),
        _ => Members::default().done(),
    }
}

fn of_wait(event: &Event, of_node: Members) -> Value {
    match event {
        Event::InterruptRequested(interrupt) => suspend_request(interrupt),
        Event::InterruptResolved { interrupt, kind, value } => of_node
            .with("interruptId", interrupt.as_str())
            .with("kind", kind_word(*kind))
            .maybe("resumeValue", value.clone())
            .done(),
        Event::ApprovalReceived { action, by } => {
            of_node.with("action", action.as_str()).maybe("decidedBy", by.as_deref()).done()
        }
        Event::ClarificationRequested { questions } => {
            of_node.with("questions", questions.clone()).done()
        }
        Event::ClarificationResolved { answers } => of_node.with("answers", answers.clone()).done(),
        _ => of_node.done(),
    }
}

/// A verdict without anything of what was checked: names, a word of a closed list, keys of a closed
/// alphabet, a number.
fn verified(verification: &Verification) -> Value {
    let mut criteria: Vec<&str> =
        verification.criteria.iter().map(Code::as_str).filter(|key| is_plain_key(key)).collect();
    criteria.sort_unstable();
    criteria.dedup();
    criteria.truncate(MAX_CRITERIA);
    let verdict = match verification.verdict {
        Judgement::Pass => "pass",
        Judgement::Fail => "fail",
        Judgement::Revise => "revise",
    };
    Members::default()
        .with("agentId", verification.agent.as_str())
        .with("target", verification.target.as_str())
        .with("verdict", verdict)
        .maybe("criteria", (!criteria.is_empty()).then_some(criteria))
        .maybe("confidence", verification.confidence)
        .done()
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.len() <= 64
        && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
}

fn suspended(members: Members, held: Option<&Held>) -> Value {
    let Some(held) = held else { return members.done() };
    members
        .with("reason", "low-confidence")
        .with("agentId", held.agent.as_str())
        .with("threshold", held.threshold)
        .with("observed", held.observed)
        .done()
}

fn breached(of_node: Members, breach: Breach) -> Value {
    let kind = match breach.kind {
        Bound::NodeExecutions => "node-executions",
        Bound::RunDuration => "run-duration",
        Bound::LoopIterations => "loop-iterations",
    };
    of_node.with("kind", kind).with("limit", breach.limit).with("observed", breach.observed).done()
}

/// Why something failed, as the wire has it.
pub(super) fn failure(error: &Failure) -> Value {
    Members::default()
        .with("code", error.code.as_str())
        .with("message", error.message.as_str())
        .maybe("details", error.details.clone())
        .done()
}

/// Whose a run is, as the wire has it.
pub(super) fn owner_json(owner: &Owner) -> Value {
    Members::default()
        .with("tenant", owner.tenant.as_str())
        .maybe("workspace", owner.workspace.as_deref())
        .maybe("principal", owner.principal.as_deref())
        .done()
}

fn attestation(checksum: &str) -> Value {
    json!({"checksum": checksum, "algorithm": "sha256"})
}

const fn envelope_kind(is_refusal: bool) -> &'static str {
    if is_refusal { "refusal" } else { "valid" }
}

const fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Began => "dispatch.began",
        Phase::Succeeded => "dispatch.succeeded",
        Phase::Failed => "dispatch.failed",
        Phase::ChildCompleted => "child.completed",
        Phase::ChildFailed => "child.failed",
        Phase::ChildCancelled => "child.cancelled",
        Phase::Harvested => "output.harvested",
    }
}
