//! Real servers, in the real sandbox.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world fails")]

mod call;
mod everything;
mod serve;
mod start;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_chat::{Shared, Tool, ToolContext, ToolError, ToolOutput, ToolReply};
use probity_core::{RunId, Turn};
use probity_mcp::{McpConfig, McpServer};
use probity_sandbox::Launcher;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Long enough for a loaded machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(30);

const FAKE: &str = env!("CARGO_BIN_EXE_probity-mcp-fake");

fn launcher() -> Launcher {
    Launcher::helper(FAKE, ["sandbox-exec"])
}

/// A server that behaves as `mode` says, and is given all the time it needs.
fn config(mode: &str) -> McpConfig {
    let patience_ms = u64::try_from(PATIENCE.as_millis()).unwrap();
    McpConfig {
        timeout_ms: patience_ms,
        start_timeout_ms: patience_ms,
        ..McpConfig::new([FAKE, mode])
    }
}

async fn start(config: McpConfig) -> McpServer {
    McpServer::start("fake", config, &launcher()).await.unwrap()
}

fn tool(server: &McpServer, name: &str) -> Arc<dyn Tool> {
    let named = |tool: &Arc<dyn Tool>| tool.spec().name == format!("fake_{name}");
    server.tools().into_iter().find(named).unwrap()
}

fn context(cancel: CancellationToken) -> ToolContext {
    ToolContext {
        run: RunId::from_uuid(1),
        turn: Turn::FIRST,
        attempt: 1,
        call_id: "call".to_owned(),
        is_replay: false,
        answer: None,
        now_ms: 0,
        shared: Shared::default(),
        cancel,
    }
}

async fn call(server: &McpServer, name: &str, text: &str) -> Result<ToolOutput, String> {
    call_with(server, name, json!({"text": text}), CancellationToken::new()).await
}

async fn call_with(
    server: &McpServer,
    name: &str,
    arguments: Value,
    cancel: CancellationToken,
) -> Result<ToolOutput, String> {
    match tool(server, name).call(&context(cancel), arguments).await {
        Ok(ToolReply::Done(output)) => Ok(output),
        Err(ToolError::Failed { message }) => Err(message),
        other => panic!("{other:?}"),
    }
}

/// Polls until `done`, and fails when it never is.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}
