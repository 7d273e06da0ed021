//! The door of models that say what they were told to. Nodes ask them as they ask every model: what is
//! said becomes the end of a delegation in the run's log.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_conductor::ModelAnswer;
use serde_json::{Value, json};

use super::has_seams;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::Fields;

/// Answers of one model.
const MAX_ANSWERS: usize = 100;
/// Why a model stops that refuses.
const REFUSING: [&str; 3] = ["safety", "refusal", "content_filter"];

pub(in crate::api) const MOCK_AI: Route = Route {
    name: "seamMockAi",
    method: Method::POST,
    paths: &["/v1/host/sample/test/mock-ai/program"],
    access: Access::Key(Scope::RunsCreate),
    summary: "Has the model of a node say something, one answer each time it is asked.",
    takes: Some("ModelProgram"),
    gives: &[(200, None)],
    query: &[],
    is_served: has_seams,
    handler: |call| Box::pin(program(call)),
};

async fn program(call: Call) -> Result<Response, Failure> {
    let body = call.json()?;
    let fields = Fields::of(&body)?;
    let node = fields.required_text("nodeId", 128)?;
    let entries = fields.value("program").and_then(Value::as_array).cloned().unwrap_or_default();
    if entries.is_empty() || entries.len() > MAX_ANSWERS {
        return Err(fields.wrong("program", format!("must have 1 to {MAX_ANSWERS} answers")));
    }
    let count = entries.len();
    let said = entries.iter().map(said).collect::<Option<Vec<_>>>();
    let said = said.ok_or_else(|| {
        fields.wrong("program", "must hold answers: `mode` with `envelope`, or `content`")
    })?;
    if !call.host.runs.program(&node, said) {
        return Err(fields.wrong("nodeId", "is one too many, or no models are told what to say"));
    }
    Ok(answer(StatusCode::OK, &json!({"nodeId": node, "entries": count})))
}

/// Both ways in which suites write an answer down.
fn said(entry: &Value) -> Option<ModelAnswer> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    match text("mode") {
        Some("refusal") => return Some(ModelAnswer::Refusal),
        Some("envelope") => return Some(ModelAnswer::Valid(entry.get("envelope")?.clone())),
        Some(_) => return None,
        None => {}
    }
    let is_refusal = text("refusalText").is_some()
        || text("stopReason").is_some_and(|reason| REFUSING.contains(&reason));
    if is_refusal {
        return Some(ModelAnswer::Refusal);
    }
    let content = text("content")?;
    let read = probity_record::canonical::parse_ijson(content.as_bytes()).ok();
    Some(ModelAnswer::Valid(read.unwrap_or_else(|| content.into())))
}
