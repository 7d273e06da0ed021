//! One prompt turn, as the agent reports it, within bounds.

use std::collections::HashMap;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentChunk, MessageId, SessionUpdate, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use probity_core::{Claim, ToolCall, ToolResult};
use probity_delegate::cut_middle;
use serde_json::{Value, json};

use crate::content::{block_text, tool_text};
use crate::permissions::{ToolKind, Wish};
use crate::text::Excerpt;
use crate::tokens::chunk_tokens;

/// Bounds on one tool call: its id, title and name; its arguments; its result; the files it names.
const MAX_WORD_BYTES: usize = 1024;
const MAX_ARGUMENTS_BYTES: usize = 256 * 1024;
const MAX_RESULT_BYTES: usize = 64 * 1024;
const MAX_PATHS: usize = 100;
const MAX_PATH_BYTES: usize = 4096;

/// Arguments that name a file, besides those with `path` in their name.
const FILE_KEYS: [&str; 3] = ["file", "filename", "notebook"];

/// What one turn may keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) max_bytes: usize,
    pub(crate) max_calls: usize,
}

/// What the agent said and did.
#[derive(Debug)]
pub(crate) struct Transcript {
    bounds: Bounds,
    response: Excerpt,
    /// The message that the last chunk belongs to.
    message: Option<MessageId>,
    /// Something came between: what is said next is a new message.
    interrupted: bool,
    calls: Vec<Call>,
    places: HashMap<String, usize>,
    call_bytes: usize,
    /// Calls that found no room.
    left_out: u64,
    /// Calls in the order in which they ended.
    ended: Vec<usize>,
    /// Tokens that the chunks tell of.
    tokens: u64,
}

#[derive(Debug, Clone, Default)]
struct Call {
    id: String,
    name: Option<String>,
    title: String,
    kind: ToolKind,
    paths: Vec<PathBuf>,
    names_more: bool,
    /// It shows a change of a file, or was said to be one at some time.
    changes: bool,
    arguments: Option<Value>,
    /// Files that its arguments name.
    inputs: Vec<PathBuf>,
    content: String,
    raw_output: Option<String>,
    failed: bool,
    ended: bool,
    bytes: usize,
}

