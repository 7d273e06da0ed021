//! The messages of Anthropic.

use std::borrow::Cow;

use probity_chat::{
    Call, Message, ModelError, ModelRequest, Stop, TokenUsage, ToolChoice, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::EndpointConfig;
use crate::draft::{Draft, DraftCall, unreadable};
use crate::exchange::{Assemble, cut_short, in_band};
use crate::name;
use crate::openai::arguments_text;
use crate::sse::Event;

/// Where a conversation is posted, behind the base URL.
pub(crate) const PATH: &str = "messages";
/// The version of the protocol that is spoken.
pub(crate) const VERSION: &str = "2023-06-01";
/// The longest answer where the configuration names none: the protocol wants a number, and every
/// model that is still served takes this one.
pub(crate) const MAX_TOKENS: u32 = 8192;

/// How deep arguments may be nested and go back as they are: servers read JSON up to a depth of 128,
/// and the request is around them.
const MAX_DEPTH: usize = 100;
/// In place of a turn of the user in which no character shows.
const BLANK: &str = "(nothing)";

/// The body of a request.
pub(crate) fn body(
    config: &EndpointConfig,
    request: &ModelRequest<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let system = request.messages.iter().filter_map(|message| match message {
        Message::System { content } => Some(content.as_str()),
        _ => None,
    });
    let system = system.collect::<Vec<_>>().join("\n\n");
    let tools = tools(request);
    serde_json::to_vec(&Body {
        model: &config.model,
        stream: config.stream,
        max_tokens: config.max_output_tokens.unwrap_or(MAX_TOKENS),
        tool_choice: tool_choice(request, tools.is_empty()),
        tools,
        system: Some(system).filter(|system| !system.is_empty()),
        messages: turns(request.messages),
        temperature: config.temperature,
    })
}

/// Reads a whole answer.
pub(crate) fn read(body: &[u8]) -> Result<Draft, ModelError> {
    let whole: Whole = serde_json::from_slice(body)
        .map_err(|e| unreadable(format!("the answer is not a message: {e}")))?;
    if let Some(error) = whole.error {
        return Err(in_band(&error));
    }
    let blocks = whole.content.ok_or_else(|| unreadable("the answer has no content"))?;
    let mut reading = Reading::default();
    for block in blocks {
        reading.start(None, block)?;
    }
    if let Some(reason) = whole.stop_reason {
        reading.draft.stop = Some(stop(&reason));
    }
    reading.usage.merge(whole.usage);
    Ok(reading.done())
}

/// An answer that arrives in pieces, or whole.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    draft: Draft,
    usage: Usage,
    is_done: bool,
}

impl Assemble for Reading {
    fn event(&mut self, event: &Event) -> Result<bool, ModelError> {
        let packet: Packet = serde_json::from_str(&event.data)
            .map_err(|e| unreadable(format!("the stream is not made of messages: {e}")))?;
        if let Some(error) = packet.error {
            return Err(in_band(&error));
        }
        match packet.kind.as_str() {
            "message_start" => self.usage.merge(packet.message.and_then(|start| start.usage)),
            "content_block_start" => {
                if let Some(block) = packet.content_block {
                    self.start(packet.index, block)?;
                }
            }
            "content_block_delta" => self.piece(packet.index, packet.delta.unwrap_or_default())?,
            "message_delta" => {
                self.usage.merge(packet.usage);
                if let Some(reason) = packet.delta.and_then(|delta| delta.stop_reason) {
                    self.draft.stop = Some(stop(&reason));
                }
            }
            "message_stop" => self.is_done = true,
            // `ping`, and what newer versions add.
            _ => {}
        }
        Ok(self.is_done)
    }

    fn finish(self: Box<Self>) -> Result<Draft, ModelError> {
        if self.draft.stop.is_none() && !(self.is_done && self.draft.has_words()) {
            return Err(cut_short());
        }
        Ok(self.done())
    }
}

