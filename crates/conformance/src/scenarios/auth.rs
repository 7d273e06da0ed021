//! Who may ask.

use serde_json::json;

use crate::http::{Ask, Who};
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/auth-missing",
        Core,
        "without a key there is 401 and the envelope of errors, on every route",
        "openwop v1: authentication",
        [],
        missing
    ),
    scenario!(
        "core/auth-unknown-key",
        Core,
        "with a key that nobody gave out there is 401, not 403",
        "openwop v1: authentication",
        [],
        unknown_key
    ),
    scenario!(
        "core/auth-before-existence",
        Core,
        "who has no key does not learn what exists",
        "openwop v1: authentication, artifacts",
        [Need::Fixture("conformance-noop")],
        before_existence
    ),
];

/// What needs a key. The ids are those of nothing.
fn routes() -> Vec<Ask> {
    vec![
        Ask::post("/v1/runs", &json!({"workflowId": "conformance-noop"})),
        Ask::get("/v1/runs/probity-no-such-run"),
        Ask::get("/v1/runs/probity-no-such-run/events"),
        Ask::get("/v1/runs/probity-no-such-run/events/poll"),
        Ask::get("/v1/runs/probity-no-such-run/artifacts/none"),
        Ask::get("/v1/workflows/probity-no-such-workflow"),
        Ask::post("/v1/runs/probity-no-such-run/cancel", &json!({})),
        Ask::post(
            "/v1/runs/probity-no-such-run/interrupts/node",
            &json!({"resumeValue": "accept"}),
        ),
    ]
}

async fn missing(p: &mut Probe) -> Result<(), Stop> {
    for ask in routes() {
        p.step(format!("{} without a key", ask.told()));
        p.refused(&ask.by(Who::Nobody), &[401], &["unauthenticated"]).await?;
    }
    Ok(())
}

async fn unknown_key(p: &mut Probe) -> Result<(), Stop> {
    for ask in routes() {
        p.step(format!("{} with a key that nobody gave out", ask.told()));
        p.refused(&ask.by(Who::Stranger), &[401], &["unauthenticated"]).await?;
    }
    p.step("a credential that is no bearer's");
    let ask = Ask::get("/v1/runs/probity-no-such-run")
        .by(Who::Nobody)
        .header("authorization", "Basic Og==");
    p.refused(&ask, &[401], &["unauthenticated"]).await?;
    Ok(())
}

async fn before_existence(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run");
    let run = p.create("conformance-noop", json!({})).await?;
    p.step("ask for a run that exists and one that does not, without a key");
    for tail in ["", "/events", "/artifacts/none"] {
        let there = Ask::get(format!("/v1/runs/{run}{tail}")).by(Who::Nobody);
        let gone = Ask::get(format!("/v1/runs/probity-no-such-run{tail}")).by(Who::Nobody);
        let there = p.refused(&there, &[401], &[]).await?;
        let gone = p.refused(&gone, &[401], &[]).await?;
        let (there, gone) = (there.get("error").cloned(), gone.get("error").cloned());
        p.holds(there == gone, "the same answer to both", format!("{there:?} and {gone:?}"))?;
    }
    p.step("ask for an artifact that does not exist, with the key");
    p.refused(&Ask::get(format!("/v1/runs/{run}/artifacts/none")), &[404], &[]).await?;
    Ok(())
}
