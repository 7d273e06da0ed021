//! `opencode run --format json`: parts of messages, each on a line when it is whole.

use serde_json::Value;

use super::{Reading, content_text, number, text};

pub(super) fn read(records: &[Value], reading: &mut Reading) {
    let mut said: Vec<&str> = Vec::new();
    let mut message = "";
    for record in records {
        if let Some(session) = record.get("sessionID").and_then(Value::as_str) {
            reading.session = Some(session.to_owned());
        }
        let part = record.get("part").unwrap_or(&Value::Null);
        match text(record, "type") {
            "text" => {
                // The answer is the last message that says something, with all its parts.
                if text(part, "messageID") != message {
                    message = text(part, "messageID");
                    said.clear();
                }
                said.push(text(part, "text"));
            }
            "tool_use" => tool(part, reading),
            "step_finish" => reading.tokens = reading.tokens.saturating_add(tokens(part)),
            "error" => reading.error = record.get("error").map(message_of),
            _ => {}
        }
    }
    reading.claim.response = said.join("\n");
}

/// Records a call and its result: a line is written when a call has ended.
fn tool(part: &Value, reading: &mut Reading) {
    let id = text(part, "callID");
    let state = part.get("state").unwrap_or(&Value::Null);
    reading.call(id, text(part, "tool"), state.get("input").unwrap_or(&Value::Null));
    let failed = text(state, "status") == "error";
    let content = state.get(if failed { "error" } else { "output" });
    reading.result(id, content_text(content.unwrap_or(&Value::Null)), failed);
}

/// What a step took. Older versions do not add it up.
fn tokens(part: &Value) -> u64 {
    let Some(tokens) = part.get("tokens") else { return 0 };
    if let Some(total) = tokens.get("total").and_then(Value::as_u64) {
        return total;
    }
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    [
        number(tokens, "input"),
        number(tokens, "output"),
        number(tokens, "reasoning"),
        number(cache, "read"),
        number(cache, "write"),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// What a session's error says, or its name.
fn message_of(error: &Value) -> String {
    let message = error.get("data").map_or("", |data| text(data, "message"));
    if message.is_empty() { text(error, "name") } else { message }.to_owned()
}