impl Transcript {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            response: Excerpt::new(bounds.max_bytes / 2),
            message: None,
            interrupted: false,
            calls: Vec::new(),
            places: HashMap::new(),
            call_bytes: 0,
            left_out: 0,
            ended: Vec::new(),
            tokens: 0,
        }
    }

    pub(crate) fn update(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.say(&chunk),
            SessionUpdate::AgentThoughtChunk(_) => self.interrupted = true,
            SessionUpdate::ToolCall(call) => self.call(call.into()),
            SessionUpdate::ToolCallUpdate(update) => self.call(update),
            _ => {}
        }
    }

    /// What a call that asks for permission is about: what the request tells, and for the rest what
    /// is known of the call. The request counts as a report of the call: some agents make no other.
    pub(crate) fn ask(&mut self, update: ToolCallUpdate) -> Wish {
        let known = self.places.get(&*update.tool_call_id.0).and_then(|&at| self.calls.get(at));
        let mut call = known.cloned().unwrap_or_default();
        call.take(update.fields.clone());
        self.call(update);
        if call.changes {
            let inputs = std::mem::take(&mut call.inputs);
            call.name_files(inputs);
        }
        Wish {
            kind: call.kind,
            title: call.title,
            paths: call.paths,
            names_more: call.names_more,
            changes: call.changes,
        }
    }

    /// Tokens that were told of along the way.
    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The claim, and how many tool calls were made.
    pub(crate) fn finish(self) -> (Claim, u64) {
        let made = u64::try_from(self.calls.len()).unwrap_or(u64::MAX);
        let results = self.ended.iter().filter_map(|&at| self.calls.get(at)).map(Call::result);
        let tool_results = results.collect();
        let tool_calls = self.calls.into_iter().map(Call::into_call).collect();
        let response = self.response.into_text();
        let claim = Claim { response, tool_calls, tool_results, output: None };
        (claim, made.saturating_add(self.left_out))
    }

    fn say(&mut self, chunk: &ContentChunk) {
        self.tokens = self.tokens.saturating_add(chunk_tokens(chunk));
        let text = block_text(&chunk.content);
        if text.is_empty() {
            return;
        }
        let other = chunk.message_id.is_some() && chunk.message_id != self.message;
        if (self.interrupted || other) && !self.response.is_empty() {
            self.response.push("\n\n");
        }
        self.interrupted = false;
        self.message.clone_from(&chunk.message_id);
        self.response.push(&text);
    }

    fn call(&mut self, update: ToolCallUpdate) {
        let id: &str = &update.tool_call_id.0;
        let at = match self.places.get(id) {
            Some(&at) => at,
            None if id.len() > MAX_WORD_BYTES || self.calls.len() >= self.bounds.max_calls => {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
            None => {
                self.interrupted = true;
                self.places.insert(id.to_owned(), self.calls.len());
                self.calls.push(Call { id: id.to_owned(), ..Call::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else { return };
        let before = call.bytes;
        let was_over = call.ended;
        call.take(update.fields);
        let room = (self.bounds.max_bytes / 2).saturating_sub(self.call_bytes - before);
        if call.weigh() > room {
            call.lighten();
        }
        self.call_bytes = self.call_bytes - before + call.weigh();
        if call.ended && !was_over {
            self.ended.push(at);
        }
    }
}

impl Call {
    fn take(&mut self, fields: ToolCallUpdateFields) {
        if let Some(title) = fields.title {
            self.title = cut_middle(&title, MAX_WORD_BYTES).into_owned();
        }
        if let Some(name) = fields.name {
            self.name = Some(cut_middle(&name, MAX_WORD_BYTES).into_owned());
        }
        if let Some(kind) = fields.kind {
            self.kind = kind.into();
            self.changes |= self.kind.changes_files();
        }
        if let Some(content) = fields.content {
            self.content = tool_text(&content, MAX_RESULT_BYTES);
            let diffs: Vec<PathBuf> = content
                .into_iter()
                .filter_map(|content| match content {
                    ToolCallContent::Diff(diff) => Some(diff.path),
                    _ => None,
                })
                .collect();
            self.changes |= !diffs.is_empty();
            self.name_files(diffs);
        }
        if let Some(locations) = fields.locations {
            self.name_files(locations.into_iter().map(|location| location.path));
        }
        if let Some(input) = fields.raw_input {
            self.inputs = files_of(&input);
            let bytes = input.to_string().len();
            self.arguments = (bytes <= MAX_ARGUMENTS_BYTES).then_some(input);
        }
        if let Some(output) = fields.raw_output {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            self.raw_output = Some(cut_middle(&text, MAX_RESULT_BYTES).into_owned());
        }
        match fields.status {
            Some(ToolCallStatus::Completed) => (self.ended, self.failed) = (true, false),
            Some(ToolCallStatus::Failed) => (self.ended, self.failed) = (true, true),
            _ => {}
        }
    }

    /// Adds files to those that the call is known to touch. A file once named stays: a later update
    /// must not take it out of what permission is asked for.
    fn name_files(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if self.paths.contains(&path) {
                continue;
            }
            if self.paths.len() == MAX_PATHS || path.as_os_str().len() > MAX_PATH_BYTES {
                self.names_more = true;
                continue;
            }
            self.paths.push(path);
        }
    }

    fn weigh(&mut self) -> usize {
        let paths = self.paths.iter().chain(&self.inputs);
        let paths: usize = paths.map(|path| path.as_os_str().len()).sum();
        let arguments = self.arguments.as_ref().map_or(0, |value| value.to_string().len());
        let output = self.raw_output.as_ref().map_or(0, String::len);
        self.bytes =
            self.id.len() + self.title.len() + paths + arguments + self.content.len() + output;
        self.bytes
    }

    /// Leaves out what is long.
    fn lighten(&mut self) {
        self.arguments = None;
        self.content.clear();
        self.raw_output = None;
        self.names_more |= self.paths.len() > 1 || !self.inputs.is_empty();
        self.paths.truncate(1);
        self.inputs.clear();
    }

    /// The name that the agent tells; else the kind of the call; else its title.
    fn tool(&self) -> String {
        match (&self.name, self.kind) {
            (Some(name), _) => name.clone(),
            (None, ToolKind::Other) => self.title.clone(),
            (None, kind) => kind.as_str().to_owned(),
        }
    }

    fn result(&self) -> ToolResult {
        let output = self.raw_output.as_deref().unwrap_or_default();
        let content = if self.content.is_empty() { output } else { &self.content };
        ToolResult {
            call_id: self.id.clone(),
            name: self.tool(),
            content: content.to_owned(),
            is_error: self.failed,
        }
    }

    fn into_call(self) -> ToolCall {
        let name = self.tool();
        let arguments = self.arguments.unwrap_or_else(|| {
            let paths: Vec<_> = self.paths.iter().map(|path| path.to_string_lossy()).collect();
            json!({ "title": self.title, "locations": paths })
        });
        ToolCall { id: self.id, name, arguments }
    }
}

/// The files that the arguments of a call name at the top, by the words that agents have for it. One
/// too many of them is kept, so that it is seen that there are more.
fn files_of(input: &Value) -> Vec<PathBuf> {
    let names_file = |key: &str| {
        let key = key.to_ascii_lowercase();
        key.contains("path") || FILE_KEYS.contains(&key.as_str())
    };
    let entries = input.as_object().into_iter().flatten();
    let texts = entries.filter(|(key, _)| names_file(key)).filter_map(|(_, value)| value.as_str());
    // Longer than any path is as good as one that is too long.
    let bounded = texts.map(|text| cut_middle(text, 2 * MAX_PATH_BYTES).into_owned());
    bounded.filter(|text| !text.is_empty()).take(MAX_PATHS + 1).map(PathBuf::from).collect()
}
