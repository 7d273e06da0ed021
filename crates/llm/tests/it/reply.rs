//! What a model says arrives as it said it.

use probity_chat::{Call, Model, ModelReply, Stop, TokenUsage};
use probity_llm::Api;
use probity_testkit::{Answer, call};
use serde_json::json;

use crate::{MODES, ask, endpoint, question, serve};

fn said(text: &str, tool_calls: impl IntoIterator<Item = Call>, stop: Stop) -> ModelReply {
    let tool_calls = tool_calls.into_iter().collect();
    let usage = TokenUsage { input: 11, output: 7 };
    ModelReply { text: text.to_owned(), tool_calls, stop, usage }
}

fn written(id: &str, arguments: &str) -> Call {
    Call { arguments: arguments.to_owned(), ..call(id, "weather", json!({})) }
}

#[tokio::test]
async fn every_reply_is_the_same_in_both_languages_whole_and_as_a_stream() {
    let bern = || call("a1", "weather", json!({ "city": "Bern" }));
    let table = [
        ("text", said("Sunny, 21 °C, 🌞.", [], Stop::End)),
        ("text is not trimmed", said("\n  two\r\n\r\nlines \n", [], Stop::End)),
        ("nothing", said("", [], Stop::End)),
        ("cut", said("It is", [], Stop::Length)),
        ("withheld", said("", [], Stop::Filter)),
        ("one call", said("", [bern()], Stop::End)),
        ("text and a call", said("Let me look.", [bern()], Stop::End)),
        (
            "parallel calls",
            said(
                "",
                [
                    bern(),
                    call("a2", "web_search", json!({})),
                    written("a3", r#"{"city":"Zürich"}"#),
                ],
                Stop::End,
            ),
        ),
        (
            "arguments keep their bytes",
            said(
                "",
                [written("a1", "{ \"z\": 1.0,\n \"a\": 1e400, \"a\": \"\\u00e9\" }")],
                Stop::End,
            ),
        ),
        ("arguments that are no JSON", said("", [written("a1", "{\"city\": Bern")], Stop::End)),
        ("arguments that are no object", said("", [written("a1", "[1, 2]")], Stop::End)),
    ];
    for (name, reply) in table {
        for mode in MODES {
            let answered = ask(mode, Answer::reply(reply.clone())).await;
            assert_eq!(answered, Ok(reply.clone()), "{name}, {mode:?}");
        }
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object_where_the_language_has_one() {
    for mode in MODES {
        let reply = ask(mode, Answer::reply(ModelReply::calls([written("a1", "")]))).await.unwrap();
        // A whole message has the text as a string, as a broken server would write it.
        let expected = if mode.0 == Api::OpenAi { "" } else { "{}" };
        assert_eq!(reply.tool_calls[0].arguments, expected, "{mode:?}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_read_whole() {
    let message = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let answer = Answer::raw(200, "application/json; charset=utf-8", message);
    assert_eq!(ask((Api::OpenAi, true), answer).await, Ok(ModelReply::text("hello")));
}

#[tokio::test]
async fn what_follows_the_last_event_is_not_looked_at_wherever_the_stream_is_cut() {
    let choice = r#"{"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let stream = format!("data: {choice}\n\ndata: [DONE]\n\n");
    let bytes = [stream.as_bytes(), b"data: \xff\n\n"].concat();
    let answer = Answer::raw(200, "text/event-stream", bytes);
    assert_eq!(ask((Api::OpenAi, true), answer).await, Ok(ModelReply::text("hello")));
}

/// Each is how some server writes a reply that others write differently.
#[tokio::test]
async fn the_habits_of_servers_are_understood() {
    let weather = |id: &str| call(id, "weather", json!({ "a": 1 }));
    let stream = |packets: &[&str]| {
        let lines = packets.iter().map(|packet| format!("data: {packet}\n\n"));
        Answer::raw(200, "text/event-stream", lines.collect::<String>())
    };
    let whole = |body: &str| Answer::raw(200, "application/json", body);
    let done = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let table = [
        (
            "arguments as an object, no id, calls null",
            whole(
                r#"{"choices":[{"message":{"content":null,"tool_calls":[{"type":"function","function":{"name":"weather","arguments":{"a":1}}}]}}]}"#,
            ),
            ModelReply::calls([weather("call_0_0")]),
        ),
        (
            "text in parts",
            whole(
                r#"{"choices":[{"message":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"hi"}],"tool_calls":null}}]}"#,
            ),
            ModelReply::text("hi"),
        ),
        (
            "a refusal in words",
            whole(
                r#"{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}"#,
            ),
            ModelReply { stop: Stop::Filter, ..ModelReply::text("no") },
        ),
        (
            "another word for the longest length",
            whole(r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"model_length"}]}"#),
            ModelReply { stop: Stop::Length, ..ModelReply::text("hi") },
        ),
        (
            "no [DONE] and no last empty line",
            Answer::raw(
                200,
                "text/event-stream",
                r#"data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#,
            ),
            ModelReply::text("hi"),
        ),
        (
            "calls without index",
            stream(&[
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{\"a\":"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"weather","arguments":"{\"a\":1}"}}]}}]}"#,
                done,
            ]),
            ModelReply::calls([weather("a"), weather("b")]),
        ),
        (
            "every call has index 0",
            stream(&[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"a\":1}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"weather","arguments":"{\"a\":1}"}}]}}]}"#,
                done,
            ]),
            ModelReply::calls([weather("a"), weather("b")]),
        ),
        (
            "id and name in every piece, pieces of two calls mixed",
            stream(&[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"weather","arguments":"{\"a\""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"a\""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"weather","arguments":":1}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":":1}"}}]}}]}"#,
                done,
            ]),
            ModelReply::calls([weather("a"), weather("b")]),
        ),
        (
            "two calls without id",
            whole(
                r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"weather","arguments":"{\"a\":1}"}},{"id":"","function":{"name":"weather","arguments":"{\"a\":1}"}}]}}]}"#,
            ),
            ModelReply::calls([weather("call_0_0"), weather("call_0_1")]),
        ),
        (
            "the same id twice",
            whole(
                r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{\"a\":1}"}},{"id":"a","function":{"name":"weather","arguments":"{\"a\":1}"}}]}}]}"#,
            ),
            ModelReply::calls([weather("a"), weather("call_0_1")]),
        ),
    ];
    for (name, answer, expected) in table {
        assert_eq!(ask((Api::OpenAi, true), answer).await, Ok(expected), "{name}");
    }
}

