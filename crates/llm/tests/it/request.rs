//! What is asked arrives as it was said.

use probity_chat::{Call, Message, Model, ModelReply};
use probity_llm::Api;
use probity_testkit::{Answer, Asked, Choice, Received};
use serde_json::{Value, json};

use crate::{KEY, config, endpoint, question, serve, tool, user};

fn tool_message(call_id: &str, content: &str, is_error: bool) -> Message {
    let (call_id, content) = (call_id.to_owned(), content.to_owned());
    Message::Tool { call_id, name: "weather".to_owned(), content, is_error }
}

fn written(id: &str, arguments: &str) -> Call {
    Call { id: id.to_owned(), name: "weather".to_owned(), arguments: arguments.to_owned() }
}

/// Every kind of message, with arguments that are and are not JSON.
fn conversation() -> Asked {
    let calls = vec![
        written("a1", "{ \"z\": 1.0, \"a\": [] }"),
        written("a2", "{\"city\": Bern"),
        written("a3", ""),
        written("a4", "[1]"),
    ];
    let messages = [
        Message::System { content: "You are terse.".to_owned() },
        user("Hello"),
        Message::System { content: "Be kind, too.".to_owned() },
        Message::Assistant { content: "Let me look.".to_owned(), tool_calls: calls },
        tool_message("a1", "sunny", false),
        tool_message("a2", "no such city", true),
        tool_message("a3", "", false),
        tool_message("a4", "ok", false),
        user("And then?"),
        Message::Assistant { content: String::new(), tool_calls: vec![written("b1", "{}")] },
        tool_message("b1", "rain", false),
    ];
    let mut asked = Asked::new("run-1", messages).unwrap();
    asked.tools = vec![tool("weather")];
    asked
}

async fn sent(api: Api, stream: bool, asked: &Asked) -> Received {
    let server = serve([Answer::reply(ModelReply::text("ok"))]).await;
    let mut config = config(&server, (api, stream));
    config.temperature = Some(0.5);
    config.max_output_tokens = Some(100);
    let model = probity_llm::Endpoint::new(config).unwrap();
    let reply = model.complete(&asked.request()).await.unwrap();
    assert_eq!(reply.text, "ok");
    server.received().remove(0)
}

#[tokio::test]
async fn a_conversation_in_the_language_of_openai() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let function = |arguments: &str| json!({ "name": "weather", "arguments": arguments });
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": function(arguments) });
    let result =
        |id: &str, text: &str| json!({ "role": "tool", "tool_call_id": id, "content": text });
    let expected = json!({
        "model": "some-model",
        "stream": false,
        "tools": [{
            "type": "function",
            "function": {
                "name": "weather", "description": "Does weather.", "parameters": schema,
            },
        }],
        "tool_choice": "auto",
        "messages": [
            { "role": "system", "content": "You are terse." },
            { "role": "user", "content": "Hello" },
            { "role": "system", "content": "Be kind, too." },
            {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [
                    call("a1", "{ \"z\": 1.0, \"a\": [] }"),
                    call("a2", "{\"city\": Bern"),
                    call("a3", ""),
                    call("a4", "[1]"),
                ],
            },
            result("a1", "sunny"),
            result("a2", "ERROR: no such city"),
            result("a3", ""),
            result("a4", "ok"),
            { "role": "user", "content": "And then?" },
            { "role": "assistant", "content": null, "tool_calls": [call("b1", "{}")] },
            result("b1", "rain"),
        ],
        "temperature": 0.5,
        "max_tokens": 100,
    });
    let received = sent(Api::OpenAi, false, &conversation()).await;
    assert_eq!(received.body, expected);
    let mut streamed = expected;
    streamed["stream"] = json!(true);
    streamed["stream_options"] = json!({ "include_usage": true });
    assert_eq!(sent(Api::OpenAi, true, &conversation()).await.body, streamed);
}

