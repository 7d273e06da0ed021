//! What runs wait for is listed and answered: by node with a key, or by token without one.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_core::RunId;
use probity_workflow::{Input, Interrupt, Snapshot, Status};
use serde_json::{Value, json};

use super::always;
use crate::call::{Call, answer};
use crate::error::{Failure, Reason};
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::token::Grant;
use crate::wire::v1::{Resume, rfc3339, status_word, suspend_request};

pub(super) const LIST: Route = Route {
    name: "listInterrupts",
    method: Method::GET,
    paths: &["/v1/runs/{runId}/interrupts"],
    access: Access::Key(Scope::ApprovalsRespond),
    summary: "What a run waits for, each with a token that answers it without a key.",
    takes: None,
    gives: &[(200, Some("OpenInterrupts"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(list(call)),
};

pub(super) const RESOLVE: Route = Route {
    name: "resolveInterrupt",
    method: Method::POST,
    paths: &["/v1/runs/{runId}/interrupts/{nodeId}"],
    access: Access::Key(Scope::ApprovalsRespond),
    summary: "Answers what a node waits for.",
    takes: Some("Resume"),
    gives: &[(200, Some("Resumed"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(resolve(call)),
};

pub(super) const READ_TOKEN: Route = Route {
    name: "getInterruptByToken",
    method: Method::GET,
    paths: &["/v1/interrupts/{token}"],
    access: Access::Token,
    summary: "What the holder of a token is asked.",
    takes: None,
    gives: &[(200, Some("OpenInterrupt"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(read_token(call)),
};

pub(super) const RESOLVE_TOKEN: Route = Route {
    name: "resolveInterruptByToken",
    method: Method::POST,
    paths: &["/v1/interrupts/{token}"],
    access: Access::Token,
    summary: "Answers as the holder of a token, once.",
    takes: Some("Resume"),
    gives: &[(200, Some("Resumed"))],
    query: &[],
    is_served: always,
    handler: |call| Box::pin(resolve_token(call)),
};

async fn list(call: Call) -> Result<Response, Failure> {
    let run = call.run()?;
    let snapshot = call.host.runs.snapshot(&run).await?;
    let snapshot = snapshot.ok_or_else(|| Failure::missing("run", run.as_str()))?;
    let principal = call.caller()?.principal.clone();
    let config = &call.host.config;
    let expires_ms = call.host.now_ms().saturating_add(config.token_ttl_ms);
    let open = snapshot.interrupts.iter().map(|(node, interrupt)| {
        let grant = Grant {
            run: run.as_str().to_owned(),
            node: node.clone(),
            interrupt: interrupt.id.clone(),
            principal: principal.clone(),
            expires_ms,
        };
        let token = grant.sign(&config.token_secret);
        let mut open = shown(&run, node, interrupt, expires_ms);
        if let Some(members) = open.as_object_mut() {
            members.insert("url".to_owned(), format!("/v1/interrupts/{token}").into());
            members.insert("token".to_owned(), token.into());
        }
        open
    });
    Ok(answer(StatusCode::OK, &json!({"interrupts": open.collect::<Vec<_>>()})))
}

async fn resolve(call: Call) -> Result<Response, Failure> {
    let value = Resume::parse(&call.json()?)?.value;
    let run = call.run()?;
    let by = call.caller()?.principal.clone();
    // Whatever the node waits for now: who names a node means that.
    resolved(
        &call,
        &run,
        Input::Resolve { node: call.param("nodeId").to_owned(), value, by, interrupt: None },
    )
    .await
}

async fn read_token(call: Call) -> Result<Response, Failure> {
    let (grant, run, snapshot) = granted(&call).await?;
    let (node, interrupt) = waiting(&grant, &snapshot)?;
    Ok(answer(StatusCode::OK, &shown(&run, node, interrupt, grant.expires_ms)))
}

async fn resolve_token(call: Call) -> Result<Response, Failure> {
    let (grant, run, snapshot) = granted(&call).await?;
    waiting(&grant, &snapshot)?;
    let value = Resume::parse(&call.json()?)?.value;
    // That wait and no later one of the same node, though it were asked between the look and the answer.
    let (by, interrupt) = (format!("token:{}", grant.principal), Some(grant.interrupt));
    resolved(&call, &run, Input::Resolve { node: grant.node, value, by, interrupt }).await
}

/// What a token grants, as long as it holds.
async fn granted(call: &Call) -> Result<(Grant, RunId, Snapshot), Failure> {
    let missing = || Failure::new(Reason::NotFound, "this token is not one of this host");
    let grant = Grant::read(call.param("token"), &call.host.config.token_secret);
    let grant = grant.ok_or_else(missing)?;
    if call.host.now_ms() > grant.expires_ms {
        return Err(Failure::new(Reason::InterruptExpired, "this token has run out"));
    }
    let run: RunId = grant.run.parse().map_err(|_| missing())?;
    let snapshot = call.host.runs.snapshot(&run).await?.ok_or_else(missing)?;
    Ok((grant, run, snapshot))
}

/// The wait that a token is for, if it is still open.
fn waiting<'a>(grant: &Grant, snapshot: &'a Snapshot) -> Result<(&'a str, &'a Interrupt), Failure> {
    let found = snapshot
        .interrupts
        .iter()
        .find(|(node, interrupt)| *node == grant.node && interrupt.id == grant.interrupt);
    found.map(|(node, interrupt)| (node.as_str(), interrupt)).ok_or_else(|| {
        Failure::new(Reason::InterruptExpired, "this was answered, or nobody waits for it any more")
    })
}

async fn resolved(call: &Call, run: &RunId, input: Input) -> Result<Response, Failure> {
    let node = match &input {
        Input::Resolve { node, .. } => node.clone(),
        _ => String::new(),
    };
    match call.host.runs.tell(run, input).await {
        Ok(snapshot) => {
            let status = status_word(snapshot.status);
            let body = json!({"runId": run.as_str(), "nodeId": node, "status": status});
            Ok(answer(StatusCode::OK, &body))
        }
        Err(error) => {
            let mut failure = Failure::from(error);
            if failure.reason == Reason::RunTerminal
                && let Some(snapshot) = call.host.runs.snapshot(run).await?
            {
                // Nobody was faster: the question went away.
                if snapshot.status == Status::Cancelled {
                    failure.reason = Reason::RunEndedUnanswered;
                }
                failure = failure.detail("runStatus", status_word(snapshot.status));
            }
            Err(failure)
        }
    }
}

fn shown(run: &RunId, node: &str, interrupt: &Interrupt, expires_ms: u64) -> Value {
    json!({
        "runId": run.as_str(),
        "nodeId": node,
        "interruptId": interrupt.id,
        "request": suspend_request(interrupt),
        "expiresAt": rfc3339(expires_ms),
    })
}
