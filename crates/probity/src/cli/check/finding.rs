//! What one thing came to, and how that is said.

use serde::Serialize;

use crate::cli::present::{self, Style, Tone};

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// In order.
    Ok,
    /// Works, and is weak.
    Warning,
    /// A run with it would not start, or would fault.
    Error,
}

/// One thing that was checked.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// The file, and what of it.
    pub(super) name: String,
    pub(super) state: State,
    /// What is wrong, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
    pub(super) message: String,
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Checked {
    pub(super) ok: bool,
    pub(super) findings: Vec<Finding>,
}

impl Checked {
    /// Something is in order.
    pub(super) fn ok(&mut self, name: String, message: impl Into<String>) {
        self.push(name, State::Ok, "", message.into());
    }

    /// Something is not.
    pub(super) fn error(&mut self, name: String, code: &str, message: impl Into<String>) {
        self.push(name, State::Error, code, message.into());
    }

    /// Something is weak.
    pub(super) fn warning(&mut self, name: String, code: &str, message: impl Into<String>) {
        self.push(name, State::Warning, code, message.into());
    }

    fn push(&mut self, name: String, state: State, code: &str, message: String) {
        let code = Some(code.to_owned()).filter(|code| !code.is_empty());
        self.findings.push(Finding { name, state, code, message });
    }

    /// How many things are not in order so far.
    pub(super) fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.state == State::Error).count()
    }

    /// As text, each line ended.
    pub(super) fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let (word, tone) = match finding.state {
                State::Ok => ("ok", Tone::Good),
                State::Warning => ("warning", Tone::Warn),
                State::Error => ("error", Tone::Bad),
            };
            let word = style.paint(tone, &format!("{word:7}"));
            let code = finding.code.as_ref().map_or_else(String::new, |code| format!("  [{code}]"));
            let mut message = present::block(&finding.message).into_iter();
            let first = message.next().unwrap_or_default();
            let name = present::line(&finding.name);
            text.push_str(&format!("{word}  {name}  {first}{code}\n"));
            message.for_each(|more| text.push_str(&format!("         {more}\n")));
        }
        text
    }
}
