//! The chat completions of OpenAI, which most servers speak.

use std::borrow::Cow;

use probity_chat::{
    Call, Message, ModelError, ModelRequest, Stop, TokenUsage, ToolChoice, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::EndpointConfig;
use crate::draft::{Draft, DraftCall, unreadable};
use crate::exchange::{Assemble, cut_short, in_band};
use crate::name;
use crate::sse::Event;

/// Where a conversation is posted, behind the base URL.
pub(crate) const PATH: &str = "chat/completions";
/// Names of models that know the longest answer only as `max_completion_tokens`.
const NEW_LIMIT: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];
/// OpenAI knows failed tools only by their words.
const FAILED: &str = "ERROR: ";

/// The body of a request. `host` is the server's.
pub(crate) fn body(
    config: &EndpointConfig,
    host: &str,
    request: &ModelRequest<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let is_new_limit =
        host == "api.openai.com" || NEW_LIMIT.iter().any(|family| config.model.starts_with(family));
    let (max_completion_tokens, max_tokens) = if is_new_limit {
        (config.max_output_tokens, None)
    } else {
        (None, config.max_output_tokens)
    };
    serde_json::to_vec(&Body {
        model: &config.model,
        stream: config.stream,
        stream_options: config.stream.then(|| json!({ "include_usage": true })),
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(request),
        messages: request.messages.iter().map(entry).collect(),
        temperature: config.temperature,
        max_completion_tokens,
        max_tokens,
    })
}

/// Reads a whole answer.
pub(crate) fn read(body: &[u8]) -> Result<Draft, ModelError> {
    let mut reading = Reading::default();
    let has_words = reading.take(body, "answer")?;
    if !has_words {
        return Err(unreadable("the answer has no choice with a message"));
    }
    Ok(reading.draft)
}

/// An answer that arrives in pieces, or whole.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    draft: Draft,
    is_done: bool,
}

impl Assemble for Reading {
    fn event(&mut self, event: &Event) -> Result<bool, ModelError> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
        } else {
            self.take(event.data.as_bytes(), "stream")?;
        }
        Ok(self.is_done)
    }

    fn finish(self: Box<Self>) -> Result<Draft, ModelError> {
        // Some servers end without `[DONE]`; the reason to stop ends the answer as well.
        // One that says nothing and gives no reason is a server's trouble.
        if self.draft.stop.is_none() && !(self.is_done && self.draft.has_words()) {
            return Err(cut_short());
        }
        let mut draft = self.draft;
        draft.calls.sort_by_key(|call| call.index);
        Ok(draft)
    }
}

impl Reading {
    /// Takes a packet in; whether it held words of the first choice.
    fn take(&mut self, bytes: &[u8], what: &str) -> Result<bool, ModelError> {
        let packet: Packet = serde_json::from_slice(bytes)
            .map_err(|e| unreadable(format!("the {what} is not a chat completion: {e}")))?;
        if let Some(error) = packet.error {
            return Err(in_band(&error));
        }
        if let Some(usage) = packet.usage {
            self.draft.usage = TokenUsage {
                input: usage.prompt_tokens.unwrap_or_default(),
                output: usage.completion_tokens.unwrap_or_default(),
            };
        }
        let choices = packet.choices.into_iter().flatten();
        let Some(choice) = choices.into_iter().find(|c| c.index.unwrap_or_default() == 0) else {
            return Ok(false);
        };
        // Some servers send an empty one with every piece.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.draft.stop = Some(stop(&reason)?);
        }
        match (choice.message, choice.delta) {
            (Some(said), _) => self.said(said, true).map(|()| true),
            (None, Some(said)) => self.said(said, false).map(|()| true),
            (None, None) => Ok(false),
        }
    }

    fn said(&mut self, said: Said, is_whole: bool) -> Result<(), ModelError> {
        match said.content {
            Some(Content::Text(text)) => self.draft.text.push_str(&text),
            Some(Content::Parts(parts)) => {
                self.draft.text.extend(parts.into_iter().filter_map(|part| part.text));
            }
            None => {}
        }
        if let Some(refusal) = said.refusal.filter(|refusal| !refusal.is_empty()) {
            self.draft.text.push_str(&refusal);
            self.draft.stop = Some(Stop::Filter);
        }
        for call in said.tool_calls.into_iter().flatten() {
            self.call(call, is_whole)?;
        }
        Ok(())
    }

    /// Takes a call in, or a piece of one. Servers differ: some leave the index of a piece out, some
    /// give every call the same one, some repeat id and name in every piece.
    fn call(&mut self, piece: SaidCall, is_whole: bool) -> Result<(), ModelError> {
        let calls = &mut self.draft.calls;
        let id = piece.id.unwrap_or_default();
        let place = match piece.index {
            _ if is_whole => None,
            Some(_) => calls.iter().rposition(|call| call.index == piece.index),
            None if id.is_empty() => calls.len().checked_sub(1),
            None => calls.iter().rposition(|call| call.id == id),
        };
        let known = place.and_then(|place| calls.get_mut(place));
        let is_same = |call: &&mut DraftCall| id.is_empty() || call.id.is_empty() || call.id == id;
        let call = match known.filter(is_same) {
            Some(call) => call,
            None => self.draft.add(DraftCall { index: piece.index, ..DraftCall::default() })?,
        };
        if call.id.is_empty() {
            call.id = id;
        }
        let function = piece.function.unwrap_or_default();
        if call.name.is_empty() {
            call.name = function.name.unwrap_or_default();
        }
        if let Some(arguments) = function.arguments {
            call.arguments.push_str(&arguments_text(&arguments));
        }
        Ok(())
    }
}

