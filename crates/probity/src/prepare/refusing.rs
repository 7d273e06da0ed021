//! Hooks that may refuse and do nothing else.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::Fault;
use probity_engine::{Handler, Reply};
use probity_policy::ToolRules;
use probity_verifier::CheckContext;
use serde_json::Value;

/// A caller's hook beside an operator's policy: the claim that the operator's checks saw is the one
/// that is handed on.
pub(super) struct Callers(pub(super) Arc<dyn Handler>);

#[async_trait]
impl Handler for Callers {
    async fn handle(
        &self,
        ctx: &CheckContext,
        event: &str,
        payload: Value,
    ) -> Result<Reply, Fault> {
        match self.0.handle(ctx, event, payload).await? {
            Reply::Modify { .. } => Err(Fault::new(
                "hook_modify_field",
                "a hook of a request may not rewrite the claim where the project has policy; put it \
                 into `.probity/hooks/`",
            )),
            reply => Ok(reply),
        }
    }
}

/// The tools that a policy pack allows, held against the calls that the delegate reports.
pub(super) struct Tools(pub(super) ToolRules);

#[async_trait]
impl Handler for Tools {
    async fn handle(&self, _: &CheckContext, _: &str, payload: Value) -> Result<Reply, Fault> {
        let Some(name) = payload.get("name").and_then(Value::as_str) else {
            return Ok(Reply::Block { reason: "a tool call without a name".to_owned() });
        };
        let named = |list: &[String]| list.iter().any(|tool| tool == name);
        let is_denied =
            named(&self.0.denied) || self.0.allowed.as_ref().is_some_and(|allowed| !named(allowed));
        Ok(match is_denied {
            true => Reply::Block { reason: format!("the policy pack does not allow `{name}`") },
            false => Reply::Allow,
        })
    }
}
