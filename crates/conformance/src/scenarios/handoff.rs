//! Work that is handed over, and what is taken over of it.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const MODEL: Need = Need::Claim("/multiAgent/executionModel/supported");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "orchestration/handoff",
        Orchestration,
        "handing over has four steps, each the cause of the next",
        "openwop v1: RFC 0037, level 1",
        [
            MODEL,
            Need::Fixture("conformance-multi-agent-handoff-child"),
            Need::Fixture("conformance-multi-agent-handoff")
        ],
        handoff
    ),
    scenario!(
        "orchestration/handoff-failure",
        Orchestration,
        "of a child that failed nothing is taken over",
        "openwop v1: RFC 0037, child.failed",
        [MODEL, Need::Fixture("conformance-failure"), Need::Fixture("conformance-child-failure")],
        failure
    ),
    scenario!(
        "orchestration/handoff-nothing-mapped",
        Orchestration,
        "where nothing is mapped nothing is taken over, and no step says so",
        "openwop v1: RFC 0037, output.harvested",
        [
            MODEL,
            Need::Fixture("conformance-noop"),
            Need::Fixture("conformance-orchestrator-dispatch")
        ],
        nothing_mapped
    ),
    scenario!(
        "orchestration/child-run",
        Orchestration,
        "a child is a run with a log of its own, and knows its parent",
        "openwop v1: sub-workflows, RunSnapshot.parentRunId",
        [
            Need::Fixture("conformance-multi-agent-handoff-child"),
            Need::Fixture("conformance-multi-agent-handoff")
        ],
        child_run
    ),
    scenario!(
        "orchestration/cancel-reaches-children",
        Orchestration,
        "who stops a run stops its children",
        "openwop v1: cancellation, parent-cancelled",
        [MODEL, Need::Fixture("conformance-approval"), Need::Fixture("conformance-long-child")],
        cancel_reaches
    ),
];

const PHASES: [&str; 4] =
    ["dispatch.began", "dispatch.succeeded", "child.completed", "output.harvested"];

async fn handoff(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-multi-agent-handoff", json!({}), "completed").await?;
    let steps: Vec<_> = log.of("core.workflowChain.event").collect();
    let phases: Vec<&str> = steps.iter().map(|event| event.text("/phase")).collect();
    p.holds(phases == PHASES, &format!("the phases {PHASES:?}"), format!("{phases:?}"))?;
    let mut cause = log.decisions().first().map(|event| event.id()).unwrap_or_default();
    for step in &steps {
        p.holds(
            !cause.is_empty() && step.cause() == cause,
            &format!("causationId {cause}"),
            step.json(),
        )?;
        cause = step.id();
    }
    let run = snapshot.get("runId").cloned().unwrap_or_default();
    for step in &steps {
        p.equal("parentRunId", &run, step.payload().get("parentRunId"))?;
    }
    let keys = steps.last().and_then(|event| event.payload().get("harvestedKeys"));
    p.equal("harvestedKeys", &json!(["parentResult"]), keys)?;
    let got = p.variable(&snapshot, "parentResult").cloned();
    p.equal("variables.parentResult", &json!("done"), got.as_ref())
}

async fn failure(p: &mut Probe) -> Result<(), Stop> {
    p.step("run conformance-child-failure");
    let run = p.create("conformance-child-failure", json!({})).await?;
    let snapshot = p.settled(&run).await?;
    let log = p.log(&run).await?;
    p.step("what it left");
    p.holds(
        log.handoffs("child.failed").count() == 1,
        "one child.failed",
        format!("{:?}", log.kinds()),
    )?;
    p.holds(
        log.handoffs("output.harvested").count() == 0,
        "no output.harvested",
        format!("{:?}", log.kinds()),
    )?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result", &json!("untouched"), got.as_ref())
}

async fn nothing_mapped(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-orchestrator-dispatch", json!({}), "completed").await?;
    p.holds(
        log.handoffs("child.completed").count() == 1,
        "one child.completed",
        format!("{:?}", log.kinds()),
    )?;
    p.holds(
        log.handoffs("output.harvested").count() == 0,
        "no output.harvested",
        format!("{:?}", log.kinds()),
    )
}

async fn child_run(p: &mut Probe) -> Result<(), Stop> {
    let (parent, log) = p.run("conformance-multi-agent-handoff", json!({}), "completed").await?;
    let run = parent.get("runId").cloned().unwrap_or_default();
    let children: Vec<String> = log.children().into_iter().map(str::to_owned).collect();
    p.holds(children.len() == 1, "one child", format!("{children:?}"))?;
    for child in children {
        p.step("read the child");
        let snapshot = p.snapshot(&child).await?;
        p.equal(
            "workflowId",
            &json!("conformance-multi-agent-handoff-child"),
            snapshot.get("workflowId"),
        )?;
        p.equal("parentRunId", &run, snapshot.get("parentRunId"))?;
        p.equal("parentNodeId", &json!("dispatch"), snapshot.get("parentNodeId"))?;
        let own = p.log(&child).await?;
        p.holds(
            own.has("run.completed"),
            "run.completed in the child's log",
            format!("{:?}", own.kinds()),
        )?;
    }
    p.step("what the dispatch left");
    let done = log.of("node.completed").find(|event| event.node() == "dispatch");
    let outputs =
        done.and_then(|event| event.payload().get("outputs")).cloned().unwrap_or_default();
    p.equal("outputs.childStatus", &json!("completed"), outputs.get("childStatus"))?;
    let child = outputs.get("childRunId").and_then(Value::as_str).unwrap_or_default();
    p.holds(log.children().contains(&child), "outputs.childRunId to name the child", &outputs)
}

async fn cancel_reaches(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run whose child waits");
    let run = p.create("conformance-long-child", json!({})).await?;
    let child = loop {
        let log = p.log(&run).await?;
        let named = log.children().first().map(|child| (*child).to_owned());
        // A child is named before it is begun.
        if let Some(child) = named
            && p.ask(&Ask::get(format!("/v1/runs/{child}"))).await?.status == 200
        {
            break child;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    p.step("cancel it");
    p.cancel(&run).await?;
    p.reach(&run, "cancelled").await?;
    p.step("wait for its child");
    let snapshot = p.reach(&child, "cancelled").await?;
    p.equal("status", &json!("cancelled"), snapshot.get("status"))
}
