//! What a host says of itself: only what it does.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::always;
use crate::cache_key;
use crate::call::{Call, answer};
use crate::config::HostConfig;
use crate::error::Failure;
use crate::fixture;
use crate::route::{Access, Route};

pub(super) const DISCOVERY: Route = Route {
    name: "getCapabilities",
    method: Method::GET,
    paths: &["/.well-known/openwop"],
    access: Access::Open,
    summary: "What this host does.",
    takes: None,
    gives: &[(200, Some("Discovery"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(read(call)),
};

/// The document of a host.
pub(crate) fn document(config: &HostConfig) -> Value {
    let ceilings = config.ceilings;
    let mut document = json!({
        "protocolVersion": "1.0",
        "implementation": {
            "name": config.name,
            "version": env!("CARGO_PKG_VERSION"),
            "vendor": config.vendor,
        },
        "engineVersion": 1,
        "eventLogSchemaVersion": 1,
        "supportedEnvelopes": ["clarification.request"],
        "schemaVersions": {"clarification.request": 1},
        "limits": {
            "clarificationRounds": 3,
            "schemaRounds": 3,
            "envelopesPerTurn": 8,
            "maxNodeExecutions": ceilings.max_node_executions,
            "maxRunDurationMs": ceilings.max_run_duration_ms,
            "maxLoopIterations": ceilings.max_loop_iterations,
            "maxRequestBodyBytes": config.limits.max_body_bytes,
        },
        "supportedTransports": ["rest"],
        "agents": {
            "supported": true,
            "orchestrator": true,
            "dispatch": true,
            "dispatchMapping": true,
            "subRunAttestation": true,
        },
        "subWorkflow": {"inputMapping": true},
        "artifacts": {"supported": true},
        "replay": {"supported": true, "modes": ["replay", "branch"]},
        "multiAgent": {"executionModel": execution_model(config)},
    });
    if let (true, Some(members)) = (config.has_webhooks, document.as_object_mut()) {
        let webhooks = json!({"supported": true, "signatureAlgorithms": ["v1"]});
        members.insert("webhooks".to_owned(), webhooks);
    }
    if let (true, Some(members)) = (config.has_conformance_seams, document.as_object_mut()) {
        members.insert("fixtures".to_owned(), fixture::names().into());
        members.insert("conformance".to_owned(), json!({"mockAgent": true}));
        let seams = json!({"testSeams": {"otelScrape": true}});
        members.insert("observability".to_owned(), seams);
    }
    document
}

/// The levels build on each other; the sixth is the verifier turn.
fn execution_model(config: &HostConfig) -> Value {
    let mut model = json!({
        "supported": true,
        "version": if config.has_verifiers { 6 } else { 5 },
        "confidenceEscalationFloor": config.terms.confidence_floor,
        "confidenceEscalationInterruptKind": "approval",
        "crossHostCausation": {
            "supported": true,
            "hostId": config.host_id,
            "ancestryEndpointSupported": true,
        },
        "replayDeterminism": {
            "supported": true,
            "llmCacheKeyRecipe": cache_key::RECIPE,
            "refusalDivergenceEmission": true,
        },
        "statefulResume": true,
    });
    if let (true, Some(members)) = (config.has_verifiers, model.as_object_mut()) {
        let verifier = json!({"supported": true, "gating": config.terms.is_gating});
        members.insert("verifier".to_owned(), verifier);
    }
    model
}

async fn read(call: Call) -> Result<Response, Failure> {
    Ok(cached(&call, &call.host.discovery))
}

/// A document that seldom changes: whoever has it is not sent it again.
pub(super) fn cached(call: &Call, document: &Value) -> Response {
    let text = document.to_string();
    let tag = format!("\"{}\"", hex::encode(Sha256::digest(text.as_bytes())));
    let known = call.header(header::IF_NONE_MATCH.as_str()).unwrap_or_default();
    let is_known = known
        .split(',')
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag);
    let mut response = match is_known {
        false => answer(StatusCode::OK, document),
        true => {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
