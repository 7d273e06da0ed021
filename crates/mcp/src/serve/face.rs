//! The desk as the kit sees it.

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::bell::ring;
use super::desk::{Desk, fits};
use super::offer::{Call, Offered};
use super::progress::Progress;

/// One client's view of a desk.
#[derive(Clone)]
pub(super) struct Face {
    pub(super) desk: Desk,
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        let about = self.desk.offer.about();
        let server = Implementation::new(about.name, about.version).with_title(about.title);
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(about.instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.desk.offer.tools().await;
        Ok(ListToolsResult::with_all_items(tools.into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = self.desk.offer.tools().await;
        let Some(known) = tools.into_iter().find(|tool| *tool.name == *request.name) else {
            return Err(ErrorData::invalid_params("there is no tool of that name", None));
        };
        let progress = Progress::new();
        let bell = ring(context.peer, context.meta.get_progress_token(), progress.watch());
        let call = Call {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            cancel: context.ct,
            progress,
        };
        let answer = tokio::select! {
            biased;
            answer = self.desk.take(call) => answer,
            () = bell => return Err(ErrorData::internal_error("the call was left", None)),
        };
        let is_structured = fits(&answer, &known.output);
        let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
        result.is_error = Some(answer.is_error);
        result.structured_content = is_structured.then_some(Value::Object(answer.structured));
        Ok(result.into())
    }
}

fn tool(offered: Offered) -> Tool {
    let hints = ToolAnnotations::with_title(offered.title).read_only(offered.is_read_only);
    Tool::new(offered.name, offered.description, offered.input)
        .with_title(offered.title)
        .with_raw_output_schema(offered.output.into())
        .with_annotations(hints)
}
