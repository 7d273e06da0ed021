//! What the specification leaves to the host's pride.

use serde_json::{Value, json};

use crate::http::{Ask, Who};
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "beyond/tenants-apart",
        Beyond,
        "what one tenant has the other cannot see, stop or answer, nor learn that it exists",
        "openwop v1: tenancy, authorization-fail-closed",
        [Need::OtherTenant, Need::Fixture("conformance-approval")],
        tenants_apart
    ),
    scenario!(
        "beyond/strange-ids",
        Beyond,
        "names that are no names are not found, whatever is in them",
        "openwop v1: error envelope",
        [],
        strange_ids
    ),
    scenario!(
        "beyond/deep-json",
        Beyond,
        "a body that is nested too deep is refused, and the host lives on",
        "openwop v1: error envelope, limits",
        [Need::Fixture("conformance-noop")],
        deep_json
    ),
    scenario!(
        "beyond/key-not-told",
        Beyond,
        "no log, no state and no error gives the caller's key away",
        "invariant secret-leakage-eventlog-payload",
        [Need::Fixture("conformance-noop")],
        key_not_told
    ),
];

async fn tenants_apart(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits");
    let run = p.create("conformance-approval", json!({})).await?;
    p.reach(&run, "waiting-approval").await?;
    let accept = json!({"resumeValue": {"action": "accept"}});
    let asks = [
        Ask::get(format!("/v1/runs/{run}")),
        Ask::get(format!("/v1/runs/{run}/events")),
        Ask::get(format!("/v1/runs/{run}/events")).events(),
        Ask::get(format!("/v1/runs/{run}/events/poll")),
        Ask::get(format!("/v1/runs/{run}/ancestry")),
        Ask::post(format!("/v1/runs/{run}/cancel"), &json!({})),
        Ask::post(format!("/v1/runs/{run}/interrupts/gate"), &accept),
        Ask::post(format!("/v1/runs/{run}:fork"), &json!({"mode": "branch"})),
    ];
    for ask in asks {
        p.step(format!("{} with the other tenant's key", ask.told()));
        let refused = p.refused(&ask.by(Who::Other), &[404, 403], &[]).await?;
        p.holds(
            !refused.to_string().contains("waiting"),
            "nothing of the run in the refusal",
            &refused,
        )?;
    }
    p.step("look at the run with its own key");
    let status = p.snapshot(&run).await?.get("status").cloned();
    p.equal("status", &json!("waiting-approval"), status.as_ref())?;
    p.cancel(&run).await?;
    Ok(())
}

async fn strange_ids(p: &mut Probe) -> Result<(), Stop> {
    let long = "a".repeat(2_000);
    for id in [
        "%2e%2e%2fetc%2fpasswd",
        "%00",
        "%F0%9F%A6%80",
        "a%0d%0aSet-Cookie:%20a=b",
        "%27%20OR%201=1--",
        &long,
    ] {
        p.step(format!("read the run {}", id.get(..40).unwrap_or(id)));
        let ask = Ask::get(format!("/v1/runs/{id}"));
        let answer = p.ask(&ask).await?;
        p.is_refusal(&ask, &answer, &[400, 403, 404, 414], &[])?;
        p.holds(
            answer.header("set-cookie").is_none(),
            "no header out of a name",
            answer.excerpt(),
        )?;
    }
    Ok(())
}

async fn deep_json(p: &mut Probe) -> Result<(), Stop> {
    const LEVELS: usize = 100_000;
    p.step("create a run with inputs that nest a hundred thousand deep");
    let body = format!(
        "{{\"workflowId\":\"conformance-noop\",\"inputs\":{{\"deep\":{}{}}}}}",
        "[".repeat(LEVELS),
        "]".repeat(LEVELS)
    );
    p.refused(&Ask::post_text("/v1/runs", body), &[400, 413, 422], &[]).await?;
    p.step("begin another run");
    let run = p.create("conformance-noop", json!({})).await?;
    let snapshot = p.reach(&run, "completed").await?;
    p.equal("status", &json!("completed"), snapshot.get("status"))
}

/// Every answer of the whole kit is searched for the key as it is read; here it is looked for where it
/// would most likely be.
async fn key_not_told(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) =
        p.run("conformance-noop", json!({"metadata": {"note": "a note"}}), "completed").await?;
    let texts =
        log.events().iter().map(|event| event.json().to_string()).chain([snapshot.to_string()]);
    let told: Vec<String> =
        texts.filter(|text| p.shared().http().is_told_in(text.as_bytes())).collect();
    p.holds(told.is_empty(), "no key in log or state", "the key")?;
    p.step("errors");
    let ask = Ask::post_text("/v1/runs", "{\"workflowId\":");
    let refused = p.refused(&ask, &[400, 422], &[]).await?;
    let has_trace =
        refused.get("details").map(Value::to_string).unwrap_or_default().contains(".rs:");
    p.holds(!has_trace, "no trace of the host's code in an error", &refused)
}
