//! The documents of this face, made from the table of routes and from the shapes that tests hold every
//! event to.

use axum::http::Method;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::discovery::cached;
use super::{ROUTES, always};
use crate::call::Call;
use crate::config::HostConfig;
use crate::error::Failure;
use crate::question::{DIGEST, Question};
use crate::route::{Access, Route, STREAM};
use crate::schema;

pub(super) const OPENAPI: Route = Route {
    name: "getOpenApi",
    method: Method::GET,
    paths: &["/v1/openapi.json"],
    access: Access::Open,
    summary: "This description.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(openapi(call)),
};

pub(super) const ASYNCAPI: Route = Route {
    name: "getAsyncApi",
    method: Method::GET,
    paths: &["/v1/asyncapi.json"],
    access: Access::Open,
    summary: "The events of a run's stream.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(asyncapi(call)),
};

async fn openapi(call: Call) -> Result<Response, Failure> {
    Ok(cached(&call, &description(&call.host.config)))
}

async fn asyncapi(call: Call) -> Result<Response, Failure> {
    Ok(cached(&call, &events(&call.host.config)))
}

/// OpenAPI 3.1.
fn description(config: &HostConfig) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES.iter().filter(|route| (route.is_served)(config)) {
        for (place, path) in route.paths.iter().enumerate() {
            let methods = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
            if let Some(methods) = methods.as_object_mut() {
                let method = route.method.as_str().to_ascii_lowercase();
                methods.insert(method, operation(route, path, place));
            }
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": config.name,
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Workflow runs by openwop v1, and delegations with their verdicts.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": schema::shapes("#/components/schemas/"),
        },
    })
}

fn operation(route: &Route, path: &str, place: usize) -> Value {
    let name = match place {
        0 => route.name.to_owned(),
        _ => format!("{}Alias{place}", route.name),
    };
    let mut parameters: Vec<Value> = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.split_once('}').map(|(name, _)| name))
        .map(
            |name| json!({"name": name, "in": "path", "required": true, "schema": path_part(name)}),
        )
        .collect();
    parameters.extend(route.query.iter().map(Question::parameter));
    let mut answers: Map<String, Value> = Map::new();
    for (status, shape) in route.gives {
        let answer =
            answers.entry(status.to_string()).or_insert_with(|| json!({"description": "Done."}));
        if let (Some(shape), Some(members)) = (shape, answer.as_object_mut()) {
            let kinds = members.entry("content").or_insert_with(|| json!({}));
            if let (Some(kinds), Value::Object(more)) = (kinds.as_object_mut(), content(shape)) {
                kinds.extend(more);
            }
        }
    }
    answers.insert(
        "default".to_owned(),
        json!({"description": "It came to nothing.", "content": content("Error")}),
    );
    let mut operation = json!({
        "operationId": name,
        "summary": route.summary,
        "parameters": parameters,
        "responses": answers,
    });
    if let Some(members) = operation.as_object_mut() {
        if let Some(shape) = route.takes {
            let body = json!({"required": true, "content": content(shape)});
            members.insert("requestBody".to_owned(), body);
        }
        if let Access::Key(scope) = route.access {
            members.insert("security".to_owned(), json!([{"key": []}]));
            members.insert("x-required-scope".to_owned(), scope.as_str().into());
        }
    }
    operation
}

/// What stands in a path.
fn path_part(name: &str) -> Value {
    match name {
        "digest" => json!({"type": "string", "pattern": DIGEST}),
        _ => json!({"type": "string", "minLength": 1}),
    }
}

/// A shape as it is sent; a stream has events of it, one by one.
fn content(shape: &str) -> Value {
    if shape == STREAM {
        // A schema here would be read as that of each event, taken apart: id, event and data.
        return json!({"text/event-stream": {}});
    }
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{shape}")}}})
}

/// AsyncAPI 3.0.
fn events(config: &HostConfig) -> Value {
    let mut messages: Map<String, Value> = Map::new();
    for kind in schema::event_types() {
        let message = json!({
            "name": kind,
            "payload": {"allOf": [
                {"$ref": "#/components/schemas/RunEventDoc"},
                {"properties": {"type": {"const": kind}}},
            ]},
        });
        messages.insert(kind, message);
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": format!("{}: events of runs", config.name),
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Server-sent events. `id` is the sequence, `event` the type, `data` the event.",
        },
        "channels": {
            "events": {
                "address": "/v1/runs/{runId}/events",
                "parameters": {"runId": {}},
                "messages": messages,
            },
        },
        "operations": {
            "follow": {"action": "receive", "channel": {"$ref": "#/channels/events"}},
        },
        "components": {"schemas": schema::shapes("#/components/schemas/")},
    })
}