#[tokio::test]
async fn a_conversation_in_the_language_of_anthropic() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let call = |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "weather", "input": input });
    let result =
        |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    let mut failed = result("a2", "no such city");
    failed["is_error"] = json!(true);
    let expected = json!({
        "model": "some-model",
        "stream": false,
        "max_tokens": 100,
        "tools": [{
            "name": "weather", "description": "Does weather.", "input_schema": schema,
        }],
        "tool_choice": { "type": "auto" },
        "system": "You are terse.\n\nBe kind, too.",
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Hello" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Let me look." },
                call("a1", json!({ "z": 1.0, "a": [] })),
                call("a2", json!({ "INVALID_JSON": "{\"city\": Bern" })),
                call("a3", json!({})),
                call("a4", json!({ "INVALID_JSON": "[1]" })),
            ] },
            { "role": "user", "content": [
                result("a1", "sunny"),
                failed,
                { "type": "tool_result", "tool_use_id": "a3" },
                result("a4", "ok"),
                { "type": "text", "text": "And then?" },
            ] },
            { "role": "assistant", "content": [call("b1", json!({}))] },
            { "role": "user", "content": [result("b1", "rain")] },
        ],
        "temperature": 0.5,
    });
    let received = sent(Api::Anthropic, false, &conversation()).await;
    assert_eq!(received.body, expected);
    assert!(received.text.contains(r#""input":{ "z": 1.0, "a": [] }"#), "{}", received.text);
    let mut streamed = expected;
    streamed["stream"] = json!(true);
    assert_eq!(sent(Api::Anthropic, true, &conversation()).await.body, streamed);
}

#[tokio::test]
async fn the_choice_of_tools() {
    let named = || Choice::Named("web_search".to_owned());
    let table = [
        (Choice::Auto, json!("auto"), json!({ "type": "auto" })),
        (Choice::None, json!("none"), json!({ "type": "none" })),
        (Choice::Required, json!("required"), json!({ "type": "any" })),
        (
            named(),
            json!({ "type": "function", "function": { "name": "web_search" } }),
            json!({ "type": "tool", "name": "web_search" }),
        ),
    ];
    for (choice, openai, anthropic) in table {
        let asked = Asked { choice: choice.clone(), ..question() };
        for (api, expected) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
            let body = sent(api, false, &asked).await.body;
            assert_eq!(body["tool_choice"], expected, "{choice:?}");
            assert_eq!(body["tools"].as_array().map(Vec::len), Some(2));
        }
    }
    for choice in [Choice::Auto, Choice::None] {
        let asked = Asked { choice, tools: Vec::new(), ..question() };
        for api in [Api::OpenAi, Api::Anthropic] {
            let body = sent(api, false, &asked).await.body;
            assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
        }
    }
}

#[tokio::test]
async fn the_key_is_in_one_header_and_the_name_of_the_model_is_sent_as_it_is() {
    for (api, name, value) in
        [(Api::OpenAi, "authorization", "Bearer [key]"), (Api::Anthropic, "x-api-key", "[key]")]
    {
        let received = sent(api, true, &question()).await;
        let with_key: Vec<_> =
            received.headers.iter().filter(|(_, value)| value.contains("[key]")).collect();
        assert_eq!(with_key, [&(name.to_owned(), value.to_owned())]);
        assert!(!received.text.contains(KEY));
    }
    // Names with a suffix or a namespace mean something to other clients.
    let answers = [Answer::reply(ModelReply::text("ok"))];
    let server = probity_testkit::StrictServer::answers(answers).start().await.unwrap();
    for name in ["model-high", "vendor::model", "vendor/model:free", "gpt-5-none"] {
        let mut config = config(&server, (Api::OpenAi, false));
        config.model = name.to_owned();
        config.max_output_tokens = Some(5);
        let model = probity_llm::Endpoint::new(config).unwrap();
        model.complete(&question().request()).await.unwrap();
        let body = server.received().pop().unwrap().body;
        assert_eq!(body["model"], name);
        let limit = if name.starts_with("gpt-5") { "max_completion_tokens" } else { "max_tokens" };
        assert_eq!(body[limit], 5, "{name}");
    }
}

#[tokio::test]
async fn a_model_without_a_limit_gets_the_default_of_its_language() {
    for (api, expected) in [(Api::OpenAi, Value::Null), (Api::Anthropic, json!(8192))] {
        let server = serve([Answer::reply(ModelReply::text("ok"))]).await;
        endpoint(&server, (api, false)).complete(&question().request()).await.unwrap();
        assert_eq!(server.received()[0].body["max_tokens"], expected);
    }
}

