//! A supervisor and its decisions.

use serde_json::{Value, json};

use crate::log::Log;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

const ORCHESTRATOR: Need = Need::Claim("/agents/orchestrator");
const DISPATCH: Need = Need::Claim("/agents/dispatch");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "orchestration/dispatch",
        Orchestration,
        "a supervisor hands work to a worker",
        "openwop v1: RFC 0006, RFC 0022",
        [
            ORCHESTRATOR,
            DISPATCH,
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-orchestrator-dispatch")
        ],
        dispatch
    ),
    scenario!(
        "orchestration/termination",
        Orchestration,
        "a supervisor ends its run once, and last",
        "openwop v1: RFC 0006, CO-3",
        [ORCHESTRATOR, Need::Fixture("conformance-orchestrator-terminate")],
        termination
    ),
    scenario!(
        "orchestration/loop",
        Orchestration,
        "a supervisor that is told nothing hands on once and ends",
        "openwop v1: RFC 0006, dispatch loop",
        [Need::Fixture("conformance-noop"), Need::Fixture("conformance-dispatch-loop")],
        dispatch_loop
    ),
    scenario!(
        "orchestration/decision-before-effect",
        Orchestration,
        "a decision is in the log before what follows from it",
        "openwop v1: RFC 0006, CO-1",
        [
            ORCHESTRATOR,
            DISPATCH,
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-orchestrator-dispatch")
        ],
        before_effect
    ),
    scenario!(
        "orchestration/one-identity",
        Orchestration,
        "a run has one supervisor, and the run says who",
        "openwop v1: RFC 0006, CO-2",
        [
            ORCHESTRATOR,
            DISPATCH,
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-orchestrator-dispatch")
        ],
        one_identity
    ),
    scenario!(
        "orchestration/decision-shapes",
        Orchestration,
        "a decision has one of three closed shapes",
        "openwop v1: orchestrator-decision; RFC 0090 §C",
        [],
        shapes
    ),
    scenario!(
        "orchestration/agent-events",
        Orchestration,
        "what an agent thinks, calls and decides is told in order",
        "openwop v1: RFC 0002",
        [Need::Claim("/conformance/mockAgent"), Need::Fixture("conformance-agent-reasoning")],
        agent_events
    ),
];

async fn dispatch(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-orchestrator-dispatch", json!({}), "completed").await?;
    let handed: Vec<_> = log
        .decisions()
        .into_iter()
        .filter(|event| event.text("/decision/kind") == "next-worker")
        .collect();
    p.holds(
        handed.len() == 1,
        "one decision of kind next-worker",
        format!("{:?}", log.decision_kinds()),
    )?;
    let agent = handed.first().map(|event| event.text("/agentId")).unwrap_or_default();
    p.holds(agent.len() >= 3, "an agentId", agent)?;
    let worker =
        handed.first().and_then(|event| event.payload().pointer("/decision/nextWorkerIds/0"));
    p.equal("the worker", &json!("conformance-noop"), worker)?;
    p.holds(log.children().len() == 1, "one child run", format!("{:?}", log.children()))
}

async fn termination(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-orchestrator-terminate", json!({}), "completed").await?;
    let kinds = log.decision_kinds();
    p.holds(kinds == ["terminate"], "one decision: terminate", format!("{kinds:?}"))
}

async fn dispatch_loop(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-dispatch-loop", json!({}), "completed").await?;
    let kinds = log.decision_kinds();
    p.holds(
        kinds == ["next-worker", "terminate"],
        "next-worker, then terminate",
        format!("{kinds:?}"),
    )
}

