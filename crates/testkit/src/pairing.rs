//! The rule that every provider enforces: calls are answered before anything else is said.

use std::collections::HashSet;

use probity_chat::{Message, ModelRequest, ToolChoice};

/// What a strict provider would refuse in a request, in the words of the first violation found;
/// `None` for a request that it would take.
///
/// The calls of an assistant message have ids that the conversation has not seen, and are answered
/// by exactly one tool message each, directly behind it; a tool message answers nothing else. A
/// tool that is asked for by name is among the tools.
#[must_use]
pub fn violation(request: &ModelRequest<'_>) -> Option<String> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in request.messages.iter().enumerate() {
        if let Message::Tool { call_id, .. } = message {
            let Some(at) = open.iter().position(|id| id == call_id) else {
                return Some(format!(
                    "messages[{place}] answers `{call_id}`, which the message before does not call"
                ));
            };
            open.swap_remove(at);
            continue;
        }
        if !open.is_empty() {
            return Some(unanswered(&open));
        }
        if let Message::Assistant { tool_calls, .. } = message {
            for call in tool_calls {
                if !seen.insert(&call.id) {
                    return Some(format!("messages[{place}] uses the id `{}` again", call.id));
                }
                open.push(&call.id);
            }
        }
    }
    if !open.is_empty() {
        return Some(unanswered(&open));
    }
    match request.tool_choice {
        ToolChoice::Required if request.tools.is_empty() => {
            Some("a tool must be called and there is none".to_owned())
        }
        ToolChoice::Named(name) if request.tools.iter().all(|tool| tool.name != name) => {
            Some(format!("the tool `{name}` must be called and is not among the tools"))
        }
        _ => None,
    }
}

fn unanswered(open: &[&str]) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    )
}
