//! Turns of a supervisor (RFC 0061).

use serde_json::{Value, json};

use crate::http::Ask;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

use super::bounds::breach;

const SEAM: &str = "/v1/host/sample/agentloop/run";
const NOOP: Need = Need::Fixture("conformance-noop");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "loop/iterations",
        Loop,
        "each turn has a number, one more than the last",
        "openwop v1: RFC 0061, iteration",
        [Need::Version(5), NOOP, Need::Fixture("conformance-orchestrator-dispatch")],
        iterations
    ),
    scenario!(
        "loop/bounded",
        Loop,
        "the turn behind the last one is a breach in three parts, and the run fails by it",
        "openwop v1: RFC 0058, maxLoopIterations",
        [NOOP, Need::Fixture("conformance-endless")],
        bounded
    ),
    scenario!(
        "loop/own-counter",
        Loop,
        "turns are counted for each run: what ends in its last turn completes",
        "openwop v1: RFC 0058, maxLoopIterations",
        [NOOP, Need::Fixture("conformance-orchestrator-dispatch")],
        own_counter
    ),
    scenario!(
        "loop/seam-iterations",
        Loop,
        "the seam's turns have numbers from 1 on",
        "openwop v1: RFC 0061; seam agentloop/run",
        [Need::Version(5), Need::Seam(SEAM)],
        seam_iterations
    ),
    scenario!(
        "loop/seam-resume",
        Loop,
        "a turn that was suspended goes on with its number",
        "openwop v1: RFC 0061, statefulResume; seam agentloop/run",
        [Need::Claim("/multiAgent/executionModel/statefulResume"), Need::Seam(SEAM)],
        seam_resume
    ),
    scenario!(
        "loop/seam-bound",
        Loop,
        "the seam's turns are bounded",
        "openwop v1: RFC 0058; seam agentloop/run",
        [Need::Version(5), Need::Seam(SEAM)],
        seam_bound
    ),
    scenario!(
        "loop/seam-workspace",
        Loop,
        "what a turn writes the next one sees, and that one not before",
        "openwop v1: RFC 0061, workspace; seam agentloop/run",
        [Need::Version(5), Need::Seam(SEAM)],
        seam_workspace
    ),
];

async fn iterations(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-orchestrator-dispatch", json!({}), "completed").await?;
    let told: Vec<Option<u64>> = log
        .decisions()
        .iter()
        .map(|event| event.payload().get("iteration").and_then(Value::as_u64))
        .collect();
    p.holds(told == [Some(1), Some(2)], "iterations 1 and 2", format!("{told:?}"))
}

async fn bounded(p: &mut Probe) -> Result<(), Stop> {
    let extra = json!({"configurable": {"maxLoopIterations": 3}});
    let (snapshot, log) = p.run("conformance-endless", extra, "failed").await?;
    p.equal("error.code", &json!("loop_limit_exceeded"), snapshot.pointer("/error/code"))?;
    let (limit, observed) = breach(p, &log, "loop-iterations")?;
    p.holds(limit == 3 && observed == 4, "limit 3, observed 4", format!("{limit}, {observed}"))?;
    let children = log.children().len();
    p.holds(children == 3, "three children and no more", children)
}

async fn own_counter(p: &mut Probe) -> Result<(), Stop> {
    let extra = json!({"configurable": {"maxLoopIterations": 2}});
    let (_, log) = p.run("conformance-orchestrator-dispatch", extra, "completed").await?;
    p.holds(!log.has("cap.breached"), "no cap.breached", format!("{:?}", log.kinds()))
}

async fn seam_iterations(p: &mut Probe) -> Result<(), Stop> {
    p.step("three turns");
    let answer = p.optional(&Ask::post(SEAM, &json!({"turns": 3})), &[200]).await?;
    let told = numbers(&answer);
    let is_counted = told.iter().zip(1..).all(|(got, at)| *got == at);
    p.holds(told.len() >= 3 && is_counted, "iterations 1, 2, 3", format!("{told:?}"))
}

async fn seam_resume(p: &mut Probe) -> Result<(), Stop> {
    p.step("four turns, the second suspended and resumed");
    let body = json!({"turns": 4, "suspendAtTurn": 2, "resume": true});
    let answer = p.optional(&Ask::post(SEAM, &body), &[200]).await?;
    p.equal("resumedIteration", &json!(2), answer.get("resumedIteration"))?;
    let told = numbers(&answer);
    let grows = told.windows(2).all(|pair| pair.first() <= pair.get(1));
    p.holds(grows && !told.is_empty(), "iterations that do not go back", format!("{told:?}"))
}

async fn seam_bound(p: &mut Probe) -> Result<(), Stop> {
    p.step("five turns where two are allowed");
    let answer =
        p.optional(&Ask::post(SEAM, &json!({"turns": 5, "maxLoopIterations": 2})), &[200]).await?;
    let bound = answer.get("bound").cloned().unwrap_or_default();
    p.equal("bound.kind", &json!("loop-iterations"), bound.get("kind"))?;
    p.equal("bound.limit", &json!(2), bound.get("limit"))?;
    p.equal("bound.observed", &json!(3), bound.get("observed"))?;
    p.equal("bound.errorCode", &json!("loop_limit_exceeded"), bound.get("errorCode"))
}

async fn seam_workspace(p: &mut Probe) -> Result<(), Stop> {
    p.step("three turns, the first of which writes");
    let body = json!({"turns": 3, "workspaceWriteAtTurn": 1});
    let answer = p.optional(&Ask::post(SEAM, &body), &[200]).await?;
    p.equal(
        "workspaceVisible.atWriteTurn",
        &json!(false),
        answer.pointer("/workspaceVisible/atWriteTurn"),
    )?;
    p.equal(
        "workspaceVisible.atNextTurn",
        &json!(true),
        answer.pointer("/workspaceVisible/atNextTurn"),
    )
}

fn numbers(answer: &Value) -> Vec<u64> {
    let decisions = answer.get("decisions").and_then(Value::as_array).into_iter().flatten();
    decisions.filter_map(|decision| decision.get("iteration").and_then(Value::as_u64)).collect()
}