async fn before_effect(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-orchestrator-dispatch", json!({}), "completed").await?;
    let decisions = log.decisions();
    let at = |kind: &str| {
        decisions.iter().find(|event| event.text("/decision/kind") == kind).map(|e| e.sequence())
    };
    let (handed, ended) = (at("next-worker"), at("terminate"));
    p.holds(
        handed.is_some() && ended.is_some(),
        "both decisions",
        format!("{:?}", log.decision_kinds()),
    )?;
    let is_worker = |kind: &str| matches!(kind, "node.dispatched" | "core.workflowChain.event");
    let begun =
        log.events().iter().find(|event| is_worker(event.kind())).map(|event| event.sequence());
    p.holds(
        begun.is_none() || handed < begun,
        "next-worker before anything of the worker",
        format!("{:?}", log.kinds()),
    )?;
    let done = log.of("run.completed").next().map(|event| event.sequence());
    p.holds(ended < done, "terminate before run.completed", format!("{:?}", log.kinds()))
}

async fn one_identity(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) =
        p.run("conformance-orchestrator-dispatch", json!({}), "completed").await?;
    let agents: std::collections::BTreeSet<&str> =
        log.decisions().iter().map(|event| event.text("/agentId")).collect();
    p.holds(agents.len() == 1, "one agent in all decisions", format!("{agents:?}"))?;
    let agent = agents.first().copied().unwrap_or_default();
    p.equal(
        "runOrchestrator.agentId",
        &json!(agent),
        snapshot.pointer("/runOrchestrator/agentId"),
    )?;
    p.equal(
        "the agent of the definition",
        &json!("core.conformance.supervisor"),
        Some(&json!(agent)),
    )
}

async fn shapes(p: &mut Probe) -> Result<(), Stop> {
    p.step("shapes that are allowed");
    let right = [
        json!({"kind": "next-worker", "nextWorkerIds": ["worker"], "confidence": 0.5}),
        json!({"kind": "ask-user", "prompt": "Which?"}),
        json!({"kind": "terminate"}),
        json!({"kind": "terminate", "reason": "done", "successCriteria": [{"key": "answered", "met": false}]}),
        json!({"kind": "terminate", "successCriteria": []}),
    ];
    for decision in right {
        p.fits(Schema::OrchestratorDecision, &decision)?;
    }
    p.step("shapes that are not");
    let wrong = [
        json!({"kind": "clarify", "prompt": "Which?"}),
        json!({"kind": "escalate"}),
        json!({"kind": "next-worker", "nextWorkerIds": []}),
        json!({"kind": "ask-user", "prompt": ""}),
        json!({"kind": "terminate", "successCriteria": [{"key": "answered"}]}),
        json!({"kind": "terminate", "successCriteria": [{"key": "answered", "met": true, "why": "because"}]}),
        json!({"kind": "terminate", "confidence": 1.5}),
    ];
    for decision in wrong {
        p.fits_not(Schema::OrchestratorDecision, &decision)?;
    }
    Ok(())
}

async fn agent_events(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-agent-reasoning", json!({}), "completed").await?;
    for kind in ["agent.reasoned", "agent.decided"] {
        p.holds(log.has(kind), kind, format!("{:?}", log.kinds()))?;
    }
    let agent = first(&log, "agent.decided", "/agentId");
    let is_one = first(&log, "agent.reasoned", "/agentId") == agent;
    p.holds(is_one, "one agent that thinks and decides", Value::from(log.kinds()))?;
    let at = |kind: &str| log.of(kind).next().map(|event| event.sequence());
    p.holds(
        at("agent.reasoned") < at("agent.decided"),
        "the thought first",
        format!("{:?}", log.kinds()),
    )?;
    for returned in log.of("agent.toolReturned") {
        let call = returned.text("/callId");
        let called = log.of("agent.toolCalled").find(|event| event.text("/callId") == call);
        let is_before = called.is_some_and(|event| event.sequence() < returned.sequence());
        p.holds(is_before, "a call before what it returned", returned.json())?;
    }
    Ok(())
}

fn first<'a>(log: &'a Log, kind: &'a str, pointer: &str) -> &'a str {
    log.of(kind).next().map(|event| event.text(pointer)).unwrap_or_default()
}
