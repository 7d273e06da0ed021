//! What runs leave beside their outputs.

use serde_json::{Value, json};

use crate::http::{Ask, Who};
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const CLAIM: Need = Need::Claim("/artifacts/supported");

pub(super) const TABLE: &[Scenario] = &[scenario!(
    "core/artifacts",
    Core,
    "what a run says that it left is read with its key, and without one nobody learns what is there",
    "openwop v1: GET /v1/runs/{id}/artifacts/{aid}",
    [CLAIM, Need::Fixture("conformance-approval"), Need::Fixture("conformance-multi-node")],
    artifacts
)];

async fn artifacts(p: &mut Probe) -> Result<(), Stop> {
    p.step("runs that may leave something");
    let approval = p.create("conformance-approval", json!({})).await?;
    p.reach(&approval, "waiting-approval").await?;
    p.resolve(&approval, "gate", json!({"action": "accept"})).await?;
    p.reach(&approval, "completed").await?;
    let (chain, _) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let chain = chain.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned();
    for run in [approval, chain] {
        let log = p.log(&run).await?;
        let told: Vec<String> =
            log.of("artifact.created").map(|event| event.text("/artifactId").to_owned()).collect();
        for artifact in &told {
            let path = format!("/v1/runs/{run}/artifacts/{artifact}");
            p.step(format!("GET {path}"));
            let ask = Ask::get(&path);
            let answer = p.ask(&ask).await?;
            p.is_status(&ask, &answer, &[200])?;
            p.refused(&Ask::get(&path).by(Who::Nobody), &[401], &["unauthenticated"]).await?;
            if p.shared().options().other_tenant.is_some() {
                p.refused(&Ask::get(&path).by(Who::Other), &[404, 403], &[]).await?;
            }
        }
        p.step("an artifact that does not exist");
        let path = format!("/v1/runs/{run}/artifacts/probity-no-such-artifact");
        p.refused(&Ask::get(&path).by(Who::Nobody), &[401], &["unauthenticated"]).await?;
        p.refused(&Ask::get(&path), &[404], &[]).await?;
    }
    Ok(())
}
