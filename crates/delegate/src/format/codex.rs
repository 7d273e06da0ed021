//! `codex exec --json`: threads, turns and items.

use serde_json::{Value, json};

use super::{Reading, content_text, number, text};

pub(super) fn read(records: &[Value], reading: &mut Reading) {
    for record in records {
        match text(record, "type") {
            "thread.started" => reading.session = Some(text(record, "thread_id").to_owned()),
            "item.started" | "item.updated" => {
                if let Some(item) = record.get("item") {
                    call(item, reading);
                }
            }
            "item.completed" => {
                if let Some(item) = record.get("item") {
                    call(item, reading);
                    complete(item, reading);
                }
            }
            "turn.completed" => {
                // A dropped connection that was mended was an error only for a while.
                reading.error = None;
                if let Some(usage) = record.get("usage") {
                    // The cached part is counted inside `input_tokens`.
                    let spent = number(usage, "input_tokens")
                        .saturating_add(number(usage, "output_tokens"));
                    reading.tokens = reading.tokens.saturating_add(spent);
                }
            }
            "turn.failed" => {
                let error = record.get("error").unwrap_or(&Value::Null);
                reading.error = Some(text(error, "message").to_owned());
            }
            "error" => reading.error = Some(text(record, "message").to_owned()),
            _ => {}
        }
    }
}

fn call(item: &Value, reading: &mut Reading) {
    let id = text(item, "id");
    let part = |key: &str| item.get(key).cloned().unwrap_or_default();
    match text(item, "type") {
        kind @ "command_execution" => reading.call(id, kind, &json!({"command": part("command")})),
        kind @ "file_change" => reading.call(id, kind, &json!({"changes": part("changes")})),
        kind @ "web_search" => reading.call(id, kind, &json!({"query": part("query")})),
        "mcp_tool_call" => {
            let name = format!("{}.{}", text(item, "server"), text(item, "tool"));
            reading.call(id, &name, &part("arguments"));
        }
        _ => {}
    }
}

fn complete(item: &Value, reading: &mut Reading) {
    let id = text(item, "id");
    let failed = matches!(text(item, "status"), "failed" | "declined");
    match text(item, "type") {
        "agent_message" => text(item, "text").clone_into(&mut reading.claim.response),
        "command_execution" => {
            let code = item.get("exit_code").and_then(Value::as_i64);
            let output = text(item, "aggregated_output").to_owned();
            reading.result(id, output, failed || code.is_some_and(|code| code != 0));
        }
        "file_change" => reading.result(id, text(item, "status").to_owned(), failed),
        "mcp_tool_call" => {
            let content = match item.get("error").filter(|error| !error.is_null()) {
                Some(error) => text(error, "message").to_owned(),
                None => {
                    let result = item.get("result").unwrap_or(&Value::Null);
                    content_text(result.get("content").unwrap_or(result))
                }
            };
            reading.result(id, content, failed);
        }
        _ => {}
    }
}
