//! A model's reply as the two languages write it.

use probity_chat::{Call, ModelReply, Stop};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Characters of one piece of text or arguments in a stream.
const PIECE_CHARS: usize = 5;

/// A chat completion.
pub(super) fn openai_whole(model: &str, reply: &ModelReply) -> Value {
    let has_content = !reply.text.is_empty() || reply.tool_calls.is_empty();
    let content = has_content.then_some(&reply.text);
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(content));
    message.insert("refusal".to_owned(), Value::Null);
    if !reply.tool_calls.is_empty() {
        let calls = reply.tool_calls.iter().map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    json!({
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_reason(reply),
        }],
        "usage": openai_usage(reply),
    })
}

/// The same as a stream: text and arguments in pieces, the usage behind them if it is asked for.
pub(super) fn openai_stream(model: &str, reply: &ModelReply, wants_usage: bool) -> String {
    let mut deltas = vec![json!({ "role": "assistant", "content": "", "refusal": null })];
    deltas.extend(split(&reply.text).map(|piece| json!({ "content": piece })));
    for (index, call) in reply.tool_calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        let first =
            json!({ "index": index, "id": call.id, "type": "function", "function": function });
        deltas.push(json!({ "tool_calls": [first] }));
        deltas.extend(split(&call.arguments).map(|piece| {
            json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] })
        }));
    }
    let choice = |delta: Value, reason: Value| json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }]);
    let mut packets: Vec<(Value, Value)> =
        deltas.into_iter().map(|delta| (choice(delta, Value::Null), Value::Null)).collect();
    packets.push((choice(json!({}), json!(finish_reason(reply))), Value::Null));
    if wants_usage {
        packets.push((json!([]), openai_usage(reply)));
    }
    let mut text = String::new();
    for (choices, usage) in packets {
        let mut packet = Map::new();
        packet.insert("id".to_owned(), json!("chatcmpl-test"));
        packet.insert("object".to_owned(), json!("chat.completion.chunk"));
        packet.insert("created".to_owned(), json!(1));
        packet.insert("model".to_owned(), json!(model));
        packet.insert("choices".to_owned(), choices);
        if wants_usage {
            packet.insert("usage".to_owned(), usage);
        }
        let packet = Value::Object(packet);
        text.push_str(&format!("data: {packet}\n\n"));
    }
    text.push_str("data: [DONE]\n\n");
    text
}

/// An Anthropic message. Arguments keep their text; such as are no JSON become a string.
pub(super) fn anthropic_whole(model: &str, reply: &ModelReply) -> String {
    let mut blocks = Vec::new();
    if !reply.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": reply.text }).to_string());
    }
    blocks.extend(reply.tool_calls.iter().map(|call| {
        let (id, name) = (json!(call.id), json!(call.name));
        let input = input(call);
        format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
    }));
    let (model, reason) = (json!(model), json!(stop_reason(reply)));
    let usage = json!({ "input_tokens": reply.usage.input, "output_tokens": reply.usage.output });
    format!(
        r#"{{"id":"msg_test","type":"message","role":"assistant","model":{model},"content":[{}],"stop_reason":{reason},"stop_sequence":null,"usage":{usage}}}"#,
        blocks.join(",")
    )
}

/// The same as a stream: text and input in pieces.
pub(super) fn anthropic_stream(model: &str, reply: &ModelReply) -> String {
    let usage = json!({ "input_tokens": reply.usage.input, "output_tokens": 1 });
    let message = json!({
        "id": "msg_test", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut packets =
        vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
    let mut index = 0;
    let mut block =
        |start: Value, deltas: Vec<Value>| {
            let start =
                json!({ "type": "content_block_start", "index": index, "content_block": start });
            packets.push(start);
            packets.extend(deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
            packets.push(json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        };
    if !reply.text.is_empty() {
        let deltas = split(&reply.text).map(|piece| json!({ "type": "text_delta", "text": piece }));
        block(json!({ "type": "text", "text": "" }), deltas.collect());
    }
    for call in &reply.tool_calls {
        let deltas = split(&call.arguments)
            .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        let start = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        block(start, deltas.collect());
    }
    let delta = json!({ "stop_reason": stop_reason(reply), "stop_sequence": null });
    let usage = json!({ "output_tokens": reply.usage.output });
    packets.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    packets.push(json!({ "type": "message_stop" }));
    let events = packets.iter().map(|packet| {
        let name = packet.get("type").and_then(Value::as_str).unwrap_or_default();
        format!("event: {name}\ndata: {packet}\n\n")
    });
    events.collect()
}

fn input(call: &Call) -> String {
    match serde_json::from_str::<&RawValue>(&call.arguments) {
        Ok(raw) => raw.get().to_owned(),
        Err(_) => json!(call.arguments).to_string(),
    }
}

fn split(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> =
        chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

fn openai_usage(reply: &ModelReply) -> Value {
    json!({
        "prompt_tokens": reply.usage.input,
        "completion_tokens": reply.usage.output,
        "total_tokens": reply.usage.total(),
    })
}

fn finish_reason(reply: &ModelReply) -> &'static str {
    match reply.stop {
        Stop::Length => "length",
        Stop::Filter => "content_filter",
        Stop::End if reply.tool_calls.is_empty() => "stop",
        Stop::End => "tool_calls",
    }
}

fn stop_reason(reply: &ModelReply) -> &'static str {
    match reply.stop {
        Stop::Length => "max_tokens",
        Stop::Filter => "refusal",
        Stop::End if reply.tool_calls.is_empty() => "end_turn",
        Stop::End => "tool_use",
    }
}
