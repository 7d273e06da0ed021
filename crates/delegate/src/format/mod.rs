//! What command-line agents write, read into a claim.
//!
//! Readers take what is there and add nothing: an agent that reports no final text has an empty
//! response, one that reports no calls has none. Line types they do not know are skipped, because
//! agents add new ones all the time; lines that are not JSON at all are errors.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod records;

use std::collections::HashMap;

use probity_core::{Claim, ToolCall, ToolResult};
use probity_sandbox::Captured;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delegate::DelegateError;

/// What an agent writes to its standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Plain text: the response is all of it, without white space at the end.
    #[default]
    Text,
    /// One of the others, by the first line; text when it is none of them.
    Auto,
    /// `claude -p --output-format stream-json --verbose` or `json`, and agents that write alike.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `gemini --output-format stream-json` or `json`.
    Gemini,
    /// `opencode run --format json`.
    Opencode,
}

impl Format {
    /// The word in project files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Auto => "auto",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// What a program claims that wrote this and ended by itself, as [`crate::CommandDelegate`] reads it.
    ///
    /// # Errors
    /// [`DelegateError::Output`] where it is none of this format.
    pub fn claim(self, stdout: &Captured) -> Result<Claim, DelegateError> {
        self.read(stdout, false).map(|reading| reading.claim)
    }

    /// Reads what a program wrote. `killed` says that a signal ended it, so that its last line may
    /// be cut short.
    pub(crate) fn read(self, stdout: &Captured, killed: bool) -> Result<Reading, DelegateError> {
        let format = if self == Self::Auto { detect(stdout) } else { self };
        if format == Self::Text {
            let mut reading = Reading::default();
            stdout.text().trim_end().clone_into(&mut reading.claim.response);
            return Ok(reading);
        }
        let records = records::read(stdout, killed)
            .map_err(|detail| DelegateError::Output { format: format.as_str(), detail })?;
        let mut reading = Reading::default();
        match format {
            Self::Claude => claude::read(&records, &mut reading),
            Self::Codex => codex::read(&records, &mut reading),
            Self::Opencode => opencode::read(&records, &mut reading),
            Self::Text | Self::Auto | Self::Gemini => gemini::read(&records, &mut reading),
        }
        Ok(reading)
    }
}

/// The format of the first JSON object, or text.
fn detect(stdout: &Captured) -> Format {
    let Some(first) = records::first(stdout) else { return Format::Text };
    match first.get("type").and_then(Value::as_str) {
        Some("system" | "assistant" | "user" | "result") if has(&first, "session_id") => {
            Format::Claude
        }
        Some(kind) if kind.starts_with("thread.") || kind.starts_with("turn.") => Format::Codex,
        Some(kind) if kind.starts_with("item.") && has(&first, "item") => Format::Codex,
        Some("init") if has(&first, "session_id") => Format::Gemini,
        Some(_) if has(&first, "sessionID") && (has(&first, "part") || has(&first, "error")) => {
            Format::Opencode
        }
        None if has(&first, "stats") && (has(&first, "response") || has(&first, "error")) => {
            Format::Gemini
        }
        _ => Format::Text,
    }
}

fn has(value: &Value, key: &str) -> bool {
    value.get(key).is_some()
}

/// What a reader found.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) claim: Claim,
    pub(crate) session: Option<String>,
    pub(crate) tokens: u64,
    /// As the agent counts them; it may not list them.
    pub(crate) tool_calls: u64,
    /// What the agent says went wrong with the whole attempt.
    pub(crate) error: Option<String>,
    /// Where each call is in the claim.
    calls: HashMap<String, usize>,
}

impl Reading {
    /// Records a call once, however often it is reported.
    fn call(&mut self, id: &str, name: &str, arguments: &Value) {
        if !id.is_empty() && self.calls.contains_key(id) {
            return;
        }
        self.calls.insert(id.to_owned(), self.claim.tool_calls.len());
        self.claim.tool_calls.push(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.clone(),
        });
    }

    /// Records a result under the name that its call had.
    fn result(&mut self, call_id: &str, content: String, is_error: bool) {
        let call = self.calls.get(call_id).and_then(|&index| self.claim.tool_calls.get(index));
        self.claim.tool_results.push(ToolResult {
            call_id: call_id.to_owned(),
            name: call.map(|call| call.name.clone()).unwrap_or_default(),
            content,
            is_error,
        });
    }
}

/// The text of `value[key]`; empty when it is not text.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The number at `value[key]`; 0 when it is none.
fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// A tool's result as text: text as it is, content blocks one under the other with the kind of
/// those that are not text, anything else as JSON.
fn content_text(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) if blocks.iter().all(|block| has(block, "type")) => {
            let texts: Vec<String> = blocks
                .iter()
                .map(|block| match text(block, "type") {
                    "text" => text(block, "text").to_owned(),
                    kind => format!("[{kind}]"),
                })
                .collect();
            texts.join("\n")
        }
        other => other.to_string(),
    }
}
