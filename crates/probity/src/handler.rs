//! A hook in Starlark, as the engine calls it.

use async_trait::async_trait;
use probity_core::Fault;
use probity_engine::{Handler, Reply};
use probity_script::{HookAnswer, ScriptHook};
use probity_verifier::CheckContext;
use serde_json::Value;

/// The engine's handler of a script.
#[derive(Debug)]
pub(crate) struct ScriptHandler(pub(crate) ScriptHook);

#[async_trait]
impl Handler for ScriptHandler {
    async fn handle(
        &self,
        ctx: &CheckContext,
        event: &str,
        payload: Value,
    ) -> Result<Reply, Fault> {
        let Value::Object(payload) = payload else {
            return Err(Fault::new("hook_payload", "the payload of a hook is an object"));
        };
        Ok(match self.0.handle(ctx, event, payload).await? {
            HookAnswer::Allow => Reply::Allow,
            HookAnswer::NotApplicable => Reply::NotApplicable,
            HookAnswer::Block { reason } => Reply::Block { reason },
            HookAnswer::Modify { payload } => Reply::Modify { payload },
            HookAnswer::Inconclusive { code, reason } => Reply::Inconclusive { code, reason },
        })
    }
}
