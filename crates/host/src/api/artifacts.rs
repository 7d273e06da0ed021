//! What runs leave beside their outputs: nothing so far, which only who may read it is told.

use axum::http::Method;
use axum::response::Response;

use super::always;
use crate::call::Call;
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;

pub(super) const READ: Route = Route {
    name: "getArtifact",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/artifacts/{artifactId}"],
    access: Access::Key(Scope::ArtifactsRead),
    summary: "An artifact of a run. Runs of this host leave none.",
    takes: None,
    gives: &[(404, Some("Error"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(read(call)),
};

async fn read(call: Call) -> Result<Response, Failure> {
    call.run()?;
    Err(Failure::missing("artifact", call.param("artifactId")))
}
