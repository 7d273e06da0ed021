//! How a command-line agent is called, as a project file says it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Format;

/// Wall time for one attempt when nothing else is said: one hour.
pub const DEFAULT_TIMEOUT_MS: u64 = 3_600_000;

/// Bytes of standard output that are read when nothing else is said: 16 MiB.
pub const DEFAULT_MAX_OUTPUT_BYTES: usize = 16 * 1024 * 1024;

/// Time between SIGTERM and SIGKILL when nothing else is said: two seconds.
pub const DEFAULT_TERM_GRACE_MS: u64 = 2_000;

/// A command-line agent.
///
/// In `argv` and `resume` these are replaced, in one pass, so that what they stand for is never
/// read as a placeholder again: `{prompt}` the whole prompt, `{task}` the task alone, `{session}`
/// the agent's own session id, `{attempt}` the 1-based attempt, `{run}` the run id. Any other text
/// in braces stays as it is. Without `{prompt}` the prompt goes to standard input.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandConfig {
    /// Program and arguments of the first attempt, and of every one without `resume`.
    pub argv: Vec<String>,
    /// Program and arguments that continue the conversation, from the second attempt on. Used when
    /// it does not need `{session}`, or the agent told its session id.
    #[serde(default)]
    pub resume: Option<Vec<String>>,
    /// What the agent writes to standard output.
    #[serde(default)]
    pub format: Format,
    /// What a failure of the program means.
    #[serde(default)]
    pub on_error: OnError,
    /// Variables set on top of the caller's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Wall time for one attempt; a shorter bound of the request wins.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Bytes of standard output that are read. Of more, beginning and end are kept.
    #[serde(default = "default_max_output_bytes")]
    pub max_output_bytes: usize,
    /// Time between SIGTERM and SIGKILL on timeout and cancel.
    #[serde(default = "default_term_grace_ms")]
    pub term_grace_ms: u64,
}

const fn default_timeout_ms() -> u64 {
    DEFAULT_TIMEOUT_MS
}

const fn default_max_output_bytes() -> usize {
    DEFAULT_MAX_OUTPUT_BYTES
}

const fn default_term_grace_ms() -> u64 {
    DEFAULT_TERM_GRACE_MS
}

impl CommandConfig {
    /// A command with the defaults: prompt as the templates say, plain text, failures fail.
    pub fn new<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            resume: None,
            format: Format::default(),
            on_error: OnError::default(),
            env: BTreeMap::new(),
            timeout_ms: DEFAULT_TIMEOUT_MS,
            max_output_bytes: DEFAULT_MAX_OUTPUT_BYTES,
            term_grace_ms: DEFAULT_TERM_GRACE_MS,
        }
    }

    /// The configuration for a well-known agent, by the name of its program: `claude`, `codex`,
    /// `gemini`, `opencode` or `qwen`. Each may edit files in the workspace without asking, reports
    /// what it does, and is resumed on a retry. `None` for any other name.
    #[must_use]
    pub fn known(name: &str) -> Option<Self> {
        let (format, argv, resume) = match name {
            "claude" => (
                Format::Claude,
                "claude -p --output-format stream-json --verbose --permission-mode acceptEdits",
                "claude -p --output-format stream-json --verbose --permission-mode acceptEdits \
                 --resume {session}",
            ),
            "codex" => (
                Format::Codex,
                "codex exec --json --sandbox workspace-write -",
                "codex exec --json --sandbox workspace-write resume {session} -",
            ),
            "gemini" => (
                Format::Gemini,
                "gemini --output-format stream-json --approval-mode auto_edit --skip-trust",
                "gemini --output-format stream-json --approval-mode auto_edit --skip-trust \
                 --resume {session}",
            ),
            "opencode" => (
                Format::Opencode,
                "opencode run --format json",
                "opencode run --format json --session {session}",
            ),
            "qwen" => (
                Format::Claude,
                "qwen --output-format stream-json --approval-mode auto-edit",
                "qwen --output-format stream-json --approval-mode auto-edit --resume {session}",
            ),
            _ => return None,
        };
        let resume = resume.split_whitespace().map(str::to_owned).collect();
        Some(Self { format, resume: Some(resume), ..Self::new(argv.split_whitespace()) })
    }

    /// Checks what can be checked without running anything.
    ///
    /// # Errors
    /// [`ConfigError`] names the first thing that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.timeout_ms == 0 {
            return Err(ConfigError::NoTime);
        }
        let templates = [("argv", Some(&self.argv)), ("resume", self.resume.as_ref())].into_iter();
        for (key, argv) in templates.filter_map(|(key, argv)| Some((key, argv?))) {
            if argv.first().is_none_or(String::is_empty) {
                return Err(ConfigError::Empty { key });
            }
            if let Some(argument) = shell_text(argv).filter(|text| holds_foreign_text(text)) {
                return Err(ConfigError::Shell { key, argument: argument.clone() });
            }
        }
        if self.argv.iter().any(|argument| argument.contains("{session}")) {
            return Err(ConfigError::SessionTooEarly);
        }
        Ok(())
    }
}

/// The argument that a shell would run as a program, if `argv` calls one.
fn shell_text(argv: &[String]) -> Option<&String> {
    let program = Path::new(argv.first()?).file_name()?.to_str()?;
    if !matches!(program, "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish") {
        return None;
    }
    let flag = argv.iter().position(|arg| arg.starts_with('-') && arg.ends_with('c'))?;
    argv.get(flag + 1)
}

/// Whether text from elsewhere would land in `argument`.
fn holds_foreign_text(argument: &str) -> bool {
    ["{prompt}", "{task}", "{session}"].iter().any(|name| argument.contains(name))
}

/// What a failure of the program means: a nonzero exit, a signal, or an error in its own output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// There is no claim.
    #[default]
    Fail,
    /// What it wrote is its claim: it may have done the work before it failed.
    Claim,
}

/// A command that cannot work as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is nothing to run.
    #[error("`{key}` names no program; give at least one word")]
    Empty {
        /// The key.
        key: &'static str,
    },
    /// Text from elsewhere would be run by a shell.
    #[error(
        "`{key}` puts a placeholder into shell text `{argument}`, where it would be run as code; \
         pass it as an argument of its own and use \"$1\", or read it from standard input"
    )]
    Shell {
        /// The key.
        key: &'static str,
        /// The argument.
        argument: String,
    },
    /// The first attempt has no session yet.
    #[error("`argv` uses `{{session}}`, which is not known before the first answer; use `resume`")]
    SessionTooEarly,
    /// No attempt could end in time.
    #[error("`timeout_ms` is 0; leave it out for {DEFAULT_TIMEOUT_MS}")]
    NoTime,
}
