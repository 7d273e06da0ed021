//! Figures of this process are read.

use axum::body::Body;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;

use crate::call::Call;
use crate::config::HostConfig;
use crate::error::Failure;
use crate::metrics::Metrics;
use crate::route::{Access, Route};
use crate::scope::Scope;

/// The text format of Prometheus.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) const READ: Route = Route {
    name: "getMetrics",
    method: Method::GET,
    paths: &["/metrics"],
    // They are of all tenants.
    access: Access::Key(Scope::MetricsRead),
    summary: "Figures of the delegations that this process works on, of all tenants, in the text format of \
              Prometheus. Without content.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served,
    handler: |call| Box::pin(async move { read(&call) }),
};

const fn is_served(config: &HostConfig) -> bool {
    config.metrics.is_some()
}

fn read(call: &Call) -> Result<Response, Failure> {
    let text = call.host.config.metrics.as_ref().map(Metrics::text).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(KIND));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
