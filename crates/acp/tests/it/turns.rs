//! What of a turn becomes the claim.

use probity_core::{ToolCall, ToolResult, Usage};
use probity_delegate::{Delegate, DelegateError};
use serde_json::{Value, json};

use crate::World;

fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

#[tokio::test]
async fn what_was_said_and_done_is_the_claim() {
    let world = World::new(json!({ "turns": [[
        { "say": "I will " }, { "say": "look." },
        { "update": { "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "hm" } } },
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "a", "title": "Read x", "kind": "read",
            "rawInput": { "path": "x" } } },
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "b", "title": "Edit y", "kind": "edit",
            "locations": [{ "path": "/w/y", "line": 3 }] } },
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "b", "status": "completed",
            "content": [{ "type": "diff", "path": "/w/y", "oldText": "1\n2\n", "newText": "1" },
                { "type": "diff", "path": "/w/z", "newText": "1\n" },
                { "type": "terminal", "terminalId": "t1" }] } },
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "in_progress" } },
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "failed",
            "content": [text("no such file")] } },
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "c", "title": "A title", "name": "web.get",
            "status": "completed", "rawOutput": { "status": 200 } } },
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "d", "title": "Unannounced" } },
        { "update": { "sessionUpdate": "something_new", "x": 1 } },
        { "other_session": "not mine" },
        { "say": "Done." },
        { "tokens": 1234 },
    ]] }));
    let answered = world.attempt(1).await.unwrap();
    let claim = answered.claim;
    assert_eq!(claim.response, "I will look.\n\nDone.");
    let call =
        |id: &str, name: &str, arguments| ToolCall { id: id.into(), name: name.into(), arguments };
    assert_eq!(
        claim.tool_calls,
        [
            call("a", "read", json!({ "path": "x" })),
            call("b", "edit", json!({ "title": "Edit y", "locations": ["/w/y", "/w/z"] })),
            call("c", "web.get", json!({ "title": "A title", "locations": [] })),
            call("d", "Unannounced", json!({ "title": "Unannounced", "locations": [] })),
        ]
    );
    let result = |id: &str, name: &str, content: &str, is_error| ToolResult {
        call_id: id.into(),
        name: name.into(),
        content: content.into(),
        is_error,
    };
    let diffs = "[diff of /w/y: 2 lines become 1]\n[diff of /w/z: new, 1 lines]\n[terminal t1]";
    assert_eq!(
        claim.tool_results,
        [
            result("b", "edit", diffs, false),
            result("a", "read", "no such file", true),
            result("c", "web.get", "{\"status\":200}", false),
        ]
    );
    assert_eq!(answered.usage, Usage { tokens: 1234, tool_calls: 4 });
}

#[tokio::test]
async fn every_way_to_stop_has_its_outcome() {
    for (stop, code) in [
        ("end_turn", None),
        ("max_tokens", None),
        ("max_turn_requests", None),
        ("a_new_reason", None),
        ("refusal", Some("delegate_error")),
        ("cancelled", Some("delegate_error")),
    ] {
        let world = World::new(json!({ "turns": [[{ "say": "Some words." }, { "stop": stop }]] }));
        match (world.attempt(1).await, code) {
            (Ok(answered), None) => assert_eq!(answered.claim.response, "Some words.", "{stop}"),
            (Err(error), Some(code)) => {
                assert_eq!(error.code(), code, "{stop}");
                if let DelegateError::Failed { message } = error {
                    assert!(message.contains("Some words."), "{message}");
                }
            }
            (result, _) => panic!("{stop}: {result:?}"),
        }
    }
}

#[tokio::test]
async fn an_error_of_the_agent_fails_the_attempt_and_spares_the_session() {
    let world =
        World::new(json!({ "turns": [[{ "fail": "rate limit" }], [{ "without_reason": null }]] }));
    let delegate = world.delegate();
    let error = delegate.attempt(&world.request(1)).await.unwrap_err();
    assert!(
        matches!(&error, DelegateError::Failed { message } if message.contains("rate limit")),
        "{error}"
    );
    let error = delegate.attempt(&world.request(2)).await.unwrap_err();
    assert!(matches!(&error, DelegateError::Output { format: "acp", .. }), "{error}");
    delegate.attempt(&world.request(3)).await.unwrap();
    assert_eq!(world.starts(), 1);
}

#[tokio::test]
async fn files_and_terminals_are_not_offered() {
    let world = World::new(json!({ "turns": [[
        { "request": "fs/read_text_file" }, { "request": "fs/write_text_file" },
        { "request": "terminal/create" }, { "request": "something/new" },
    ]] }));
    let answered = world.attempt(1).await.unwrap();
    assert_eq!(answered.claim.response, "-32601-32601-32601-32601");
    let told = &world.params("initialize")[0];
    assert_eq!(told["protocolVersion"], 1);
    let can = &told["clientCapabilities"];
    assert_eq!(can["fs"], json!({ "readTextFile": false, "writeTextFile": false }), "{can}");
    assert_eq!(can["terminal"], false, "{can}");
}

#[tokio::test]
async fn floods_are_kept_within_bounds() {
    // 100 MB of text.
    let world = World::new(json!({ "turns": [
        [{ "say": "begin" }, { "flood": 1_000 }, { "say": "end" }],
        [{ "calls": 3_000 }],
    ] }));
    let mut config = world.config();
    config.max_response_bytes = 200_000;
    config.max_tool_calls = 2_000;
    let delegate = world.delegate_of(config);
    let claim = delegate.attempt(&world.request(1)).await.unwrap().claim;
    assert!(claim.response.starts_with("begin") && claim.response.ends_with("end"));
    assert!(claim.response.contains("bytes left out"));
    assert!(claim.response.len() < 101_000, "{}", claim.response.len());

    let answered = delegate.attempt(&world.request(2)).await.unwrap();
    let claim = answered.claim;
    assert_eq!((claim.tool_calls.len(), answered.usage.tool_calls), (2_000, 3_000));
    let kept: usize = claim.tool_results.iter().map(|result| result.content.len()).sum();
    assert!(kept > 50_000 && kept < 100_000, "{kept}");
    assert_eq!(claim.tool_calls[1_999].name, "read");
}
