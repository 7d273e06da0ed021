//! Every rule of Anthropic messages is enforced.

use serde_json::{Value, json};

use crate::{KEY, anthropic, post, server, with};

/// A conversation that the server takes.
fn legal() -> Value {
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "1" });
    json!({
        "model": "m",
        "max_tokens": 5,
        "system": "s",
        "messages": [
            { "role": "user", "content": "u" },
            { "role": "assistant", "content": [{ "type": "text", "text": "t" }, call("a"), call("b")] },
            { "role": "user", "content": [result("b"), result("a"), { "type": "text", "text": "t" }] },
            { "role": "assistant", "content": "done" },
            { "role": "user", "content": "more" },
        ],
        "tools": [{ "name": "f", "input_schema": { "type": "object" } }],
        "tool_choice": { "type": "tool", "name": "f" },
        "temperature": 1,
    })
}

#[tokio::test]
async fn every_violation_is_refused() {
    let server = server().await;
    let body = legal();
    assert_eq!(anthropic(&server, &body).await.status, 200);
    let uses = "/messages/1/content";
    let results = "/messages/2/content";
    let at = |list: &str, rest: &str| format!("{list}/{rest}");
    let again = json!({ "type": "tool_result", "tool_use_id": "a", "content": "1" });
    let alone = json!([{ "type": "text", "text": "t" }]);
    let table: [(String, Value, &str); 28] = [
        ("/model".into(), Value::Null, "model: Field required"),
        ("/max_tokens".into(), Value::Null, "max_tokens"),
        ("/max_tokens".into(), json!(0), "max_tokens"),
        ("/oops".into(), json!(1), "oops: Extra inputs are not permitted"),
        ("/temperature".into(), json!(1.5), "temperature"),
        ("/stream".into(), json!(1), "stream"),
        ("/system".into(), json!(1), "system"),
        ("/messages".into(), Value::Null, "messages: Field required"),
        ("/messages".into(), json!([]), "at least one message"),
        ("/messages/0/role".into(), json!("system"), "roles must alternate"),
        ("/messages/0".into(), Value::Null, "roles must alternate"),
        ("/messages/3".into(), Value::Null, "roles must alternate"),
        ("/messages/0/content".into(), json!(""), "non-empty content"),
        ("/messages/3/content".into(), json!([]), "non-empty content"),
        (at(uses, "0/text"), json!(" \n"), "non-whitespace text"),
        (at(uses, "1/input"), json!("{}"), "valid dictionary"),
        (at(uses, "1/id"), Value::Null, "id: Field required"),
        (at(uses, "1/id"), json!("functions.f:0"), "id: String should match pattern"),
        (at(uses, "2/id"), json!("a"), "must be unique"),
        (at(uses, "1/name"), json!("a b"), "pattern"),
        (results.into(), alone, "without `tool_result` blocks immediately after: a, b"),
        (at(results, "1"), Value::Null, "without `tool_result` blocks immediately after: a"),
        (at(results, "0/tool_use_id"), json!("z"), "unexpected `tool_use_id`"),
        (at(results, "-"), again, "must come first"),
        ("/tools".into(), Value::Null, "tool_choice"),
        ("/tools/-".into(), json!({ "name": "f", "input_schema": { "type": "object" } }), "unique"),
        ("/tools/0/input_schema".into(), json!({}), "input_schema"),
        ("/tool_choice/name".into(), json!("g"), "Tool 'g' not found"),
    ];
    let violations = table.len();
    for (pointer, value, message) in table {
        let got = anthropic(&server, &with(&body, &pointer, value)).await;
        assert_eq!(got.status, 400, "{pointer}: {got:?}");
        assert!(got.message().contains(message), "{pointer}: {}", got.message());
        let error: Value = serde_json::from_str(&got.body).unwrap();
        assert_eq!(
            (&error["type"], &error["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
    }
    assert_eq!(server.violations().len(), violations);
}

#[tokio::test]
async fn calls_need_tools_and_an_answer_at_the_end() {
    let server = server().await;
    let bare = with(&with(&legal(), "/tools", Value::Null), "/tool_choice", Value::Null);
    assert!(anthropic(&server, &bare).await.message().contains("must define tools"));
    let mut open = legal();
    open["messages"].as_array_mut().unwrap().truncate(2);
    assert!(anthropic(&server, &open).await.message().starts_with("messages.1: `tool_use` ids"));
}

#[tokio::test]
async fn the_head_of_a_request() {
    let server = server().await;
    let (path, body) = ("/v1/messages", legal().to_string());
    let (json, version) =
        (("content-type", "application/json"), ("anthropic-version", "2023-06-01"));
    for headers in [vec![json, version], vec![json, version, ("x-api-key", "sk-other")]] {
        let got = post(&server, path, &headers, &body).await;
        assert_eq!((got.status, got.message().as_str()), (401, "invalid x-api-key"));
    }
    let key = ("x-api-key", KEY);
    let got = post(&server, path, &[json, key], &body).await;
    assert!(got.message().contains("anthropic-version"), "{got:?}");
    assert_eq!(post(&server, path, &[version, key], &body).await.status, 400);
    assert_eq!(anthropic(&server, &with(&legal(), "/model", json!("n"))).await.status, 404);
}
