//! Events that are sent out.

use serde_json::{Value, json};

use crate::http::{Ask, Who};
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const WEBHOOKS: Need = Need::Claim("/webhooks/supported");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "webhooks/refused",
        Webhooks,
        "a webhook without an address, or without a key, is refused",
        "openwop v1: POST /v1/webhooks",
        [WEBHOOKS],
        refused
    ),
    scenario!(
        "webhooks/inner-addresses",
        Webhooks,
        "nothing is sent to addresses that only the host reaches",
        "openwop v1: webhook_url_rejected",
        [WEBHOOKS],
        inner_addresses
    ),
    scenario!(
        "webhooks/unknown",
        Webhooks,
        "a webhook that does not exist cannot be deleted",
        "openwop v1: DELETE /v1/webhooks/{id}",
        [WEBHOOKS],
        unknown
    ),
    scenario!(
        "webhooks/register",
        Webhooks,
        "a webhook is registered, and gone once it is deleted",
        "openwop v1: POST and DELETE /v1/webhooks",
        [WEBHOOKS],
        register
    ),
];

async fn refused(p: &mut Probe) -> Result<(), Stop> {
    p.step("register a webhook without an address");
    p.refused(
        &Ask::post("/v1/webhooks", &json!({"events": ["run.completed"]})),
        &[400],
        &["validation_error"],
    )
    .await?;
    p.step("register one without a key");
    let ask = Ask::post("/v1/webhooks", &hook("https://example.com/hook"));
    p.refused(&ask.by(Who::Nobody), &[401], &["unauthenticated"]).await?;
    Ok(())
}

async fn inner_addresses(p: &mut Probe) -> Result<(), Stop> {
    let inner = [
        "http://169.254.169.254/latest/meta-data",
        "http://[fd00::1]/",
        "http://10.0.0.1/",
        "http://2130706433/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://user:password@example.com/",
        "no address",
    ];
    for url in inner {
        p.step(format!("register {url}"));
        let refused = p.refused(&Ask::post("/v1/webhooks", &hook(url)), &[400], &[]).await?;
        let code = refused.get("error").and_then(Value::as_str).unwrap_or_default();
        p.holds(
            matches!(code, "webhook_url_rejected" | "validation_error"),
            "webhook_url_rejected",
            code,
        )?;
    }
    Ok(())
}

async fn unknown(p: &mut Probe) -> Result<(), Stop> {
    p.step("delete a webhook that does not exist");
    p.refused(
        &Ask::delete("/v1/webhooks/probity-no-such-webhook"),
        &[404],
        &["subscription_not_found"],
    )
    .await?;
    Ok(())
}

async fn register(p: &mut Probe) -> Result<(), Stop> {
    p.step("register a webhook");
    let created =
        p.get(&Ask::post("/v1/webhooks", &hook("https://example.com/hook")), &[201]).await?;
    let id = created.get("webhookId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.holds(!id.is_empty(), "webhookId", &created)?;
    let secret = created.get("secret").and_then(Value::as_str).unwrap_or_default();
    p.holds(
        !secret.contains("a secret of the caller"),
        "no secret of the caller in the answer",
        &created,
    )?;
    p.step("delete it");
    let ask = Ask::delete(format!("/v1/webhooks/{id}"));
    let answer = p.ask(&ask).await?;
    p.is_status(&ask, &answer, &[204])?;
    p.step("delete it again");
    p.refused(&ask, &[404], &["subscription_not_found"]).await?;
    Ok(())
}

fn hook(url: &str) -> Value {
    json!({"url": url, "events": ["run.completed"], "secret": "a secret of the caller, long enough"})
}
