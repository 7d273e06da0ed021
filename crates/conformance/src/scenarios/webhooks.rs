//! Events that are sent out.

use serde_json::{Value, json};

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::time::Instant;

use crate::http::{Ask, Receiver, Who};
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
    scenario!(
        "webhooks/delivery",
        Webhooks,
        "an event that was asked for is sent, and signed with the caller's secret",
        "openwop v1: webhooks, signature v1",
        [WEBHOOKS, Need::Receiver, Need::Fixture("conformance-noop")],
        delivery
    ),
];

/// A secret of the caller.
const SECRET: &str = "a secret of the caller, long enough";

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
        "http://2852039166/",
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
    let receiver = listening(p).await?;
    let url = receiver.as_ref().map(Receiver::url).transpose();
    let url = url.map_err(|error| p.failed("an address to listen at", error))?;
    let created = registered(p, url.as_deref().unwrap_or("https://example.com/hook")).await?;
    let id = created.get("webhookId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.holds(!id.is_empty(), "webhookId", &created)?;
    let secret = created.get("secret").and_then(Value::as_str).unwrap_or_default();
    p.holds(!secret.contains(SECRET), "no secret of the caller in the answer", &created)?;
    p.step("delete it");
    let ask = Ask::delete(format!("/v1/webhooks/{id}"));
    let answer = p.ask(&ask).await?;
    p.is_status(&ask, &answer, &[204])?;
    p.step("delete it again");
    p.refused(&ask, &[404], &["subscription_not_found"]).await?;
    Ok(())
}

async fn delivery(p: &mut Probe) -> Result<(), Stop> {
    p.step("register a webhook at an address of the kit");
    let Some(receiver) = listening(p).await? else {
        return Err(Stop::Skipped {
            reason: "no address to receive webhooks at was given".to_owned(),
        });
    };
    let url = receiver.url().map_err(|error| p.failed("an address to listen at", error))?;
    let created = registered(p, &url).await?;
    let id = created.get("webhookId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.step("run to the end, and wait for the delivery");
    let run = p.create("conformance-noop", json!({})).await?;
    let deadline = Instant::now() + Duration::from_millis(p.shared().options().settle_timeout_ms);
    let delivered = loop {
        let next = receiver.next(deadline).await;
        let next = next.map_err(|error| p.failed(format!("run.completed of run {run}"), error))?;
        // Other scenarios have runs of the same tenant.
        if String::from_utf8_lossy(&next.body).contains(&run) {
            break next;
        }
    };
    let body: Value =
        serde_json::from_slice(&delivered.body).map_err(|error| p.failed("JSON", error))?;
    p.holds(body.to_string().contains("run.completed"), "run.completed", &body)?;
    p.equal(
        "X-openwop-Algorithm",
        &json!("v1"),
        Some(&json!(delivered.header("x-openwop-algorithm"))),
    )?;
    p.equal(
        "X-openwop-Subscription-Id",
        &json!(id),
        Some(&json!(delivered.header("x-openwop-subscription-id"))),
    )?;
    let timestamp = delivered.header("x-openwop-timestamp");
    p.holds(!timestamp.is_empty(), "X-openwop-Timestamp", timestamp)?;
    let is_signed = signatures(timestamp, &delivered.body)
        .iter()
        .any(|one| delivered.header("x-openwop-signature").ends_with(one));
    p.holds(
        is_signed,
        "HMAC-SHA256 over timestamp, dot and body",
        delivered.header("x-openwop-signature"),
    )?;
    p.step("delete the webhook");
    let ask = Ask::delete(format!("/v1/webhooks/{id}"));
    let answer = p.ask(&ask).await?;
    p.is_status(&ask, &answer, &[204])
}

/// The right signature, in both spellings that hosts use.
fn signatures(timestamp: &str, body: &[u8]) -> Vec<String> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()) else { return Vec::new() };
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    let tag = mac.finalize().into_bytes();
    vec![hex::encode(tag), STANDARD.encode(tag)]
}

/// Listens where the kit was told to.
async fn listening(p: &mut Probe) -> Result<Option<Receiver>, Stop> {
    let Some(address) = p.shared().options().receiver else { return Ok(None) };
    let receiver = Receiver::bind(address).await;
    receiver.map(Some).map_err(|error| p.failed(format!("{address} to be free for the kit"), error))
}

/// Registers a webhook. A host that cannot reach the address is skipped.
async fn registered(p: &mut Probe, url: &str) -> Result<Value, Stop> {
    let ask = Ask::post("/v1/webhooks", &hook(url));
    let answer = p.ask(&ask).await?;
    if answer.status == 400 {
        p.is_refusal(&ask, &answer, &[400], &["webhook_url_rejected"])?;
        return Err(Stop::Skipped { reason: format!("nothing is sent to {url} by this host") });
    }
    p.is_status(&ask, &answer, &[201])?;
    p.json(&answer)
}

fn hook(url: &str) -> Value {
    json!({"url": url, "events": ["run.completed"], "secret": SECRET})
}