impl Reading {
    /// Takes the beginning of a block in; in a whole answer that is all of it. Blocks of other
    /// kinds, such as reasoning, are not part of a reply.
    fn start(&mut self, index: Option<u64>, block: Block) -> Result<(), ModelError> {
        match block.kind.as_str() {
            "text" => self.draft.text.push_str(&block.text.unwrap_or_default()),
            "tool_use" => {
                // A stream begins with an empty object and sends the text behind it.
                let arguments = match block.input {
                    Some(input) if !is_empty_object(&input) => arguments_text(&input).into_owned(),
                    _ => String::new(),
                };
                let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
                self.draft.add(DraftCall { index, id, name, arguments })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn piece(&mut self, index: Option<u64>, delta: Delta) -> Result<(), ModelError> {
        if let Some(text) = delta.text {
            self.draft.text.push_str(&text);
        }
        if let Some(json) = delta.partial_json {
            // Input of a block of another kind, such as a tool of the provider's own, has no call.
            if let Some(call) = self.draft.calls.iter_mut().rfind(|call| call.index == index) {
                call.arguments.push_str(&json);
            }
        }
        Ok(())
    }

    fn done(self) -> Draft {
        let mut draft = self.draft;
        for call in draft.calls.iter_mut().filter(|call| call.arguments.is_empty()) {
            call.arguments.push_str("{}");
        }
        draft.usage = self.usage.total();
        draft
    }
}

impl Usage {
    fn merge(&mut self, later: Option<Self>) {
        let later = later.unwrap_or_default();
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens =
            later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens =
            later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
    }

    /// What is read from a cache is read, too.
    fn total(&self) -> TokenUsage {
        let read =
            [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        TokenUsage {
            input: read.into_iter().flatten().fold(0, u64::saturating_add),
            output: self.output_tokens.unwrap_or_default(),
        }
    }
}

fn is_empty_object(value: &RawValue) -> bool {
    serde_json::from_str::<Map<String, Value>>(value.get()).is_ok_and(|map| map.is_empty())
}

fn stop(reason: &str) -> Stop {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Filter,
        _ => Stop::End,
    }
}

/// The conversation in turns: user and assistant alternate, results of tools are the user's. A text
/// without a character that shows is refused: the assistant's is left out, the user's is replaced.
fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let (role, content) = match message {
            Message::System { .. } => continue,
            Message::User { content } => {
                ("user", vec![text(content).unwrap_or(Said::Text { text: BLANK })])
            }
            Message::Assistant { content, tool_calls } => (
                "assistant",
                text(content).into_iter().chain(tool_calls.iter().map(use_of)).collect(),
            ),
            Message::Tool { call_id, content, is_error, .. } => {
                let content = Some(content.as_str()).filter(|content| !content.is_empty());
                let tool_use_id = name::of_call(call_id);
                let result = Said::ToolResult { tool_use_id, content, is_error: *is_error };
                ("user", vec![result])
            }
        };
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.content.extend(content),
            _ if content.is_empty() => {}
            _ => turns.push(Turn { role, content }),
        }
    }
    turns
}

fn text(text: &str) -> Option<Said<'_>> {
    (!text.trim().is_empty()).then_some(Said::Text { text })
}

fn use_of(call: &Call) -> Said<'_> {
    let (id, name) = (name::of_call(&call.id), name::of_tool(&call.name));
    Said::ToolUse { id, name, input: Input::of(&call.arguments) }
}

impl<'a> Input<'a> {
    /// The protocol wants an object. What is none, or none that a server can read, goes back as the
    /// text that it is, under the key that Anthropic names for it.
    fn of(arguments: &'a str) -> Self {
        if arguments.trim().is_empty() {
            return Self::Empty {};
        }
        match serde_json::from_str::<&RawValue>(arguments) {
            Ok(raw) if is_readable(raw.get()) => Self::Object(raw),
            _ => Self::Text { text: arguments },
        }
    }
}

/// Whether JSON is an object that any server can read: a number out of range, half of a character or
/// too many brackets are legal and refused.
fn is_readable(json: &str) -> bool {
    depth(json) <= MAX_DEPTH && serde_json::from_str::<Map<String, Value>>(json).is_ok()
}

/// How deep the brackets of valid JSON are nested.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The tools that may be called. Where there are none and calls were made, those that were called:
/// the protocol takes no calls without their tools.
fn tools<'a>(request: &ModelRequest<'a>) -> Vec<ToolEntry<'a>> {
    if !request.tools.is_empty() {
        return request.tools.iter().map(tool).collect();
    }
    let calls = request.messages.iter().flat_map(|message| match message {
        Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    });
    let mut tools: Vec<ToolEntry<'a>> = Vec::new();
    for name in calls.map(|call| name::of_tool(&call.name)) {
        if tools.iter().all(|tool| tool.name != name) {
            let input_schema = Cow::Owned(json!({ "type": "object" }));
            tools.push(ToolEntry { name, description: "Not there any more.", input_schema });
        }
    }
    tools
}

fn tool(spec: &ToolSpec) -> ToolEntry<'_> {
    let (name, description) = (Cow::Borrowed(spec.name.as_str()), spec.description.as_str());
    ToolEntry { name, description, input_schema: Cow::Borrowed(&spec.parameters) }
}

fn tool_choice(request: &ModelRequest<'_>, names_none: bool) -> Option<Value> {
    match request.tool_choice {
        ToolChoice::Auto | ToolChoice::None if names_none => None,
        ToolChoice::Auto if request.tools.is_empty() => Some(json!({ "type": "none" })),
        ToolChoice::Auto => Some(json!({ "type": "auto" })),
        ToolChoice::None => Some(json!({ "type": "none" })),
        ToolChoice::Required => Some(json!({ "type": "any" })),
        ToolChoice::Named(name) => Some(json!({ "type": "tool", "name": name })),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u32,
    // In front of the messages: providers cache by common beginnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Said<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Object(&'a RawValue),
    Text {
        #[serde(rename = "INVALID_JSON")]
        text: &'a str,
    },
    Empty {},
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: Cow<'a, Value>,
}

#[derive(Deserialize)]
struct Whole {
    content: Option<Vec<Block>>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Packet {
    #[serde(rename = "type", default)]
    kind: String,
    message: Option<Start>,
    index: Option<u64>,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Usage>,
}

#[derive(Deserialize, Default)]
struct Delta {
    text: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Deserialize, Default)]
struct Usage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}
