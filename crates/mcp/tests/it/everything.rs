//! The reference server of the protocol's authors.

use std::time::Instant;

use probity_mcp::McpConfig;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{call_with, config, start};

#[tokio::test]
#[ignore = "fetches a package from the npm registry and needs node"]
async fn the_reference_server_is_understood() {
    let command = ["npx", "-y", "@modelcontextprotocol/server-everything"].map(str::to_owned);
    let start_timeout_ms = 120_000;
    let began = Instant::now();
    let server = start(McpConfig { command: command.into(), start_timeout_ms, ..config("") }).await;
    let names: Vec<String> = server.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    println!("{:?}: {} {names:?} {:?}", began.elapsed(), names.len(), server.warnings());
    let never = CancellationToken::new;
    let echo = call_with(&server, "echo", json!({"message": "hello"}), never()).await.unwrap();
    assert_eq!((echo.content.as_str(), echo.is_error), ("Echo: hello", false));
    for (name, arguments) in [
        ("get-sum", json!({"a": 2, "b": 3})),
        ("get-tiny-image", json!({})),
        ("get-structured-content", json!({"location": "Chicago"})),
        ("get-resource-links", json!({"count": 2})),
        ("get-sum", json!({"a": "two"})),
    ] {
        if names.iter().any(|known| *known == format!("fake_{name}")) {
            println!("{name}: {:?}", call_with(&server, name, arguments, never()).await);
        }
    }
    server.stop().await;
}
