//! Definitions are read and registered.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_workflow::{Definition, DefinitionError};
use serde_json::json;

use super::always;
use crate::call::{Call, answer};
use crate::error::{Failure, Reason};
use crate::route::{Access, Route};
use crate::scope::Scope;

/// How definitions of the conformance suite are named. They may say what a mock is to say.
const CONFORMANCE: &str = "conformance-";

pub(super) const READ: Route = Route {
    name: "getWorkflow",
    method: Method::GET,
    paths: &["/v1/workflows/{workflowId}"],
    access: Access::Key(Scope::ManifestRead),
    summary: "A workflow's definition, as it was registered.",
    takes: None,
    gives: &[(200, Some("Workflow"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(read(call)),
};

pub(super) const REGISTER: Route = Route {
    name: "registerWorkflow",
    method: Method::POST,
    paths: &["/v1/workflows"],
    access: Access::Key(Scope::ManifestWrite),
    summary: "Registers a workflow's definition. The same one again changes nothing.",
    takes: Some("Workflow"),
    gives: &[(201, Some("Workflow"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(register(call)),
};

async fn read(call: Call) -> Result<Response, Failure> {
    let id = call.param("workflowId");
    let definition = call.host.runs.definition_of(&call.caller()?.tenant, id).await?;
    let definition = definition.ok_or_else(|| Failure::missing("workflow", id))?;
    Ok(answer(StatusCode::OK, definition.as_json()))
}

async fn register(call: Call) -> Result<Response, Failure> {
    let definition = Definition::parse(&call.json()?)?;
    if definition.id().starts_with(CONFORMANCE) && !call.host.config.has_conformance_seams {
        let what = format!("must not begin with `{CONFORMANCE}`: such definitions are mocks");
        return Err(Failure::invalid("/id", what));
    }
    let id = definition.id().to_owned();
    call.host.runs.define_for(&call.caller()?.tenant, definition).await?;
    Ok(answer(StatusCode::CREATED, &json!({"id": id})))
}

impl From<DefinitionError> for Failure {
    fn from(error: DefinitionError) -> Self {
        let message = error.to_string();
        match error {
            DefinitionError::CapabilityRequired { type_id, node } => {
                Self::new(Reason::CapabilityRequired, message)
                    .detail("requiredCapability", type_id.as_str())
                    .detail("offendingTypeId", type_id)
                    .detail("nodeId", node)
            }
            DefinitionError::Invalid { problems } => {
                let problems: Vec<_> = problems
                    .iter()
                    .map(|problem| json!({"path": problem.path, "what": problem.what}))
                    .collect();
                Self::new(Reason::Validation, message).detail("problems", problems)
            }
            _ => Self::new(Reason::Validation, message),
        }
    }
}
