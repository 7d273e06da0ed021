//! Webhooks are registered and removed.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::json;

use crate::call::{Call, answer};
use crate::config::HostConfig;
use crate::error::{Failure, Reason};
use crate::ids::uuid_v7;
use crate::route::{Access, Route};
use crate::schema::event_types;
use crate::scope::Scope;
use crate::tenant;
use crate::webhook::{self, Wanted};
use crate::wire::v1::NewWebhook;

pub(super) const REGISTER: Route = Route {
    name: "registerWebhook",
    method: Method::POST,
    paths: &["/v1/webhooks"],
    access: Access::Key(Scope::WebhooksManage),
    summary: "Has events sent to a URL, signed. A secret that is drawn here is told once.",
    takes: Some("Webhook"),
    gives: &[(201, Some("WebhookCreated"))],
    query: &[],
    is_served,
    handler: |call| Box::pin(register(call)),
};

pub(super) const REMOVE: Route = Route {
    name: "removeWebhook",
    method: Method::DELETE,
    paths: &["/v1/webhooks/{webhookId}"],
    access: Access::Key(Scope::WebhooksManage),
    summary: "Sends nothing more there.",
    takes: None,
    gives: &[(204, None)],
    query: &[],
    is_served,
    handler: |call| Box::pin(remove(call)),
};

const fn is_served(config: &HostConfig) -> bool {
    config.has_webhooks
}

async fn register(call: Call) -> Result<Response, Failure> {
    let wanted = NewWebhook::parse(&call.json()?)?;
    let tenant = call.caller()?.tenant.clone();
    if wanted.tenant.is_some_and(|named| named != tenant) {
        let message = "`tenantId` is not the tenant of this key: leave it out";
        return Err(Failure::new(Reason::Forbidden, message));
    }
    let known: BTreeSet<String> = event_types().into_iter().collect();
    let is_all = wanted.events.iter().any(|event| event == "*");
    if let Some(event) = wanted.events.iter().find(|event| !is_all && !known.contains(*event)) {
        let what = format!("names no type of event of this host: `{event}`");
        return Err(Failure::invalid("/events", what));
    }
    let host = &call.host;
    host.config.courier.permits(&wanted.url).await.map_err(|error| {
        Failure::new(Reason::WebhookUrlRejected, format!("nothing is sent to that URL: {error}"))
    })?;
    let id = tenant::run_id(&tenant, uuid_v7(&*host.ids, host.now_ms())).to_string();
    // Who gave its secret has it: only one that was drawn here is told, this once.
    let drawn = wanted.secret.is_none().then(|| hex::encode(host.ids.draw()));
    let secret = wanted.secret.or_else(|| drawn.clone()).unwrap_or_default();
    let events = if is_all { BTreeSet::new() } else { wanted.events.into_iter().collect() };
    let subscription = Wanted { tenant, url: wanted.url, events, secret };
    webhook::register(host, &id, subscription).await?;
    let mut body = json!({"webhookId": id, "subscriptionId": id});
    if let (Some(drawn), Some(members)) = (drawn, body.as_object_mut()) {
        members.insert("secret".to_owned(), drawn.into());
    }
    Ok(answer(StatusCode::CREATED, &body))
}

async fn remove(call: Call) -> Result<Response, Failure> {
    let id = call.param("webhookId");
    if !webhook::remove(&call.host, &call.caller()?.tenant, id).await? {
        let message = "there is no such webhook: it may be removed already";
        return Err(Failure::new(Reason::SubscriptionNotFound, message));
    }
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
