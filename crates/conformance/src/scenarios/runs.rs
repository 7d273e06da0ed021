//! A run from its creation to its end.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::log::Event;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/run-lifecycle",
        Core,
        "a run is created, runs and completes, and its log says so",
        "openwop v1: POST /v1/runs, GET /v1/runs/{id}",
        [Need::Fixture("conformance-noop")],
        lifecycle
    ),
    scenario!(
        "core/workflow-read",
        Core,
        "a workflow comes back as a definition",
        "openwop v1: GET /v1/workflows/{id}",
        [Need::Fixture("conformance-multi-node")],
        workflow
    ),
    scenario!(
        "core/failure",
        Core,
        "a node that fails fails its run, and the run says why",
        "openwop v1: run.failed, RunSnapshot.error",
        [Need::Fixture("conformance-failure")],
        failure
    ),
    scenario!(
        "core/identity",
        Core,
        "what a run is given it has, unchanged",
        "openwop v1: inputs, RunSnapshot.variables",
        [Need::Fixture("conformance-identity")],
        identity
    ),
    scenario!(
        "core/required-input",
        Core,
        "a workflow runs with the input that it requires",
        "openwop v1: workflow variables",
        [Need::Fixture("conformance-idempotent")],
        required_input
    ),
    scenario!(
        "core/node-order",
        Core,
        "nodes in a chain run one after the other",
        "openwop v1: edges",
        [Need::Fixture("conformance-multi-node")],
        node_order
    ),
    scenario!(
        "core/delay",
        Core,
        "a run that waits for a time is running, then completes",
        "openwop v1: run status",
        [Need::Fixture("conformance-delay")],
        delay
    ),
    scenario!(
        "core/parallel-creates",
        Core,
        "ten runs that are created at once are ten runs",
        "openwop v1: POST /v1/runs, rate limits",
        [Need::Fixture("conformance-noop")],
        parallel_creates
    ),
];

/// What a node waits for: the clock of the host says whether it did.
const DELAY_MS: i128 = 500;
/// What the clock of its timers and that of its log may differ by.
const SLACK_MS: i128 = 20;

async fn lifecycle(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-noop", json!({}), "completed").await?;
    p.equal("workflowId", &json!("conformance-noop"), snapshot.get("workflowId"))?;
    let kinds = log.kinds();
    p.holds(kinds.first() == Some(&"run.started"), "run.started first", format!("{kinds:?}"))?;
    p.holds(kinds.contains(&"node.completed"), "node.completed", format!("{kinds:?}"))?;
    p.holds(kinds.last() == Some(&"run.completed"), "run.completed last", format!("{kinds:?}"))?;
    let has_agents = kinds.iter().any(|kind| kind.starts_with("agent."));
    p.holds(!has_agents, "no event of an agent where there is none", format!("{kinds:?}"))
}

async fn workflow(p: &mut Probe) -> Result<(), Stop> {
    p.step("read the workflow");
    let definition = p.get(&Ask::get("/v1/workflows/conformance-multi-node"), &[200]).await?;
    p.fits(Schema::Workflow, &definition)?;
    p.equal("id", &json!("conformance-multi-node"), definition.get("id"))?;
    let nodes = definition.get("nodes").and_then(Value::as_array).map_or(0, Vec::len);
    p.holds(nodes == 3, "three nodes", nodes)
}

async fn failure(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-failure", json!({}), "failed").await?;
    for member in ["code", "message"] {
        let text = snapshot.pointer(&format!("/error/{member}")).and_then(Value::as_str);
        p.holds(text.is_some(), &format!("error.{member} as text"), &snapshot)?;
    }
    let last = log.terminals();
    let told = last.last().map(|event| event.text("/error/code")).unwrap_or_default();
    p.equal("the code of run.failed", &json!(told), snapshot.pointer("/error/code"))?;
    p.holds(log.has("node.failed"), "node.failed", format!("{:?}", log.kinds()))?;
    p.holds(!log.has("run.completed"), "no run.completed", format!("{:?}", log.kinds()))
}

