//! What is sent back to be mended.

use serde_json::{Value, json};

use crate::log::Log;
use crate::probe::{Probe, Stop, child_values};
use crate::scenario::{Need, Scenario};

use super::bounds::breach;
use super::gating::{untouched, words};

const GATING: Need = Need::Claim("/multiAgent/executionModel/verifier/gating");
const CHILD: Need = Need::Fixture("conformance-verifier-child");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "verifier/revise-turns",
        Verifier,
        "what is to be revised goes back to the worker in another turn, and only what passes is taken over",
        "RFC 0090 §B; beyond the official suite (c)",
        [GATING, CHILD, Need::Fixture("conformance-verifier-revise")],
        turns
    ),
    scenario!(
        "verifier/revise-bounded",
        Verifier,
        "what is never mended ends at the bound of turns, told in three parts",
        "RFC 0090 §B, RFC 0058; beyond the official suite (c)",
        [GATING, CHILD, Need::Fixture("conformance-verifier-revise-forever")],
        bounded
    ),
    scenario!(
        "verifier/fail-again",
        Verifier,
        "what failed is done anew where the workflow says so, and the old is never taken over",
        "RFC 0090 §B; beyond the official suite (a), (g)",
        [GATING, CHILD, Need::Fixture("conformance-verifier-again")],
        again
    ),
];

async fn turns(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-verifier-revise", json!({}), "completed").await?;
    p.holds(words(&log) == ["revise", "pass"], "revise, then pass", format!("{:?}", words(&log)))?;
    second_only(p, &snapshot, &log).await
}

async fn again(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-verifier-again", json!({}), "completed").await?;
    p.holds(words(&log) == ["fail", "pass"], "fail, then pass", format!("{:?}", words(&log)))?;
    second_only(p, &snapshot, &log).await
}

async fn bounded(p: &mut Probe) -> Result<(), Stop> {
    let extra = json!({"configurable": {"maxLoopIterations": 2}});
    let (snapshot, log) = p.run("conformance-verifier-revise-forever", extra, "failed").await?;
    p.equal("error.code", &json!("loop_limit_exceeded"), snapshot.pointer("/error/code"))?;
    let (limit, observed) = breach(p, &log, "loop-iterations")?;
    p.holds(limit == 2 && observed == 3, "limit 2, observed 3", format!("{limit}, {observed}"))?;
    p.holds(words(&log) == ["revise", "revise"], "revise, twice", format!("{:?}", words(&log)))?;
    untouched(p, &snapshot, &log)
}

/// Asserts that there were two turns for one task, and that only what the second left is taken over.
async fn second_only(p: &mut Probe, snapshot: &Value, log: &Log) -> Result<(), Stop> {
    let told: Vec<Option<u64>> = log
        .decisions()
        .iter()
        .map(|event| event.payload().get("iteration").and_then(Value::as_u64))
        .collect();
    let counted: Vec<Option<u64>> = (1..).take(told.len()).map(Some).collect();
    p.holds(told.len() >= 3 && told == counted, "iterations 1, 2, 3", format!("{told:?}"))?;
    let handed = log.decision_kinds().iter().filter(|kind| **kind == "next-worker").count();
    p.holds(
        handed == 2,
        "two decisions of kind next-worker",
        format!("{:?}", log.decision_kinds()),
    )?;
    let children: Vec<String> = log.children().into_iter().map(str::to_owned).collect();
    p.holds(children.len() == 2, "two children", format!("{children:?}"))?;
    let targets: Vec<&str> = log.verdicts().iter().map(|event| event.text("/target")).collect();
    p.holds(targets == children, "each child checked", format!("{targets:?}"))?;
    let harvested: Vec<&str> =
        log.handoffs("output.harvested").map(|event| event.text("/childRunId")).collect();
    let second = children.get(1).map(String::as_str);
    p.holds(
        harvested.first().copied() == second && harvested.len() == 1,
        "the second child's output taken over",
        format!("{harvested:?}"),
    )?;
    let left = child_values(p, log, "payload").await?;
    let got = p.variable(snapshot, "result").cloned();
    p.equal("variables.result", left.get(1).unwrap_or(&Value::Null), got.as_ref())
}
