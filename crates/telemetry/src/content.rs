//! Content beside what the log says: names of tools, reasons, answers. Read only where that was asked
//! for; otherwise no blob is opened.

use std::collections::BTreeMap;

use probity_core::Digest;
use probity_store::Store;
use serde_json::Value as Json;

use crate::key;
use crate::signal::{Attribute, Content, ContentKind, Metric, Point, Signal, as_value};

/// How much of a run's content is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capture {
    /// None: what is sent is what the log's events hold.
    #[default]
    Nothing,
    /// Names of tools, ids of their calls, and tokens of models by direction.
    Names,
    /// Reasons, faults, answers, arguments and results as well, each cut.
    Content,
}

/// The longest text that is sent, in bytes.
const MAX_TEXT_BYTES: usize = 4096;
/// The longest blob that is read for it, in bytes.
const MAX_READ_BYTES: u64 = 1024 * 1024;
/// The most calls that are remembered until they return.
const MAX_CALLS: usize = 1024;

/// Reads the content of one run.
#[derive(Debug, Default)]
pub(crate) struct ContentReader {
    /// Calls of tools that a model announced: name and arguments, by id.
    calls: BTreeMap<String, (String, String)>,
}

impl ContentReader {
    /// Adds to a signal what may be said of its content. Points come behind the signal.
    pub(crate) async fn fill(
        &mut self,
        store: &dyn Store,
        capture: Capture,
        kind: &str,
        signal: &mut Signal,
    ) -> Vec<Signal> {
        let (content, is_evaluated) = match signal {
            Signal::Span(span) => (std::mem::take(&mut span.content), !span.events.is_empty()),
            Signal::Log(log) => (std::mem::take(&mut log.content), false),
            Signal::Point(_) => return Vec::new(),
        };
        let (mut said, mut points) = (Vec::new(), Vec::new());
        for Content { kind: what, digest } in content {
            if capture < what.least() {
                continue;
            }
            let Some(bytes) = read(store, digest).await else { continue };
            match what {
                ContentKind::Reason => {
                    let text = String::from_utf8_lossy(&bytes);
                    said.push(text_of(key::GEN_AI_EVALUATION_EXPLANATION, &text));
                }
                ContentKind::Fault => {
                    let message = json(&bytes).and_then(|it| string(&it, "message"));
                    let message = message.unwrap_or_default();
                    said.push(text_of(key::GEN_AI_EVALUATION_EXPLANATION, &message));
                }
                ContentKind::Claim => {
                    let claim = json(&bytes).and_then(|it| it.get("claim").cloned());
                    let response = claim.and_then(|claim| string(&claim, "response"));
                    said.extend(response.map(|text| text_of(key::RESPONSE, &text)));
                }
                ContentKind::ModelNote => self.model(&bytes, kind, &mut said, &mut points),
                ContentKind::ToolNote => self.tool(&bytes, capture, &mut said),
            }
        }
        match signal {
            Signal::Span(span) => {
                if is_evaluated {
                    let events = span.events.iter_mut();
                    events.for_each(|event| event.attributes.extend(said.iter().cloned()));
                }
                span.attributes.extend(said);
            }
            Signal::Log(log) => log.attributes.extend(said),
            Signal::Point(_) => {}
        }
        points
    }

    fn model(
        &mut self,
        bytes: &[u8],
        kind: &str,
        said: &mut Vec<Attribute>,
        points: &mut Vec<Signal>,
    ) {
        let reply = json(bytes).and_then(|note| note.get("reply").cloned());
        let Some(reply) = reply else { return };
        for call in reply.get("tool_calls").and_then(Json::as_array).into_iter().flatten() {
            let (id, name) = (string(call, "id"), string(call, "name"));
            if let (Some(id), Some(name)) = (id, name)
                && self.calls.len() < MAX_CALLS
            {
                let arguments = string(call, "arguments").unwrap_or_default();
                self.calls.insert(id, (name, arguments));
            }
        }
        let sides = [("input", key::GEN_AI_INPUT_TOKENS), ("output", key::GEN_AI_OUTPUT_TOKENS)];
        for (side, key) in sides {
            let tokens = reply.pointer(&format!("/usage/{side}")).and_then(Json::as_u64);
            let Some(tokens) = tokens else { continue };
            said.push(Attribute::number(key, tokens));
            let labels = ["chat", side, kind].map(str::to_owned).to_vec();
            let value = as_value(tokens);
            points.push(Signal::Point(Point { metric: Metric::GenAiTokens, value, labels }));
        }
    }

    fn tool(&mut self, bytes: &[u8], capture: Capture, said: &mut Vec<Attribute>) {
        let Some(note) = json(bytes) else { return };
        let Some(id) = string(&note, "call_id") else { return };
        let is_done = note.get("output").is_some();
        let call = if is_done { self.calls.remove(&id) } else { self.calls.get(&id).cloned() };
        said.push(text_of(key::GEN_AI_TOOL_CALL_ID, &id));
        if let Some((name, arguments)) = call {
            said.push(text_of(key::GEN_AI_TOOL_NAME, &name));
            if capture == Capture::Content {
                said.push(text_of(key::GEN_AI_TOOL_ARGUMENTS, &arguments));
            }
        }
        let result = note.pointer("/output/content").and_then(Json::as_str);
        if let Some(result) = result.filter(|_| capture == Capture::Content) {
            said.push(text_of(key::GEN_AI_TOOL_RESULT, result));
        }
    }
}

impl ContentKind {
    /// The least that must have been asked for.
    const fn least(self) -> Capture {
        match self {
            Self::ModelNote | Self::ToolNote => Capture::Names,
            Self::Reason | Self::Fault | Self::Claim => Capture::Content,
        }
    }
}

async fn read(store: &dyn Store, digest: Digest) -> Option<Vec<u8>> {
    store.get(&digest, MAX_READ_BYTES).await.ok().flatten()
}

fn json(bytes: &[u8]) -> Option<Json> {
    serde_json::from_slice(bytes).ok()
}

fn string(value: &Json, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn text_of(key: &'static str, text: &str) -> Attribute {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    Attribute::text(key, text.get(..end).unwrap_or_default())
}
