//! Decisions that nobody is sure enough of.

use serde_json::{Value, json};

use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "orchestration/confidence-floor",
        Orchestration,
        "a decision below the floor is told, asked about, and not carried out",
        "openwop v1: RFC 0039 §A, RFC 0044",
        [
            Need::Version(2),
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-multi-agent-confidence-escalation")
        ],
        floor
    ),
    scenario!(
        "orchestration/confidence-accepted",
        Orchestration,
        "a decision below the floor is carried out once somebody lets it through",
        "openwop v1: RFC 0039 §A",
        [
            Need::Version(2),
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-multi-agent-confidence-escalation")
        ],
        accepted
    ),
    scenario!(
        "orchestration/confidence-held",
        Orchestration,
        "a supervisor that is not sure holds its decision: nothing is told as decided",
        "openwop v1: RFC 0002, RFC 0006, CP-1",
        [
            Need::Claim("/agents/orchestrator"),
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-orchestrator-low-confidence")
        ],
        held
    ),
    scenario!(
        "orchestration/confidence-agent",
        Orchestration,
        "an agent that is not sure suspends its node",
        "openwop v1: RFC 0002, CP-1",
        [Need::Claim("/conformance/mockAgent"), Need::Fixture("conformance-agent-low-confidence")],
        agent
    ),
];

const WORKFLOW: &str = "conformance-multi-agent-confidence-escalation";

async fn floor(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run whose supervisor is not sure");
    let run = p.create(WORKFLOW, json!({})).await?;
    let kind = p.claimed("/multiAgent/executionModel/confidenceEscalationInterruptKind").cloned();
    let status =
        if kind == Some(json!("clarification")) { "waiting-input" } else { "waiting-approval" };
    p.reach(&run, status).await?;
    let log = p.log(&run).await?;
    let told: Vec<_> = log.of("core.workflowChain.confidence-escalated").collect();
    p.holds(told.len() == 1, "one confidence-escalated", format!("{:?}", log.kinds()))?;
    let payload = told.first().map(|event| event.payload().clone()).unwrap_or_default();
    p.equal("confidence", &json!(0.3), payload.get("confidence"))?;
    let floor = payload.get("floor").and_then(Value::as_f64).unwrap_or_default();
    p.holds((0.5..=1.0).contains(&floor), "a floor from 0.5 to 1", floor)?;
    if let Some(claimed) =
        p.claimed("/multiAgent/executionModel/confidenceEscalationFloor").and_then(Value::as_f64)
    {
        p.holds((floor - claimed).abs() < 1e-9, "the floor that is advertised", floor)?;
    }
    p.holds(
        payload.get("originalDecision").is_some_and(Value::is_object),
        "originalDecision",
        &payload,
    )?;
    let cause = told.first().map(|event| event.cause()).unwrap_or_default();
    p.holds(cause.is_empty() || log.named(cause).is_some(), "a cause of this log, or none", cause)?;
    let handed = log.of("core.workflowChain.event").count();
    p.holds(handed == 0, "nothing handed over", format!("{:?}", log.kinds()))?;
    p.cancel(&run).await?;
    Ok(())
}

async fn accepted(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run whose supervisor is not sure");
    let run = p.create(WORKFLOW, json!({})).await?;
    let snapshot = p.settled(&run).await?;
    p.equal("status", &json!("waiting-approval"), snapshot.get("status"))?;
    let node = p.waiting_node(&snapshot)?;
    p.step("let it through");
    p.resolve(&run, &node, json!({"action": "accept"})).await?;
    p.reach(&run, "completed").await?;
    let log = p.log(&run).await?;
    p.holds(
        log.handoffs("dispatch.began").count() == 1,
        "one dispatch.began",
        format!("{:?}", log.kinds()),
    )?;
    let resumed = log.of("approval.received").next().map(|event| event.sequence());
    let began = log.handoffs("dispatch.began").next().map(|event| event.sequence());
    p.holds(
        resumed.is_none() || resumed < began,
        "the approval before the dispatch",
        format!("{:?}", log.kinds()),
    )
}

async fn held(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run whose supervisor is not sure");
    let run = p.create("conformance-orchestrator-low-confidence", json!({})).await?;
    let snapshot = p.reach(&run, "waiting-approval").await?;
    let log = p.log(&run).await?;
    p.holds(log.decisions().is_empty(), "no decision yet", format!("{:?}", log.kinds()))?;
    let suspended =
        log.of("node.suspended").find(|event| event.text("/reason") == "low-confidence");
    let payload = suspended.map(|event| event.payload().clone()).unwrap_or_default();
    let agent = payload.get("agentId").and_then(Value::as_str).unwrap_or_default();
    p.holds(
        !agent.is_empty(),
        "node.suspended{low-confidence} with an agentId",
        format!("{:?}", log.kinds()),
    )?;
    let node = p.waiting_node(&snapshot)?;
    p.step("let it through");
    p.resolve(&run, &node, json!({"action": "accept"})).await?;
    p.reach(&run, "completed").await?;
    let log = p.log(&run).await?;
    let handed = log.decision_kinds().iter().filter(|kind| **kind == "next-worker").count();
    p.holds(handed == 1, "the decision, once", format!("{:?}", log.decision_kinds()))?;
    let by = log.decisions().first().map(|event| event.text("/agentId")).unwrap_or_default();
    p.holds(by == agent, &format!("the decision of {agent}"), by)
}

async fn agent(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run whose agent is not sure");
    let run = p.create("conformance-agent-low-confidence", json!({})).await?;
    p.reach(&run, "waiting-approval").await?;
    let log = p.log(&run).await?;
    let decided =
        log.of("agent.decided").next().map(|event| event.payload().clone()).unwrap_or_default();
    p.equal("agent.decided.confidence", &json!(0.5), decided.get("confidence"))?;
    let suspended =
        log.of("node.suspended").find(|event| event.text("/reason") == "low-confidence");
    p.holds(suspended.is_some(), "node.suspended{low-confidence}", format!("{:?}", log.kinds()))?;
    p.cancel(&run).await?;
    Ok(())
}