/// The text of arguments: a string says it, and some servers send the object itself.
pub(crate) fn arguments_text(arguments: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<String>(arguments.get()) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(arguments.get()),
    }
}

fn stop(reason: &str) -> Result<Stop, ModelError> {
    match reason {
        "length" | "model_length" | "max_tokens" => Ok(Stop::Length),
        "content_filter" => Ok(Stop::Filter),
        "error" | "insufficient_system_resource" => Err(ModelError::Transient {
            status: None,
            message: format!("the provider broke the answer off: {reason}"),
            retry_after_ms: None,
        }),
        _ => Ok(Stop::End),
    }
}

fn entry(message: &Message) -> Entry<'_> {
    match message {
        Message::System { content } => Entry::System { content },
        Message::User { content } => Entry::User { content },
        Message::Assistant { content, tool_calls } => Entry::Assistant {
            content: Some(content.as_str())
                .filter(|_| !content.is_empty() || tool_calls.is_empty()),
            tool_calls: tool_calls.iter().map(call_entry).collect(),
        },
        Message::Tool { call_id, content, is_error, .. } => Entry::Tool {
            tool_call_id: call_id,
            content: if *is_error {
                Cow::Owned(format!("{FAILED}{content}"))
            } else {
                Cow::Borrowed(content)
            },
        },
    }
}

fn call_entry(call: &Call) -> CallEntry<'_> {
    let function = FunctionEntry { name: name::of_tool(&call.name), arguments: &call.arguments };
    CallEntry { id: &call.id, kind: "function", function }
}

fn tool(spec: &ToolSpec) -> ToolEntry<'_> {
    let (name, description) = (&spec.name, &spec.description);
    let function = FunctionSpec { name, description, parameters: &spec.parameters };
    ToolEntry { kind: "function", function }
}

/// A server refuses a choice without tools; that there is none to call goes without saying.
fn tool_choice(request: &ModelRequest<'_>) -> Option<Value> {
    match request.tool_choice {
        ToolChoice::Auto | ToolChoice::None if request.tools.is_empty() => None,
        ToolChoice::Auto => Some(json!("auto")),
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => {
            Some(json!({ "type": "function", "function": { "name": name } }))
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    // In front of the messages: providers cache by common beginnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Entry<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallEntry<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct CallEntry<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionEntry<'a>,
}

#[derive(Serialize)]
struct FunctionEntry<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionSpec<'a>,
}

#[derive(Serialize)]
struct FunctionSpec<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Deserialize)]
struct Packet {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    message: Option<Said>,
    delta: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<SaidCall>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct SaidCall {
    index: Option<u64>,
    id: Option<String>,
    function: Option<SaidFunction>,
}

#[derive(Deserialize, Default)]
struct SaidFunction {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}
