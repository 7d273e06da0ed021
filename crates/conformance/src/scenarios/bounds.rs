//! What a run may use at most.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::log::Log;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/bound-node-executions",
        Core,
        "no more nodes start than a run may start, and the breach is told in three parts",
        "openwop v1: RFC 0058, recursionLimit",
        [Need::Fixture("conformance-cap-breach")],
        node_executions
    ),
    scenario!(
        "core/bound-not-reached",
        Core,
        "a run that uses exactly what it may use completes",
        "openwop v1: RFC 0058, recursionLimit",
        [Need::Fixture("conformance-cap-breach")],
        not_reached
    ),
    scenario!(
        "core/bound-run-duration",
        Core,
        "a run that takes longer than it may is stopped, and was longer",
        "openwop v1: RFC 0058, runTimeoutMs",
        [Need::Fixture("conformance-run-duration-breach")],
        run_duration
    ),
    scenario!(
        "core/bound-range",
        Core,
        "a bound that is out of its range is refused before there is a run",
        "openwop v1: RFC 0058, configurable",
        [Need::Fixture("conformance-noop")],
        range
    ),
    scenario!(
        "core/bound-ceiling",
        Core,
        "asking for more than the host allows does not lift its ceiling",
        "openwop v1: RFC 0058, limits",
        [Need::Fixture("conformance-noop")],
        ceiling
    ),
];

async fn node_executions(p: &mut Probe) -> Result<(), Stop> {
    let extra = json!({"configurable": {"recursionLimit": 3}});
    let (snapshot, log) = p.run("conformance-cap-breach", extra, "failed").await?;
    p.equal("error.code", &json!("recursion_limit_exceeded"), snapshot.pointer("/error/code"))?;
    let (limit, observed) = breach(p, &log, "node-executions")?;
    p.holds(
        limit == 3 && observed > 3,
        "limit 3, observed above it",
        format!("{limit}, {observed}"),
    )?;
    let started = log.of("node.started").count();
    p.holds(started <= 3, "no more than three nodes to start", started)
}

async fn not_reached(p: &mut Probe) -> Result<(), Stop> {
    let extra = json!({"configurable": {"recursionLimit": 6}});
    let (_, log) = p.run("conformance-cap-breach", extra, "completed").await?;
    p.holds(!log.has("cap.breached"), "no cap.breached", format!("{:?}", log.kinds()))
}

async fn run_duration(p: &mut Probe) -> Result<(), Stop> {
    let extra = json!({"configurable": {"runTimeoutMs": 1000}});
    let (snapshot, log) = p.run("conformance-run-duration-breach", extra, "failed").await?;
    p.equal("error.code", &json!("run_timeout"), snapshot.pointer("/error/code"))?;
    let (limit, observed) = breach(p, &log, "run-duration")?;
    p.holds(
        limit == 1000 && observed > 1000,
        "limit 1000, observed above it",
        format!("{limit}, {observed}"),
    )
}

async fn range(p: &mut Probe) -> Result<(), Stop> {
    let wrong = [
        json!({"recursionLimit": 0}),
        json!({"recursionLimit": -1}),
        json!({"recursionLimit": "many"}),
        json!({"runTimeoutMs": 0}),
        json!({"maxLoopIterations": 0}),
        json!({"maxLoopIterations": 1.5}),
    ];
    for configurable in wrong {
        p.step(format!("create a run with {configurable}"));
        let ask = Ask::post(
            "/v1/runs",
            &json!({"workflowId": "conformance-noop", "configurable": configurable}),
        );
        p.refused(&ask, &[400], &["validation_error"]).await?;
    }
    Ok(())
}

async fn ceiling(p: &mut Probe) -> Result<(), Stop> {
    p.step("what is advertised");
    let known = ["maxNodeExecutions", "maxRunDurationMs", "maxLoopIterations"];
    let ceiling = |name: &str| p.claimed(&format!("/limits/{name}")).and_then(Value::as_u64);
    let advertised: Vec<Option<u64>> = known.iter().map(|name| ceiling(name)).collect();
    if advertised.iter().all(Option::is_none) {
        return Err(Stop::Skipped { reason: "no ceiling is advertised".to_owned() });
    }
    for (name, key, limit) in [
        ("maxNodeExecutions", "recursionLimit", advertised.first()),
        ("maxRunDurationMs", "runTimeoutMs", advertised.get(1)),
    ] {
        let Some(limit) = limit.copied().flatten() else { continue };
        p.step(format!("ask for more than limits.{name}"));
        let body = json!({"workflowId": "conformance-noop", "configurable": {key: limit.saturating_add(1)}});
        let ask = Ask::post("/v1/runs", &body);
        let answer = p.ask(&ask).await?;
        p.is_status(&ask, &answer, &[201, 400])?;
        if answer.status == 400 {
            p.is_refusal(&ask, &answer, &[400], &["validation_error"])?;
        }
    }
    Ok(())
}

/// Limit and observed of the only breach of a kind, which comes right before the end.
pub(super) fn breach(p: &mut Probe, log: &Log, kind: &str) -> Result<(u64, u64), Stop> {
    let breaches: Vec<_> = log.of("cap.breached").collect();
    let told = format!("{:?}", log.kinds());
    p.holds(breaches.len() == 1, "one cap.breached", &told)?;
    let kinds = log.kinds();
    let is_last = matches!(kinds.as_slice(), [.., "run.failed"]);
    p.holds(is_last, "run.failed as the end", &told)?;
    let breach = breaches.first().map(|event| event.payload().clone()).unwrap_or_default();
    p.equal("the kind of the breach", &json!(kind), breach.get("kind"))?;
    let number = |name: &str| breach.get(name).and_then(Value::as_u64).unwrap_or_default();
    Ok((number("limit"), number("observed")))
}