async fn identity(p: &mut Probe) -> Result<(), Stop> {
    let payload = json!({
        "text": "grüße \u{1f980} \"\\\n", "number": 12.5, "whole": 9_007_199_254_740_991_u64, "negative": -1,
        "list": [1, [2, [3]], {}], "nothing": null, "yes": true, "empty": "", "mark": p.name(),
    });
    let (snapshot, _) =
        p.run("conformance-identity", json!({"inputs": {"payload": payload}}), "completed").await?;
    let got = p.variable(&snapshot, "payload").cloned();
    p.equal("variables.payload", &payload, got.as_ref())
}

async fn required_input(p: &mut Probe) -> Result<(), Stop> {
    let nonce = p.name();
    let (snapshot, _) =
        p.run("conformance-idempotent", json!({"inputs": {"nonce": nonce}}), "completed").await?;
    let got = p.variable(&snapshot, "nonce").cloned();
    p.equal("variables.nonce", &json!(nonce), got.as_ref())
}

async fn node_order(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let done: Vec<&str> = log.of("node.completed").map(|event| event.node()).collect();
    p.holds(done == ["a", "b", "c"], "node.completed for a, b, c", format!("{done:?}"))?;
    for pair in ["a", "b", "c"].windows(2) {
        let [before, after] = pair else { continue };
        let end = log
            .of("node.completed")
            .find(|event| event.node() == *before)
            .map(|event| event.sequence());
        let start = log
            .of("node.started")
            .find(|event| event.node() == *after)
            .map(|event| event.sequence());
        p.holds(
            end < start,
            &format!("{before} to end before {after} starts"),
            format!("{end:?}, {start:?}"),
        )?;
    }
    Ok(())
}

async fn delay(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits for longer than the scenario takes");
    let run = p.create("conformance-delay", json!({"inputs": {"delayMs": 300_000}})).await?;
    p.reach(&run, "running").await?;
    p.cancel(&run).await?;
    p.step("begin one that waits for half a second, and wait for its end");
    let (_, log) =
        p.run("conformance-delay", json!({"inputs": {"delayMs": DELAY_MS}}), "completed").await?;
    p.holds(log.terminals().len() == 1, "one end", format!("{:?}", log.kinds()))?;
    let at = |kind: &str| log.of(kind).next().and_then(Event::at_ms);
    let waited_ms = at("node.completed").zip(at("node.started")).map(|(end, begin)| end - begin);
    p.holds(
        waited_ms.is_some_and(|ms| ms >= DELAY_MS - SLACK_MS),
        "a node that takes at least as long as it is to wait",
        format!("{waited_ms:?} ms"),
    )
}

async fn parallel_creates(p: &mut Probe) -> Result<(), Stop> {
    const TOGETHER: usize = 10;
    p.step("create ten runs at once");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TOGETHER {
        let ask = Ask::post("/v1/runs", &json!({"workflowId": "conformance-noop"}))
            .header("idempotency-key", p.name());
        let http = p.shared().http().clone();
        tasks.spawn(async move { (http.send(&ask).await, ask) });
    }
    let mut runs = std::collections::BTreeSet::new();
    let mut put_off = 0_usize;
    while let Some(joined) = tasks.join_next().await {
        let (sent, ask) = joined.map_err(|error| p.failed("ten answers", error))?;
        let answer = sent.map_err(|error| p.failed("an answer", error))?;
        if matches!(answer.status, 429 | 503) {
            let wait = answer.header("retry-after").and_then(|text| text.parse::<u64>().ok());
            p.holds(wait.is_some(), "a numeric Retry-After beside 429 and 503", answer.excerpt())?;
            put_off += 1;
        } else {
            runs.insert(p.created(&ask, &answer)?);
        }
    }
    let all = runs.len() + put_off;
    p.holds(
        all == TOGETHER && !runs.is_empty(),
        "ten different runs",
        format!("{} runs, {put_off} put off", runs.len()),
    )
}
