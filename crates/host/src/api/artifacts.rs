//! What a run shows to whoever is to let it through: the data of its approvals, as bytes that are never
//! taken for a page.

use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use probity_workflow::{Entry, Event, Interrupt};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::always;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::rfc3339;

/// Events that are looked through.
const MAX_EVENTS: u64 = 20_000;
/// Events that are read at a time.
const PAGE: usize = 500;
/// Artifacts that are listed.
const MAX_LISTED: usize = 1_000;
/// Characters of a digest.
const DIGEST_CHARS: usize = 64;

pub(super) const LIST: Route = Route {
    name: "listArtifacts",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/artifacts"],
    access: Access::Key(Scope::ArtifactsRead),
    summary: "What a run showed to whoever was to let it through.",
    takes: None,
    gives: &[(200, Some("ArtifactList"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(list(call)),
};

pub(super) const READ: Route = Route {
    name: "getArtifact",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/artifacts/{artifactId}"],
    access: Access::Key(Scope::ArtifactsRead),
    summary: "An artifact of a run: the one of that SHA-256, or the newest of that name.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(read(call)),
};

/// What was shown once.
struct Artifact {
    id: String,
    kind: String,
    digest: String,
    bytes: Vec<u8>,
    at_ms: u64,
}

async fn list(call: Call) -> Result<Response, Failure> {
    let mut artifacts = Vec::new();
    look(&call, |artifact| {
        artifacts.push(json!({
            "artifactId": artifact.id,
            "artifactType": artifact.kind,
            "sha256": artifact.digest,
            "bytes": artifact.bytes.len(),
            "createdAt": rfc3339(artifact.at_ms),
        }));
        artifacts.len() < MAX_LISTED
    })
    .await?;
    Ok(answer(StatusCode::OK, &json!({"artifacts": artifacts})))
}

async fn read(call: Call) -> Result<Response, Failure> {
    let wanted = call.param("artifactId");
    let is_digest = wanted.len() == DIGEST_CHARS && wanted.bytes().all(|b| b.is_ascii_hexdigit());
    let mut found: Option<Artifact> = None;
    look(&call, |artifact| {
        let is_it = is_digest && artifact.digest == wanted;
        if is_it || artifact.id == wanted {
            found = Some(artifact);
        }
        !is_it
    })
    .await?;
    let found = found.ok_or_else(|| Failure::missing("artifact", wanted))?;
    Ok(file(found.bytes, &format!("{}.json", found.digest)))
}

/// Shows every artifact of a run in order, until nobody wants more.
async fn look(call: &Call, mut wants: impl FnMut(Artifact) -> bool) -> Result<(), Failure> {
    let run = call.run()?;
    let mut from = 0;
    while from < MAX_EVENTS {
        let page = call.host.runs.entries(&run, from, PAGE).await?;
        let page = page.ok_or_else(|| Failure::missing("run", run.as_str()))?;
        let Some(last) = page.entries.last() else { return Ok(()) };
        from = last.sequence.saturating_add(1);
        for artifact in page.entries.iter().filter_map(|entry| shown(entry)) {
            if !wants(artifact) {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn shown(entry: &Entry) -> Option<Artifact> {
    let Event::InterruptRequested(Interrupt { data, .. }) = &entry.event else { return None };
    let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    let bytes = probity_record::canonical::jcs(data.get("artifactData")?).ok()?;
    Some(Artifact {
        id: text("artifactId")?,
        kind: text("artifactType").unwrap_or_default(),
        digest: hex::encode(Sha256::digest(&bytes)),
        bytes,
        at_ms: entry.at_ms,
    })
}

/// Bytes to be kept, and never to be taken for a page.
pub(super) fn file(bytes: Vec<u8>, name: &str) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}
