//! One tool of a server.

use std::sync::Arc;

use async_trait::async_trait;
use probity_chat::{Interrupted, Tool, ToolContext, ToolError, ToolReply, ToolSpec};
use serde_json::Value;

use crate::catalog::Offer;
use crate::link::Link;
use crate::output::render;

pub(crate) struct McpTool {
    link: Arc<Link>,
    offer: Offer,
}

impl McpTool {
    pub(crate) const fn new(link: Arc<Link>, offer: Offer) -> Self {
        Self { link, offer }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.offer.spec
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolReply, ToolError> {
        let Value::Object(arguments) = arguments else {
            return Err(ToolError::Failed {
                message: "the arguments are not an object".to_owned(),
            });
        };
        let called = self.link.call(&self.offer.remote, arguments, &ctx.cancel).await;
        let result = called.map_err(|message| ToolError::Failed { message })?;
        let failed = |why| {
            let message = format!("the MCP server `{}` gave no result: {why}", self.link.name());
            ToolError::Failed { message }
        };
        render(&result).map(ToolReply::Done).map_err(failed)
    }

    fn interrupted(&self) -> Interrupted {
        if self.offer.repeatable { Interrupted::Repeat } else { Interrupted::Tell }
    }
}
