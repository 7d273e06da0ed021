//! Claude Code in print mode: `stream-json`, or `json` with the last record alone.

use serde_json::Value;

use super::{Reading, content_text, number, text};

pub(super) fn read(records: &[Value], reading: &mut Reading) {
    let mut last_text = None;
    let mut result = None;
    for record in records {
        if let Some(session) = record.get("session_id").and_then(Value::as_str) {
            reading.session = Some(session.to_owned());
        }
        match text(record, "type") {
            "assistant" => {
                // A subagent's calls are part of the work; its words are not the answer.
                let own = record.get("parent_tool_use_id").is_none_or(Value::is_null);
                if let Some(said) = assistant(record, reading).filter(|_| own) {
                    last_text = Some(said);
                }
            }
            "user" => {
                for block in blocks(record).filter(|block| text(block, "type") == "tool_result") {
                    let content = content_text(block.get("content").unwrap_or(&Value::Null));
                    let is_error = block.get("is_error").and_then(Value::as_bool);
                    reading.result(text(block, "tool_use_id"), content, is_error.unwrap_or(false));
                }
            }
            "result" => result = Some(record),
            _ => {}
        }
    }
    let said = result.and_then(|result| finish(result, reading)).or(last_text);
    reading.claim.response = said.unwrap_or_default();
}

/// Records the calls of a message and returns its text, if it has any.
fn assistant(record: &Value, reading: &mut Reading) -> Option<String> {
    let mut said = Vec::new();
    for block in blocks(record) {
        match text(block, "type") {
            "text" => said.push(text(block, "text")),
            "tool_use" => reading.call(
                text(block, "id"),
                text(block, "name"),
                block.get("input").unwrap_or(&Value::Null),
            ),
            _ => {}
        }
    }
    (!said.is_empty()).then(|| said.join("\n"))
}

/// Reads the closing record and returns the final text, which failed runs may lack.
fn finish(result: &Value, reading: &mut Reading) -> Option<String> {
    if let Some(usage) = result.get("usage") {
        reading.tokens = [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ]
        .iter()
        .fold(0, |sum: u64, key| sum.saturating_add(number(usage, key)));
    }
    reading.claim.output = result.get("structured_output").filter(|v| !v.is_null()).cloned();
    let said = result.get("result").and_then(Value::as_str).map(str::to_owned);
    if result.get("is_error").and_then(Value::as_bool) == Some(true) {
        let kind = text(result, "subtype");
        reading.error = Some(match &said {
            Some(said) => format!("{kind}: {said}"),
            None => kind.to_owned(),
        });
    }
    said
}

fn blocks(record: &Value) -> impl Iterator<Item = &Value> {
    let content = record.get("message").and_then(|message| message.get("content"));
    content.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default().iter()
}
