//! The door that shows what a trace of a run holds: a projection of what is recorded, and nothing that is
//! not.

mod trace;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::json;

use super::has_seams;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::question::Question;
use crate::route::{Access, Route};
use crate::scope::Scope;

/// Events of a run that are looked at.
const MAX_EVENTS: usize = 10_000;

pub(in crate::api) const SPANS: Route = Route {
    name: "seamSpans",
    method: Method::GET,
    paths: &["/v1/host/sample/test/otel/spans"],
    access: Access::Key(Scope::RunsRead),
    summary: "The spans of a run, as its log has them.",
    takes: None,
    gives: &[(200, None)],
    query: &[
        Question::text("runId", "the run").required(),
        Question::text("name", "spans of that name only"),
    ],
    is_served: has_seams,
    handler: |call| Box::pin(spans(call)),
};

async fn spans(call: Call) -> Result<Response, Failure> {
    let text = call.query.get("runId").unwrap_or_default();
    if text.is_empty() {
        return Err(Failure::invalid("?runId", "must name a run"));
    }
    let run = call.own(text)?;
    let page = call.host.runs.entries(&run, 0, MAX_EVENTS).await?;
    let page = page.ok_or_else(|| Failure::missing("run", text))?;
    let mut spans = trace::spans(&run, &page.entries);
    if let Some(name) = call.query.get("name") {
        spans.retain(|span| span.name == name);
    }
    let spans: Vec<_> = spans.iter().map(trace::Span::json).collect();
    Ok(answer(StatusCode::OK, &json!({"spans": spans})))
}
