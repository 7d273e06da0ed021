//! The rules of Anthropic messages.

use std::collections::HashSet;

use serde_json::Value;

use super::openai::check_name;

/// Top-level fields that the endpoint knows.
const FIELDS: [&str; 16] = [
    "container",
    "context_management",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
];

/// What the endpoint would refuse, in its words.
pub(super) fn check(body: &Value) -> Result<(), String> {
    let fields = body.as_object().ok_or("the body must be an object")?;
    if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(format!("{unknown}: Extra inputs are not permitted"));
    }
    if text(body, "model").is_none_or(str::is_empty) {
        return Err("model: Field required".to_owned());
    }
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|limit| limit == 0) {
        return Err("max_tokens: Field required, greater than or equal to 1".to_owned());
    }
    if let Some(temperature) = body.get("temperature") {
        let is_legal = temperature.as_f64().is_some_and(|t| (0.0..=1.0).contains(&t));
        if !is_legal {
            return Err("temperature: range: 0..1".to_owned());
        }
    }
    if body.get("stream").is_some_and(|stream| !stream.is_boolean()) {
        return Err("stream: Input should be a valid boolean".to_owned());
    }
    let is_system = |system: &Value| system.is_array() || system.as_str().is_some();
    if body.get("system").is_some_and(|system| !is_system(system)) {
        return Err("system: Input should be a valid string or list".to_owned());
    }
    let tools = check_tools(body)?;
    check_choice(body, &tools)?;
    check_messages(body, &tools)
}

fn check_tools(body: &Value) -> Result<HashSet<&str>, String> {
    let mut names = HashSet::new();
    let Some(tools) = body.get("tools") else { return Ok(names) };
    let tools = tools.as_array().ok_or("tools: Input should be a valid list")?;
    for (place, tool) in tools.iter().enumerate() {
        let name = text(tool, "name").unwrap_or_default();
        check_name(name, &format!("tools.{place}.custom.name"))?;
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
        let schema = tool.get("input_schema").unwrap_or(&Value::Null);
        if text(schema, "type") != Some("object") {
            return Err(format!("tools.{place}.custom.input_schema.type: Field required"));
        }
    }
    Ok(names)
}

fn check_choice(body: &Value, tools: &HashSet<&str>) -> Result<(), String> {
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if tools.is_empty() {
        return Err("tool_choice: may only be specified while providing tools".to_owned());
    }
    match text(choice, "type") {
        Some("auto" | "any" | "none") => Ok(()),
        Some("tool") => match text(choice, "name") {
            Some(name) if tools.contains(name) => Ok(()),
            name => Err(format!(
                "tool_choice: Tool '{}' not found in provided tools",
                name.unwrap_or_default()
            )),
        },
        _ => Err("tool_choice: Input tag must be 'auto', 'any', 'none' or 'tool'".to_owned()),
    }
}

fn check_messages(body: &Value, tools: &HashSet<&str>) -> Result<(), String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.ok_or("messages: Field required")?;
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        let role = text(message, "role").unwrap_or_default();
        if role != expected {
            return Err(format!(
                "messages.{place}: roles must alternate between \"user\" and \"assistant\", \
                 beginning with \"user\"; got \"{role}\""
            ));
        }
        let blocks = blocks(message, place)?;
        if role == "user" {
            check_results(blocks, place, &mut open)?;
            check_answered(place.saturating_sub(1), &open)?;
        } else {
            open = check_uses(blocks, place, &mut seen)?;
            if !open.is_empty() && tools.is_empty() {
                return Err("Requests which include `tool_use` or `tool_result` blocks must \
                            define tools."
                    .to_owned());
            }
        }
    }
    check_answered(messages.len() - 1, &open)
}

/// The blocks of a message; none for a text.
fn blocks(message: &Value, place: usize) -> Result<&[Value], String> {
    let empty = || format!("messages.{place}: all messages must have non-empty content");
    match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => Ok(&[]),
        Some(Value::Array(blocks)) if !blocks.is_empty() => Ok(blocks),
        _ => Err(empty()),
    }
}

fn check_text(block: &Value, at: &str) -> Result<(), String> {
    if text(block, "text").is_none_or(|text| text.trim().is_empty()) {
        return Err(format!("{at}: text content blocks must contain non-whitespace text"));
    }
    Ok(())
}

/// Takes the results of a message off the calls that wait for one.
fn check_results(blocks: &[Value], place: usize, open: &mut Vec<&str>) -> Result<(), String> {
    let mut is_behind = false;
    for (nth, block) in blocks.iter().enumerate() {
        let at = format!("messages.{place}.content.{nth}");
        match text(block, "type") {
            Some("tool_result") if is_behind => {
                return Err(format!("{at}: tool_result blocks must come first in the content"));
            }
            Some("tool_result") => {
                let id = text(block, "tool_use_id").unwrap_or_default();
                let Some(found) = open.iter().position(|it| *it == id) else {
                    return Err(format!(
                        "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                         `tool_result` block must have a corresponding `tool_use` block in the \
                         previous message."
                    ));
                };
                open.swap_remove(found);
            }
            Some("text") => {
                check_text(block, &at)?;
                is_behind = true;
            }
            Some("image" | "document") => is_behind = true,
            _ => return Err(format!("{at}: Input tag does not match any of the expected tags")),
        }
    }
    Ok(())
}

/// Checks the blocks of the assistant and gives the ids that wait for a result now.
fn check_uses<'a>(
    blocks: &'a [Value],
    place: usize,
    seen: &mut HashSet<&'a str>,
) -> Result<Vec<&'a str>, String> {
    let mut open = Vec::new();
    for (nth, block) in blocks.iter().enumerate() {
        let at = format!("messages.{place}.content.{nth}");
        match text(block, "type") {
            Some("text") => check_text(block, &at)?,
            Some("tool_use") => {
                check_name(text(block, "name").unwrap_or_default(), &format!("{at}.name"))?;
                if !block.get("input").is_some_and(Value::is_object) {
                    return Err(format!("{at}.tool_use.input: Input should be a valid dictionary"));
                }
                let id = text(block, "id").filter(|id| !id.is_empty());
                let id = id.ok_or(format!("{at}.tool_use.id: Field required"))?;
                if !id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                    return Err(format!(
                        "{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                    ));
                }
                if !seen.insert(id) {
                    return Err(format!("{at}: `tool_use` ids must be unique"));
                }
                open.push(id);
            }
            Some("thinking" | "redacted_thinking") => {}
            _ => return Err(format!("{at}: Input tag does not match any of the expected tags")),
        }
    }
    Ok(open)
}

fn check_answered(place: usize, open: &[&str]) -> Result<(), String> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message.",
        open.join(", ")
    ))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
