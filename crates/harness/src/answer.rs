//! What a hook says back, in the protocol of its tool.

use probity_core::is_hidden;
use serde_json::{Value, json};

use crate::tool::{Role, Tool};

/// The longest text of an answer, in bytes.
pub const MAX_ANSWER_BYTES: usize = 8 * 1024;

/// An answer, whatever the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The tool goes on, and nothing is said.
    Allow,
    /// The tool goes on, and the user is told.
    Note(String),
    /// The agent may not stop, or the task is not done; it is told why.
    Block(String),
    /// The agent may not use the tool, or only if the user agrees.
    Deny(String),
}

/// What a process writes and ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// To standard output.
    pub stdout: String,
    /// To standard error.
    pub stderr: String,
    /// Its exit code.
    pub exit_code: u8,
}

/// The exit code with which a hook of a task blocks; what it writes to standard error is the reason.
const EXIT_BLOCK: u8 = 2;

/// Says an answer as the tool expects it. A text is cut at [`MAX_ANSWER_BYTES`], and what a terminal would
/// obey is replaced. An answer that an event of that role does not take is said as a note.
#[must_use]
pub fn speak(tool: Tool, role: Role, answer: &Answer) -> Spoken {
    match answer {
        Answer::Allow => said(&json!({})),
        Answer::Note(text) => noted(&clean(text)),
        Answer::Block(text) if !role.is_claim() => noted(&clean(text)),
        Answer::Block(text) if role == Role::Task => {
            Spoken { stdout: String::new(), stderr: clean(text) + "\n", exit_code: EXIT_BLOCK }
        }
        Answer::Block(text) => said(&json!({"decision": refusal(tool), "reason": clean(text)})),
        Answer::Deny(text) if role != Role::Guard => noted(&clean(text)),
        Answer::Deny(text) => said(&denied(tool, &clean(text))),
    }
}

/// Claude Code and Codex know `block`; Gemini CLI takes it as another word for its own.
const fn refusal(tool: Tool) -> &'static str {
    match tool {
        Tool::ClaudeCode | Tool::Codex => "block",
        Tool::Gemini => "deny",
    }
}

fn denied(tool: Tool, text: &str) -> Value {
    let decision = match tool {
        // The user may want the agent to write checks; without a user, asking is refusing.
        Tool::ClaudeCode => "ask",
        Tool::Codex => "deny",
        Tool::Gemini => return json!({"decision": "deny", "reason": text}),
    };
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": text,
    }})
}

/// Standard error, too: without a terminal, no tool shows the message.
fn noted(text: &str) -> Spoken {
    Spoken { stderr: format!("{text}\n"), ..said(&json!({"systemMessage": text})) }
}

fn said(value: &Value) -> Spoken {
    Spoken { stdout: format!("{value}\n"), stderr: String::new(), exit_code: 0 }
}

fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(MAX_ANSWER_BYTES));
    for c in text.trim_end().chars() {
        let c = if is_hidden(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
        if clean.len() + c.len_utf8() > MAX_ANSWER_BYTES {
            clean.push_str(" [cut]");
            break;
        }
        clean.push(c);
    }
    clean
}
