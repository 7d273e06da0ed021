//! Runs that are stopped, or held for a while.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/cancel",
        Core,
        "a run that is cancelled ends as cancelled, soon and once",
        "openwop v1: POST /v1/runs/{id}/cancel",
        [Need::Fixture("conformance-cancellable")],
        cancel
    ),
    scenario!(
        "core/cancel-ended",
        Core,
        "to cancel a run that has ended changes nothing and is 200",
        "openwop v1: POST /v1/runs/{id}/cancel",
        [Need::Fixture("conformance-noop")],
        cancel_ended
    ),
    scenario!(
        "core/cancel-twice",
        Core,
        "a run that is cancelled from two sides has one end",
        "openwop v1: POST /v1/runs/{id}/cancel",
        [Need::Fixture("conformance-cancellable")],
        cancel_twice
    ),
    scenario!(
        "core/bulk-cancel",
        Core,
        "runs that are cancelled together are answered one by one",
        "openwop v1: POST /v1/runs:bulk-cancel",
        [Need::Fixture("conformance-cancellable"), Need::Route("/v1/runs:bulk-cancel")],
        bulk_cancel
    ),
    scenario!(
        "core/pause-resume",
        Core,
        "a run is paused and resumed, and out of turn both are 409",
        "openwop v1: POST /v1/runs/{id}:pause, :resume",
        [Need::Fixture("conformance-delay"), Need::Route("/v1/runs/{id}:pause")],
        pause_resume
    ),
    scenario!(
        "core/pause-waiting",
        Core,
        "a run that was paused while it waited for somebody goes on with the answer",
        "openwop v1: POST /v1/runs/{id}:pause, :resume",
        [Need::Fixture("conformance-approval"), Need::Route("/v1/runs/{id}:pause")],
        pause_waiting
    ),
];

/// Longer than any scenario may take: only what the scenario does ends such a run.
const LONG_MS: u64 = 300_000;

fn long() -> Value {
    json!({"inputs": {"delayMs": LONG_MS}})
}

async fn cancel(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits");
    let run = p.create("conformance-cancellable", long()).await?;
    p.step("cancel it");
    let answer = p.cancel(&run).await?;
    let status = answer.get("status").and_then(Value::as_str).unwrap_or_default();
    p.holds(
        matches!(status, "cancelling" | "cancelled"),
        "status cancelling or cancelled",
        status,
    )?;
    p.equal("runId", &json!(run), answer.get("runId"))?;
    p.reach(&run, "cancelled").await?;
    let log = p.log(&run).await?;
    let kinds = log.kinds();
    p.holds(kinds.last() == Some(&"run.cancelled"), "run.cancelled last", format!("{kinds:?}"))?;
    p.holds(log.terminals().len() == 1, "one end", format!("{kinds:?}"))
}

async fn cancel_ended(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, before) = p.run("conformance-noop", json!({}), "completed").await?;
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.step("cancel it");
    let answer = p.cancel(&run).await?;
    p.equal("status", &json!("completed"), answer.get("status"))?;
    let after = p.log(&run).await?;
    p.holds(before.kinds() == after.kinds(), "the same log", format!("{:?}", after.kinds()))
}

async fn cancel_twice(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits");
    let run = p.create("conformance-cancellable", long()).await?;
    p.step("cancel it from two sides");
    let ask = Ask::post(format!("/v1/runs/{run}/cancel"), &json!({}));
    let (one, other) = (p.shared().http().clone(), p.shared().http().clone());
    let (one, other) = tokio::join!(one.send(&ask), other.send(&ask));
    for answer in [one, other] {
        let answer = answer.map_err(|error| p.failed("an answer", error))?;
        p.is_status(&ask, &answer, &[200])?;
    }
    p.reach(&run, "cancelled").await?;
    let log = p.log(&run).await?;
    p.holds(log.terminals().len() == 1, "one end", format!("{:?}", log.kinds()))
}

async fn bulk_cancel(p: &mut Probe) -> Result<(), Stop> {
    p.step("cancel a run that waits and one that does not exist");
    let run = p.create("conformance-cancellable", long()).await?;
    let ask = Ask::post("/v1/runs:bulk-cancel", &json!({"runIds": [run, "probity-no-such-run"]}));
    let answer = p.optional(&ask, &[200]).await?;
    let results = answer.get("results").and_then(Value::as_array).cloned().unwrap_or_default();
    p.holds(results.len() == 2, "two results", &answer)?;
    let of =
        |id: &str| results.iter().find(|result| result.get("runId") == Some(&json!(id))).cloned();
    let (known, unknown) =
        (of(&run).unwrap_or_default(), of("probity-no-such-run").unwrap_or_default());
    p.equal("ok of the run", &json!(true), known.get("ok"))?;
    p.equal("ok of the other", &json!(false), unknown.get("ok"))?;
    p.reach(&run, "cancelled").await?;
    p.step("cancel none");
    p.refused(
        &Ask::post("/v1/runs:bulk-cancel", &json!({"runIds": []})),
        &[400],
        &["validation_error"],
    )
    .await?;
    Ok(())
}

async fn pause_resume(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits");
    let run = p.create("conformance-delay", long()).await?;
    let pause = Ask::post(format!("/v1/runs/{run}:pause"), &json!({"reason": "a pause"}));
    let resume = Ask::post(format!("/v1/runs/{run}:resume"), &json!({}));
    p.step("pause it");
    let answer = p.optional(&pause, &[202]).await?;
    p.holds(answer.get("pausedAt").is_some_and(Value::is_string), "pausedAt", &answer)?;
    p.reach(&run, "paused").await?;
    p.step("pause it again");
    let refused = p.refused(&pause, &[409], &[]).await?;
    let status = refused.pointer("/details/runStatus");
    p.equal("details.runStatus", &json!("paused"), status)?;
    p.step("resume it");
    let answer = p.get(&resume, &[202]).await?;
    p.holds(answer.get("resumedAt").is_some_and(Value::is_string), "resumedAt", &answer)?;
    p.step("resume it again");
    p.refused(&resume, &[409], &[]).await?;
    p.reach(&run, "running").await?;
    p.cancel(&run).await?;
    p.reach(&run, "cancelled").await?;
    told(p, &run, "run.cancelled").await
}

async fn pause_waiting(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits for somebody");
    let run = p.create("conformance-approval", json!({})).await?;
    p.reach(&run, "waiting-approval").await?;
    p.step("pause it and resume it");
    let pause = Ask::post(format!("/v1/runs/{run}:pause"), &json!({}));
    let answer = p.served(&pause).await?;
    if answer.status == 409 {
        p.is_refusal(&pause, &answer, &[409], &[])?;
        p.cancel(&run).await?;
        return Ok(());
    }
    p.is_status(&pause, &answer, &[202])?;
    p.reach(&run, "paused").await?;
    p.get(&Ask::post(format!("/v1/runs/{run}:resume"), &json!({})), &[202]).await?;
    p.reach(&run, "waiting-approval").await?;
    p.step("answer it");
    p.resolve(&run, "gate", json!({"action": "accept"})).await?;
    p.reach(&run, "completed").await?;
    told(p, &run, "run.completed").await
}

async fn told(p: &mut Probe, run: &str, end: &str) -> Result<(), Stop> {
    let log = p.log(run).await?;
    let kinds = log.kinds();
    let is_told = log.has("run.paused") && log.has("run.resumed");
    p.holds(is_told, "run.paused and run.resumed", format!("{kinds:?}"))?;
    p.holds(kinds.last() == Some(&end), &format!("{end} last"), format!("{kinds:?}"))
}
