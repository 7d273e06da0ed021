//! What a project file may say.

use probity_acp::{AcpConfig, AcpDelegate, ConfigError, Decision, ToolKind};
use probity_delegate::Delegate;
use serde_json::{Value, json};

use crate::launcher;

fn read(value: Value) -> Result<AcpConfig, serde_json::Error> {
    serde_json::from_value(value)
}

#[test]
fn a_short_configuration_has_the_defaults() {
    let config = read(json!({ "command": ["agent", "--acp"] })).unwrap();
    assert_eq!(config, AcpConfig::new(["agent", "--acp"]));
    assert_eq!((config.start_timeout_ms, config.timeout_ms), (30_000, 3_600_000));
    assert_eq!((config.max_response_bytes, config.max_tool_calls), (16 << 20, 10_000));
    assert_eq!(config.permissions.default, Decision::Reject);
}

#[test]
fn rules_are_read_and_unknown_words_are_refused() {
    let config = read(json!({ "command": ["a"], "permissions": {
        "rules": [{ "kind": "switch_mode", "title": "*", "path": "src/**", "decision": "allow" }],
        "default": "reject" } }))
    .unwrap();
    let rule = &config.permissions.rules[0];
    assert_eq!((rule.kind, rule.decision), (Some(ToolKind::SwitchMode), Decision::Allow));
    for bad in [
        json!({}),
        json!({ "command": ["a"], "cwd": "/" }),
        json!({ "command": ["a"], "permissions": { "rules": [{ "kind": "edit" }] } }),
        json!({ "command": ["a"], "permissions": { "rules": [{ "kind": "all", "decision": "allow" }] } }),
        json!({ "command": ["a"], "permissions": { "rules": [{ "glob": "*", "decision": "allow" }] } }),
        json!({ "command": ["a"], "mcp_servers": [{ "name": "x", "url": "http://x" }] }),
    ] {
        assert!(read(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn what_cannot_work_is_said_before_anything_runs() {
    let server = json!({ "name": "x", "command": "/x" });
    for (extra, error) in [
        (json!({ "command": [] }), ConfigError::Empty { key: "command" }),
        (json!({ "command": [""] }), ConfigError::Empty { key: "command" }),
        (json!({ "mode": "" }), ConfigError::Empty { key: "mode" }),
        (json!({ "timeout_ms": 0 }), ConfigError::Zero { key: "timeout_ms" }),
        (json!({ "start_timeout_ms": 0 }), ConfigError::Zero { key: "start_timeout_ms" }),
        (json!({ "max_response_bytes": 0 }), ConfigError::Zero { key: "max_response_bytes" }),
        (json!({ "max_tool_calls": 0 }), ConfigError::Zero { key: "max_tool_calls" }),
        (json!({ "mcp_servers": [server, server] }), ConfigError::ServerTwice { name: "x".into() }),
        (
            json!({ "mcp_servers": vec![server.clone(); 1_001] }),
            ConfigError::TooMany { key: "mcp_servers", count: 1_001 },
        ),
    ] {
        let mut config = json!({ "command": ["agent"] });
        for (key, value) in extra.as_object().unwrap() {
            config[key] = value.clone();
        }
        let result = AcpDelegate::new(read(config).unwrap(), "/tmp", launcher());
        assert_eq!(result.unwrap_err(), error);
    }
    let mut config = AcpConfig::new(["agent"]);
    config.permissions = serde_json::from_value(json!({ "rules": [
            { "decision": "allow" }, { "path": "a[", "decision": "allow" }] }))
    .unwrap();
    assert!(matches!(config.validate(), Err(ConfigError::Glob { rule: 2, .. })));
}

#[test]
fn who_it_is_is_the_whole_command_line() {
    let long = "x".repeat(500);
    let delegate = AcpDelegate::new(AcpConfig::new(["agent", &long]), "/tmp", launcher()).unwrap();
    assert_eq!(delegate.identity(), format!("agent {long}"));
    assert!(delegate.describe().len() < 300);
}
