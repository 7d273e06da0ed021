//! The rules of chat completions.

use std::collections::HashSet;

use serde_json::Value;

/// Longest id of a call, in characters.
const MAX_ID_CHARS: usize = 40;

/// Top-level arguments that the endpoint knows.
const ARGUMENTS: [&str; 30] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
];

/// What the endpoint would refuse, in its words.
pub(super) fn check(body: &Value) -> Result<(), String> {
    let arguments = body.as_object().ok_or("the body must be an object")?;
    if let Some(unknown) = arguments.keys().find(|key| !ARGUMENTS.contains(&key.as_str())) {
        return Err(format!("Unrecognized request argument supplied: {unknown}"));
    }
    if text(body, "model").is_none_or(str::is_empty) {
        return Err("you must provide a model parameter".to_owned());
    }
    let is_stream = match body.get("stream") {
        None => false,
        Some(stream) => stream.as_bool().ok_or("Invalid type for 'stream': expected a boolean.")?,
    };
    if body.get("stream_options").is_some_and(|options| !options.is_null()) && !is_stream {
        return Err(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned()
        );
    }
    check_numbers(body)?;
    let tools = check_tools(body)?;
    check_choice(body, &tools)?;
    check_messages(body)
}

fn check_numbers(body: &Value) -> Result<(), String> {
    if let Some(temperature) = body.get("temperature") {
        let is_legal = temperature.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t));
        if !is_legal {
            return Err("Invalid 'temperature': must be a number from 0 to 2.".to_owned());
        }
    }
    for name in ["max_tokens", "max_completion_tokens"] {
        if body.get(name).is_some_and(|limit| limit.as_u64().is_none_or(|limit| limit == 0)) {
            return Err(format!("Invalid '{name}': integer below minimum value."));
        }
    }
    if body.get("max_tokens").is_some() && body.get("max_completion_tokens").is_some() {
        return Err("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not \
                    supported."
            .to_owned());
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<HashSet<&str>, String> {
    let mut names = HashSet::new();
    let Some(tools) = body.get("tools") else { return Ok(names) };
    let tools = tools.as_array().ok_or("Invalid type for 'tools': expected an array.")?;
    if tools.is_empty() {
        return Err(
            "Invalid 'tools': empty array. Expected an array with minimum length 1.".to_owned()
        );
    }
    for (place, tool) in tools.iter().enumerate() {
        if text(tool, "type") != Some("function") {
            return Err(format!("Invalid value for 'tools[{place}].type': must be 'function'."));
        }
        let name = tool.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        check_name(name, &format!("tools[{place}].function.name"))?;
        if !names.insert(name) {
            return Err(format!("Duplicate function name '{name}' in 'tools'."));
        }
        let parameters = tool.pointer("/function/parameters");
        if parameters.is_some_and(|schema| text(schema, "type") != Some("object")) {
            return Err(format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of \
                 'type: \"object\"'."
            ));
        }
    }
    Ok(names)
}

/// The rule for names that both languages share.
pub(super) fn check_name(name: &str, place: &str) -> Result<(), String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(is_legal) {
        return Ok(());
    }
    Err(format!(
        "Invalid '{place}': string does not match pattern. Expected a string that matches the \
         pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
    ))
}

fn check_choice(body: &Value, tools: &HashSet<&str>) -> Result<(), String> {
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if tools.is_empty() {
        return Err("'tool_choice' is only allowed when 'tools' are specified.".to_owned());
    }
    if let Some(word) = choice.as_str() {
        return match word {
            "auto" | "none" | "required" => Ok(()),
            _ => Err(format!(
                "Invalid value: '{word}'. Supported values are: 'none', 'auto', and \
                              'required'."
            )),
        };
    }
    let name = choice.pointer("/function/name").and_then(Value::as_str);
    match name {
        Some(name) if text(choice, "type") == Some("function") && tools.contains(name) => Ok(()),
        _ => Err("Tool choice 'function' not found in 'tools' parameter.".to_owned()),
    }
}

fn check_messages(body: &Value) -> Result<(), String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.ok_or("Missing required parameter: 'messages'.")?;
    if messages.is_empty() {
        return Err(
            "Invalid 'messages': empty array. Expected an array with minimum length 1.".to_owned()
        );
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        if role == "tool" {
            check_content(message, place)?;
            let id = text(message, "tool_call_id")
                .ok_or(format!("Missing parameter 'messages[{place}].tool_call_id'."))?;
            let Some(at) = open.iter().position(|it| *it == id) else {
                return Err(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a \
                     preceeding message with 'tool_calls'. ('messages[{place}]')"
                ));
            };
            open.swap_remove(at);
            continue;
        }
        check_answered(&open)?;
        match role {
            "system" | "developer" | "user" => check_content(message, place)?,
            "assistant" => open = check_assistant(message, place, &mut seen)?,
            _ => {
                return Err(format!(
                    "Invalid value: '{role}'. Supported values are: 'system', 'assistant', \
                     'user', 'tool', and 'developer'. ('messages[{place}].role')"
                ));
            }
        }
    }
    check_answered(&open)
}

fn check_answered(open: &[&str]) -> Result<(), String> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
}

fn check_content(message: &Value, place: usize) -> Result<(), String> {
    let content = message.get("content");
    if content.is_some_and(|content| content.is_string() || content.is_array()) {
        return Ok(());
    }
    Err(format!("Invalid type for 'messages[{place}].content': expected a string or an array."))
}

/// Checks the calls of a message and gives their ids, which wait for an answer now.
fn check_assistant<'a>(
    message: &'a Value,
    place: usize,
    seen: &mut HashSet<&'a str>,
) -> Result<Vec<&'a str>, String> {
    let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) else {
        check_content(message, place)?;
        return Ok(Vec::new());
    };
    if message.get("content").is_some_and(|content| !content.is_null()) {
        check_content(message, place)?;
    }
    let at = format!("messages[{place}].tool_calls");
    let calls = calls.as_array().filter(|calls| !calls.is_empty());
    let calls = calls.ok_or(format!("Invalid '{at}': expected an array that is not empty."))?;
    let mut open = Vec::with_capacity(calls.len());
    for (nth, call) in calls.iter().enumerate() {
        let at = format!("{at}[{nth}]");
        if text(call, "type") != Some("function") {
            return Err(format!("Invalid value for '{at}.type': must be 'function'."));
        }
        let function = call.get("function").unwrap_or(&Value::Null);
        check_name(text(function, "name").unwrap_or_default(), &format!("{at}.function.name"))?;
        if text(function, "arguments").is_none() {
            return Err(format!("Invalid type for '{at}.function.arguments': expected a string."));
        }
        let id = text(call, "id").filter(|id| !id.is_empty());
        let id = id.ok_or(format!("Missing required parameter: '{at}.id'."))?;
        let length = id.chars().count();
        if length > MAX_ID_CHARS {
            return Err(format!(
                "Invalid '{at}.id': string too long. Expected a string with maximum length \
                 {MAX_ID_CHARS}, but got a string with length {length} instead."
            ));
        }
        if !seen.insert(id) {
            return Err(format!("Duplicate value for '{at}.id': '{id}'."));
        }
        open.push(id);
    }
    Ok(open)
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
