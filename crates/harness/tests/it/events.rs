//! What tools write, in the form that their documentation gives it, and what is made of it.

use std::path::Path;

use probity_harness::{EventError, Role, Tool, read};
use serde_json::{Value, json};

fn claude(event: &str, more: Value) -> Value {
    with(
        json!({
            "session_id": "abc123", "transcript_path": "/home/u/.claude/projects/p/abc123.jsonl",
            "cwd": "/home/u/p", "permission_mode": "default", "hook_event_name": event,
        }),
        more,
    )
}

fn codex(event: &str, more: Value) -> Value {
    with(
        json!({
            "session_id": "0198", "turn_id": "7", "transcript_path": null, "cwd": "/home/u/p",
            "hook_event_name": event, "model": "gpt-5", "permission_mode": "default",
        }),
        more,
    )
}

fn gemini(event: &str, more: Value) -> Value {
    with(
        json!({
            "session_id": "g1", "transcript_path": "/home/u/.gemini/tmp/x.json", "cwd": "/home/u/p",
            "hook_event_name": event, "timestamp": "2026-05-01T10:00:00Z",
        }),
        more,
    )
}

fn with(mut value: Value, more: Value) -> Value {
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

#[test]
fn every_event_of_every_tool_is_read() {
    let stop = json!({ "stop_hook_active": true, "last_assistant_message": "Done." });
    let sub = with(stop.clone(), json!({ "agent_id": "a1", "agent_type": "Explore" }));
    let task =
        json!({ "task_id": "t1", "task_subject": "Add it", "task_description": "All of it" });
    let uses = json!({ "tool_name": "Write", "tool_input": { "file_path": "x" } });
    let after = json!({ "prompt": "p", "prompt_response": "Done.", "stop_hook_active": true });
    let prompt = json!({ "prompt": "do it" });
    let end = json!({ "reason": "exit" });
    for (tool, event, role, text, is_continued) in [
        (Tool::ClaudeCode, claude("UserPromptSubmit", prompt.clone()), Role::Begin, "do it", None),
        (Tool::ClaudeCode, claude("Stop", stop.clone()), Role::Stop, "Done.", Some(true)),
        (
            Tool::ClaudeCode,
            claude("SubagentStop", sub.clone()),
            Role::Subagent,
            "Done.",
            Some(true),
        ),
        (Tool::ClaudeCode, claude("TaskCompleted", task), Role::Task, "Add it\n\nAll of it", None),
        (Tool::ClaudeCode, claude("PreToolUse", uses.clone()), Role::Guard, "", None),
        (Tool::ClaudeCode, claude("SessionEnd", end.clone()), Role::End, "", None),
        (Tool::Codex, codex("UserPromptSubmit", prompt.clone()), Role::Begin, "do it", None),
        (Tool::Codex, codex("Stop", stop), Role::Stop, "Done.", Some(true)),
        (Tool::Codex, codex("SubagentStop", sub), Role::Subagent, "Done.", Some(true)),
        (Tool::Codex, codex("PreToolUse", uses.clone()), Role::Guard, "", None),
        (Tool::Gemini, gemini("BeforeAgent", prompt), Role::Begin, "do it", None),
        (Tool::Gemini, gemini("AfterAgent", after), Role::Stop, "Done.", Some(true)),
        (Tool::Gemini, gemini("BeforeTool", uses), Role::Guard, "", None),
        (Tool::Gemini, gemini("SessionEnd", end), Role::End, "", None),
    ] {
        let read = read(tool, None, event.to_string().as_bytes()).unwrap();
        assert_eq!(
            (read.role, read.text.as_str(), read.is_continued, read.cwd.as_path()),
            (role, text, is_continued, Path::new("/home/u/p")),
            "{event}"
        );
        assert_eq!(read.agent.as_deref(), (role == Role::Subagent).then_some("a1"), "{event}");
        assert_eq!(read.task.as_deref(), (role == Role::Task).then_some("t1"), "{event}");
        assert_eq!(read.uses.is_some(), role == Role::Guard, "{event}");
        assert_eq!(read.transcript.is_none(), tool == Tool::Codex, "{event}");
    }
}

#[test]
fn what_gemini_says_of_every_claim_says_nothing() {
    let said = |more: Value| {
        let event = with(
            json!({ "session_id": "s", "cwd": "/w", "hook_event_name": "AfterAgent" }),
            with(json!({ "prompt": "p", "prompt_response": "Done." }), more),
        );
        read(Tool::Gemini, None, event.to_string().as_bytes()).unwrap().is_continued
    };
    assert_eq!(said(json!({ "stop_hook_active": false })), None);
    assert_eq!(said(json!({})), None);
    assert_eq!(said(json!({ "stop_hook_active": true })), Some(true));
}

#[test]
fn members_that_a_newer_tool_adds_are_passed_over() {
    let more = json!({
        "stop_hook_active": false, "last_assistant_message": null,
        "background_tasks": [{"id": 1.5}], "effort": {"level": "high"},
    });
    let event = read(Tool::ClaudeCode, Some("Stop"), claude("Stop", more).to_string().as_bytes());
    assert_eq!(event.unwrap().text, "");
}

#[test]
fn the_conversation_of_a_sub_agent_is_its_own() {
    let more = json!({
        "stop_hook_active": false, "agent_id": "a", "agent_type": null,
        "agent_transcript_path": "/t/agent-a.jsonl",
    });
    let event = read(Tool::ClaudeCode, None, claude("SubagentStop", more).to_string().as_bytes());
    assert_eq!(event.unwrap().transcript.unwrap(), Path::new("/t/agent-a.jsonl"));
}

#[test]
fn what_is_decided_upon_is_never_guessed() {
    let member = |member| move |error: &EventError| matches!(error, EventError::Member { member: found, .. } if *found == member);
    type Is = Box<dyn Fn(&EventError) -> bool>;
    let long = "x".repeat(600);
    let cases: [(&str, Value, Is); 10] = [
        (
            "flag",
            claude("Stop", json!({"stop_hook_active": "false"})),
            Box::new(member("stop_hook_active")),
        ),
        ("session", claude("Stop", json!({"session_id": 1})), Box::new(member("session_id"))),
        ("blank", claude("Stop", json!({"session_id": " "})), Box::new(member("session_id"))),
        ("long", claude("Stop", json!({"session_id": long})), Box::new(member("session_id"))),
        ("cwd", claude("Stop", json!({"cwd": "p"})), Box::new(member("cwd"))),
        (
            "text",
            claude("Stop", json!({"last_assistant_message": ["a"]})),
            Box::new(member("last_assistant_message")),
        ),
        ("agent", claude("SubagentStop", json!({})), Box::new(member("agent_id"))),
        ("task", claude("TaskCompleted", json!({})), Box::new(member("task_id"))),
        (
            "input",
            claude("PreToolUse", json!({"tool_name": "Write"})),
            Box::new(member("tool_input")),
        ),
        (
            "unheard",
            claude("PreCompact", json!({})),
            Box::new(|error| matches!(error, EventError::Unheard { .. })),
        ),
    ];
    for (name, event, is) in cases {
        let error = read(Tool::ClaudeCode, None, event.to_string().as_bytes()).unwrap_err();
        assert!(is(&error), "{name}: {error:?}");
    }
}

#[test]
fn what_is_no_event_says_so() {
    for text in ["", "null", "[]", "{", "{\"a\":1} x", "\u{feff}{}"] {
        let error = read(Tool::Codex, None, text.as_bytes()).unwrap_err();
        assert_eq!(error.code(), "hook_event_json", "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(read(Tool::Codex, None, deep.as_bytes()).unwrap_err().code(), "hook_event_json");
    assert_eq!(read(Tool::Codex, None, b"\xff").unwrap_err().code(), "hook_event_json");
}

#[test]
fn a_hook_answers_only_the_event_it_is_installed_for() {
    let event = claude("SessionEnd", json!({})).to_string();
    let error = read(Tool::ClaudeCode, Some("Stop"), event.as_bytes()).unwrap_err();
    assert_eq!(error.code(), "hook_event_other");
    // Codex has no such event.
    let error = read(Tool::Codex, None, codex("SessionEnd", json!({})).to_string().as_bytes());
    assert_eq!(error.unwrap_err().code(), "hook_event_unheard");
}
