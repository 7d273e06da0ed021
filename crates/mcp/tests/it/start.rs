//! From a configuration to a server with tools, or to an error that says why not.

use std::time::Instant;

use probity_chat::{Interrupted, Toolbox};
use probity_mcp::{McpConfig, McpServer};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, call, config, context, is_alive, launcher, start, tool, until};

#[tokio::test]
async fn tools_of_all_pages_are_offered_under_the_servers_name() {
    let server = start(config("plain")).await;
    let tools = server.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!((names.len(), &names[..3]), (13, &["fake_echo", "fake_fail", "fake_stick"][..]));
    assert_eq!(names.last(), Some(&"fake_strange"));
    assert_eq!(server.warnings(), Vec::<String>::new());
    let echo = tool(&server, "echo");
    assert_eq!(echo.spec().description, "does echo");
    assert_eq!(echo.spec().parameters["properties"]["text"]["type"], "string");
    assert_eq!(echo.interrupted(), Interrupted::Repeat);
    assert_eq!(tool(&server, "fail").interrupted(), Interrupted::Tell);
}

#[tokio::test]
async fn names_are_as_configured_and_only_the_allowed_are_offered() {
    let only = Some(vec!["pid".to_owned(), "absent".to_owned()]);
    let (prefix, forever) = (Some(String::new()), u64::MAX);
    let config = McpConfig { timeout_ms: forever, start_timeout_ms: forever, ..config("plain") };
    let server = start(McpConfig { only, prefix, ..config }).await;
    let names: Vec<String> = server.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(names, ["pid"]);
    let context = context(CancellationToken::new());
    assert!(server.tools()[0].call(&context, json!({})).await.is_ok());
    assert_eq!(server.warnings(), ["the server has no tool `absent`"]);
}

#[tokio::test]
async fn odd_tools_are_renamed_or_left_out_and_no_other_suffers() {
    let server = start(config("odd")).await;
    let names: Vec<String> = server.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(names, ["fake_spaced_name__", "fake_bare"]);
    // A toolbox takes every one of them.
    assert_eq!(Toolbox::new(server.tools()).unwrap().specs().len(), 2);
    let warnings = server.warnings().join("\n");
    assert_eq!(server.warnings().len(), 3, "{warnings}");
    assert!(warnings.contains("`flat`") && warnings.contains("`list`"), "{warnings}");
    // The server is called by its own name for the tool.
    let refused = call(&server, "spaced_name__", "").await.unwrap_err();
    assert!(refused.contains("no such tool (-32602)"), "{refused}");
}

#[tokio::test]
async fn lists_without_end_end() {
    let server = start(config("many")).await;
    assert_eq!(server.tools().len(), 256);
    assert_eq!(server.warnings(), ["there are more than 256 tools; the rest is left out"]);
    for mode in ["circles", "toolless"] {
        let server = start(config(mode)).await;
        assert!(server.tools().is_empty());
        assert_eq!(server.warnings(), ["the server offers no tools"], "{mode}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let short = |mode: &str| McpConfig { start_timeout_ms: 300, ..config(mode) };
    for (config, code, words) in [
        (McpConfig::new(Vec::<String>::new()), "mcp_config", "command is empty"),
        (McpConfig { timeout_ms: 0, ..config("plain") }, "mcp_config", "time-out of 0"),
        (McpConfig::new(["probity-no-such-server"]), "mcp_start", "check that it is installed"),
        (
            McpConfig { cwd: Some("/nonexistent".into()), ..config("plain") },
            "mcp_start",
            "directory",
        ),
        (config("leaves"), "mcp_ended", "exit status 3; it wrote: no key for the service"),
        (config("quits"), "mcp_ended", "exit status 4"),
        (config("refuses"), "mcp_protocol", "not today"),
        (config("shouts"), "mcp_protocol", "too long"),
        (config("unlisted"), "mcp_protocol", "broken (-32603)"),
        (config("listless"), "mcp_protocol", "cannot be read"),
        (config("heavy"), "mcp_protocol", "cannot be read"),
        (short("silent"), "mcp_timeout", "within 300 ms"),
        (short("babbles"), "mcp_timeout", "within 300 ms"),
        (short("stalls"), "mcp_timeout", "within 300 ms"),
    ] {
        let began = Instant::now();
        let error = McpServer::start("fake", config.clone(), &launcher()).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(began.elapsed() < PATIENCE, "{config:?}");
    }
}

#[tokio::test]
async fn noise_before_and_beside_the_protocol_is_passed_over() {
    let server = start(config("floods")).await;
    assert_eq!(call(&server, "echo", "hi").await.unwrap().content, "echo hi");
}

#[tokio::test]
async fn a_stopped_server_and_a_dropped_one_are_gone() {
    let server = start(config("plain")).await;
    let pid = call(&server, "pid", "").await.unwrap().content;
    assert!(is_alive(&pid));
    server.stop().await;
    assert!(!is_alive(&pid));
    let refused = call(&server, "pid", "").await.unwrap_err();
    assert!(refused.contains("was stopped"), "{refused}");

    let server = start(config("plain")).await;
    let pid = call(&server, "pid", "").await.unwrap().content;
    let tool = tool(&server, "pid");
    drop(server);
    assert!(is_alive(&pid), "its tools need it");
    drop(tool);
    until("the server to die", || !is_alive(&pid)).await;
}
