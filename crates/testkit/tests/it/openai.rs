//! Every rule of chat completions is enforced.

use serde_json::{Value, json};

use crate::{openai, post, server, with};

/// A conversation that the server takes.
fn legal() -> Value {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "oops" } });
    json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "s" },
            { "role": "user", "content": "u" },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "tool_call_id": "b", "content": "1" },
            { "role": "tool", "tool_call_id": "a", "content": "2" },
            { "role": "assistant", "content": "done" },
            { "role": "user", "content": "more" },
        ],
        "tools": [{ "type": "function", "function": { "name": "f", "parameters": { "type": "object" } } }],
        "tool_choice": { "type": "function", "function": { "name": "f" } },
        "temperature": 1,
        "max_tokens": 5,
    })
}

#[tokio::test]
async fn every_violation_is_refused_and_costs_no_answer() {
    let server = server().await;
    let body = legal();
    assert_eq!(openai(&server, &body).await.status, 200);
    let tool = json!({ "type": "function", "function": { "name": "f" } });
    let table: [(&str, Value, &str); 32] = [
        ("/model", Value::Null, "you must provide a model"),
        ("/oops", json!(1), "Unrecognized request argument supplied: oops"),
        ("/stream", json!("yes"), "'stream'"),
        ("/stream_options", json!({}), "only allowed when 'stream' is enabled"),
        ("/temperature", json!(2.5), "'temperature'"),
        ("/temperature", json!("1"), "'temperature'"),
        ("/max_tokens", json!(0), "'max_tokens'"),
        ("/max_completion_tokens", json!(5), "at the same time"),
        ("/messages", Value::Null, "'messages'"),
        ("/messages", json!([]), "empty array"),
        ("/messages/0/role", json!("boss"), "Invalid value: 'boss'"),
        ("/messages/1/content", Value::Null, "messages[1].content"),
        ("/messages/5/content", Value::Null, "messages[5].content"),
        ("/messages/2/content", json!(1), "messages[2].content"),
        ("/messages/4", Value::Null, "did not have response messages: a"),
        ("/messages/3/tool_call_id", json!("a"), "preceeding message with 'tool_calls'"),
        ("/messages/3/tool_call_id", json!("z"), "preceeding message with 'tool_calls'"),
        ("/messages/3/tool_call_id", Value::Null, "tool_call_id"),
        ("/messages/3/content", Value::Null, "messages[3].content"),
        ("/messages/2", Value::Null, "preceeding message with 'tool_calls'"),
        ("/messages/2/tool_calls", json!([]), "not empty"),
        ("/messages/2/tool_calls/0/type", Value::Null, "tool_calls[0].type"),
        ("/messages/2/tool_calls/0/id", Value::Null, "tool_calls[0].id"),
        ("/messages/2/tool_calls/0/id", json!("x".repeat(41)), "maximum length 40"),
        ("/messages/2/tool_calls/1/id", json!("a"), "Duplicate value"),
        ("/messages/2/tool_calls/0/function/arguments", json!({}), "arguments"),
        ("/messages/2/tool_calls/0/function/name", json!("a b"), "pattern"),
        ("/tools", Value::Null, "'tool_choice' is only allowed when 'tools' are specified"),
        ("/tools/-", tool, "Duplicate function name 'f'"),
        ("/tools/0/function/name", json!("x".repeat(65)), "pattern"),
        ("/tools/0/function/parameters", json!({ "type": "string" }), "Invalid schema"),
        ("/tool_choice/function/name", json!("g"), "not found in 'tools'"),
    ];
    let violations = table.len();
    for (pointer, value, message) in table {
        let got = openai(&server, &with(&body, pointer, value)).await;
        assert_eq!(got.status, 400, "{pointer}: {got:?}");
        assert!(got.message().contains(message), "{pointer}: {}", got.message());
        let error: Value = serde_json::from_str(&got.body).unwrap();
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
    assert_eq!(server.violations().len(), violations);
    assert_eq!(openai(&server, &body).await.status, 200);
    assert_eq!(server.received().last().unwrap().number, 1);
}

#[tokio::test]
async fn the_text_of_an_unanswered_call_is_that_of_the_real_server() {
    let server = server().await;
    let mut body = legal();
    body["messages"].as_array_mut().unwrap().drain(3..5);
    let got = openai(&server, &body).await;
    assert_eq!(
        got.message(),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: a, b"
    );
    // The end of the conversation is no answer either.
    body["messages"].as_array_mut().unwrap().truncate(3);
    assert!(openai(&server, &body).await.message().contains("did not have response messages"));
}

#[tokio::test]
async fn the_head_of_a_request() {
    let server = server().await;
    let (path, body) = ("/v1/chat/completions", legal().to_string());
    let json = ("content-type", "application/json");
    for headers in [vec![json], vec![json, ("authorization", "Bearer sk-other")]] {
        let got = post(&server, path, &headers, &body).await;
        assert_eq!((got.status, got.message().as_str()), (401, "Incorrect API key provided."));
    }
    let key = ("authorization", "Bearer sk-test");
    assert_eq!(post(&server, path, &[key], &body).await.status, 400);
    assert_eq!(post(&server, path, &[key, json], "{oops").await.status, 400);
    assert_eq!(post(&server, "/v1/completions", &[key, json], &body).await.status, 404);
    assert_eq!(openai(&server, &with(&legal(), "/model", json!("n"))).await.status, 404);
    let seen = server.received().pop().unwrap();
    assert!(seen.headers.contains(&("authorization".to_owned(), "Bearer [key]".to_owned())));
}