#[tokio::test]
async fn tokens_read_from_a_cache_and_blocks_of_reasoning() {
    let whole = r#"{"content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":8}}"#;
    let stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"cache_creation_input_tokens\":2,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":8}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    let usage = TokenUsage { input: 7, output: 8 };
    for (kind, body) in [("application/json", whole), ("text/event-stream", stream)] {
        let reply = ask((Api::Anthropic, true), Answer::raw(200, kind, body)).await;
        assert_eq!(reply, Ok(ModelReply { usage, ..ModelReply::text("hi") }), "{kind}");
    }
}

#[tokio::test]
async fn a_conversation_goes_on_with_what_was_said() {
    for mode in MODES {
        let broken = written("", "{\"city\": Bern");
        let server = serve([
            Answer::reply(ModelReply::calls([broken.clone(), broken])),
            Answer::reply(ModelReply::text("Sunny.")),
        ])
        .await;
        let model = endpoint(&server, mode);
        let mut asked = question();
        let reply = model.complete(&asked.request()).await.unwrap();
        let results = reply.tool_calls.iter().map(|call| probity_chat::Message::Tool {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: "not JSON".to_owned(),
            is_error: true,
        });
        let results: Vec<_> = results.collect();
        asked.messages.push(probity_chat::Message::Assistant {
            content: reply.text,
            tool_calls: reply.tool_calls,
        });
        asked.messages.extend(results);
        asked.number = 1;
        let reply = model.complete(&asked.request()).await;
        assert_eq!(reply, Ok(ModelReply::text("Sunny.")), "{mode:?}");
        let text = server.received()[1].text.clone();
        assert_eq!(text.matches(r#"{\"city\": Bern"#).count(), 2, "{text}");
    }
}
