//! The door of attested merges: a child leaves what is asked for, and somebody approves it or not.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_workflow::{Definition, Event, Phase};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::build::{node, workflow};
use super::drive::Driven;
use super::has_seams;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::{Fields, render};

/// Variables that a child may leave.
const MAX_OUTPUTS: usize = 100;

pub(in crate::api) const ATTEST: Route = Route {
    name: "seamAttest",
    method: Method::POST,
    paths: &["/v1/host/sample/subrun/attest"],
    access: Access::Key(Scope::RunsCreate),
    summary: "Runs a sub-workflow whose outputs are attested before they are taken over.",
    takes: Some("Any"),
    gives: &[(200, None)],
    query: &[],
    is_served: has_seams,
    handler: |call| Box::pin(attest(call)),
};

async fn attest(call: Call) -> Result<Response, Failure> {
    let body = call.json()?;
    let fields = Fields::of(&body)?;
    let outputs = fields.object("childOutputs")?;
    if outputs.len() > MAX_OUTPUTS {
        return Err(fields.wrong("childOutputs", format!("must have at most {MAX_OUTPUTS}")));
    }
    let attestation = fields.object("outputAttestation")?;
    let action = fields.text("approvalAction", 32)?;
    let child = child(&outputs);
    let parent = parent(&child, &outputs, &attestation);
    call.host.runs.define(Definition::parse(&child)?).map_err(|error| {
        Failure::invalid("/childOutputs", format!("cannot be a child's: {error}"))
    })?;
    let driven =
        Driven::begin(&call, Definition::parse(&parent)?, Map::new(), call.host.config.ceilings)
            .await?;
    let (_, mut entries) = driven.settled(&call, 0).await?;
    let is_asked = entries.last().is_some_and(|entry| !entry.event.is_terminal());
    if let (true, Some(action)) = (is_asked, action) {
        let behind = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        driven.answer(&call, json!({"action": action})).await?;
        entries = driven.settled(&call, behind).await?.1;
    }
    let harvested = entries
        .iter()
        .find(|entry| matches!(entry.event, Event::Handoff { phase: Phase::Harvested, .. }));
    let mut told = json!({"merged": harvested.is_some()});
    if let (Some(entry), Some(members)) = (harvested, told.as_object_mut()) {
        let event = render(&driven.run, entry);
        if let Some(attestation) = event.pointer("/payload/attestation") {
            members.insert("attestation".to_owned(), attestation.clone());
        }
        members.insert("harvestedEvent".to_owned(), event);
        let merged = entries.iter().filter_map(|entry| match &entry.event {
            Event::VariableChanged { name, next, .. } => Some((name.clone(), next.clone())),
            _ => None,
        });
        members.insert("mergedValues".to_owned(), Value::Object(merged.collect()));
    }
    Ok(answer(StatusCode::OK, &told))
}

/// A definition whose runs leave just that. The same outputs have the same child.
fn child(outputs: &Map<String, Value>) -> Value {
    let text = Value::Object(outputs.clone()).to_string();
    let digest = hex::encode(Sha256::digest(text.as_bytes()));
    let variables =
        outputs.iter().map(|(name, value)| json!({"name": name, "defaultValue": value}));
    workflow(
        &format!("conformance-probity-child-{digest}"),
        vec![node("noop", "core.noop", &json!({}))],
        vec![],
        variables.collect(),
    )
}

fn parent(child: &Value, outputs: &Map<String, Value>, attestation: &Map<String, Value>) -> Value {
    let mapping: Map<String, Value> =
        outputs.keys().map(|name| (name.clone(), name.as_str().into())).collect();
    let config = json!({
        "workflowId": child.get("id"),
        "outputMapping": mapping,
        "outputAttestation": attestation,
        "onChildFailure": "absorb",
    });
    let sub = node("sub", "core.subWorkflow", &config);
    workflow("conformance-probity-attest", vec![sub], vec![], vec![])
}
