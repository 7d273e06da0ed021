//! Gemini CLI: `stream-json`, or `json` with one object for all of it.

use serde_json::Value;

use super::{Reading, number, text};

pub(super) fn read(records: &[Value], reading: &mut Reading) {
    let mut said = String::new();
    // A message comes in pieces; whatever is between two pieces makes the second a new message.
    let mut open = false;
    for record in records {
        let delta = record.get("delta").and_then(Value::as_bool) == Some(true);
        match record.get("type").and_then(Value::as_str) {
            None => {
                plain(record, reading);
                text(record, "response").clone_into(&mut said);
            }
            Some("init") => reading.session = session(record),
            Some("message") if text(record, "role") == "assistant" => {
                if !(open && delta) {
                    said.clear();
                }
                said.push_str(text(record, "content"));
                open = delta;
            }
            Some("message") => open = false,
            Some("tool_use") => {
                open = false;
                let arguments = record.get("parameters").unwrap_or(&Value::Null);
                reading.call(text(record, "tool_id"), text(record, "tool_name"), arguments);
            }
            Some("tool_result") => {
                open = false;
                let error = record.get("error").filter(|error| !error.is_null());
                let output = record.get("output").and_then(Value::as_str);
                let content = output.or_else(|| Some(text(error?, "message"))).unwrap_or_default();
                let failed = text(record, "status") == "error";
                reading.result(text(record, "tool_id"), content.to_owned(), failed);
            }
            Some("result") => finish(record, reading),
            Some(_) => {}
        }
    }
    reading.claim.response = said;
}

fn session(record: &Value) -> Option<String> {
    record.get("session_id").and_then(Value::as_str).map(str::to_owned)
}

fn finish(record: &Value, reading: &mut Reading) {
    if let Some(stats) = record.get("stats") {
        reading.tokens = number(stats, "total_tokens");
        reading.tool_calls = number(stats, "tool_calls");
    }
    if text(record, "status") == "error" {
        let error = record.get("error").unwrap_or(&Value::Null);
        reading.error = Some(text(error, "message").to_owned());
    }
}

fn plain(record: &Value, reading: &mut Reading) {
    reading.session = session(record);
    if let Some(stats) = record.get("stats") {
        let models = stats.get("models").and_then(Value::as_object);
        reading.tokens = models
            .into_iter()
            .flat_map(|models| models.values())
            .filter_map(|model| model.get("tokens"))
            .fold(0, |sum: u64, tokens| sum.saturating_add(number(tokens, "total")));
        reading.tool_calls = stats.get("tools").map_or(0, |tools| number(tools, "totalCalls"));
    }
    if let Some(error) = record.get("error").filter(|error| !error.is_null()) {
        reading.error = Some(text(error, "message").to_owned());
    }
}