/// The one assistant message of a conversation in which these calls were made and answered.
async fn after_calls(api: Api, calls: Vec<Call>) -> Value {
    let answers: Vec<_> = calls.iter().map(|call| tool_message(&call.id, "no", true)).collect();
    let mut asked = question();
    asked.messages.push(Message::Assistant { content: String::new(), tool_calls: calls });
    asked.messages.extend(answers);
    let mut body = sent(api, false, &asked).await.body;
    body.pointer_mut("/messages/1").unwrap().take()
}

#[tokio::test]
async fn names_that_a_model_made_up_are_sent_back_as_servers_take_them() {
    let long = "x".repeat(70);
    for (name, expected) in [
        ("multi_tool_use.parallel", "multi_tool_use_parallel"),
        ("wetter für", "wetter_f_r"),
        (long.as_str(), &long[..64]),
        ("", "_"),
        ("legal-1", "legal-1"),
    ] {
        let called = || vec![Call { name: name.to_owned(), ..written("a1", "{}") }];
        let said = after_calls(Api::OpenAi, called()).await;
        assert_eq!(said["tool_calls"][0]["function"]["name"], expected);
        let said = after_calls(Api::Anthropic, called()).await;
        assert_eq!(said["content"][0]["name"], expected);
    }
}

#[tokio::test]
async fn ids_of_other_providers_are_sent_to_anthropic_as_it_takes_them() {
    let ids = ["a.b", "a:b", "functions.weather:0", "ä", "legal_id-1"];
    let called = || ids.iter().map(|id| written(id, "{}")).collect::<Vec<_>>();
    let said = after_calls(Api::OpenAi, called()).await;
    for (place, id) in ids.iter().enumerate() {
        assert_eq!(said["tool_calls"][place]["id"], *id);
    }
    // That the results name the same ids, and no two calls one, is the server's rule.
    let said = after_calls(Api::Anthropic, called()).await;
    assert_eq!(said["content"][0]["id"], "id-612e62");
    assert_eq!(said["content"][4]["id"], "legal_id-1");
}

#[tokio::test]
async fn arguments_that_a_server_cannot_read_are_sent_to_anthropic_as_text() {
    let deep = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    for (arguments, is_object) in [
        (deep(100), true),
        (deep(125), false),
        (deep(2000), false),
        (r#"{"a":"\ud800"}"#.to_owned(), false),
        (r#"{"a":"[[[\"{{{","b":1,"b":2}"#.to_owned(), true),
    ] {
        let said = after_calls(Api::Anthropic, vec![written("a1", &arguments)]).await;
        let text = &said["content"][0]["input"]["INVALID_JSON"];
        assert_eq!(text.is_null(), is_object, "{arguments}");
        assert!(is_object || *text == json!(arguments));
        let said = after_calls(Api::OpenAi, vec![written("a1", &arguments)]).await;
        assert_eq!(said["tool_calls"][0]["function"]["arguments"], json!(arguments));
    }
}

#[tokio::test]
async fn a_conversation_with_calls_goes_on_without_tools() {
    let mut asked = conversation();
    asked.tools.clear();
    for api in [Api::OpenAi, Api::Anthropic] {
        let body = sent(api, false, &asked).await.body;
        let names: Vec<_> =
            body["tools"].as_array().into_iter().flatten().map(|tool| &tool["name"]).collect();
        match api {
            Api::OpenAi => assert_eq!((names.len(), body.get("tool_choice")), (0, None)),
            // It takes no calls without their tools, so they are named and none may be called.
            Api::Anthropic => {
                assert_eq!(names, ["weather"]);
                assert_eq!(body["tool_choice"], json!({ "type": "none" }));
            }
        }
    }
}

#[tokio::test]
async fn words_without_a_character_that_shows_are_sent_as_a_turn_all_the_same() {
    let said = |text: &str| Message::Assistant { content: text.to_owned(), tool_calls: vec![] };
    for messages in [vec![user("")], vec![user("Go."), said("Done."), user(" \n")]] {
        let turns = messages.len();
        let asked = Asked::new("run-1", messages).unwrap();
        for api in [Api::OpenAi, Api::Anthropic] {
            let body = sent(api, false, &asked).await.body;
            assert_eq!(body["messages"].as_array().map(Vec::len), Some(turns), "{body}");
        }
    }
}
