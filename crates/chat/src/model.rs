//! The contract with a chat model.

use async_trait::async_trait;
use probity_core::{RunId, Turn};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Call, Message, ToolSpec};

/// A chat model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Answers a conversation, once: retries are the caller's.
    ///
    /// # Errors
    /// [`ModelError`], which says whether asking again may help.
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError>;

    /// Which model it is, such as `gpt-5.2 at https://api.openai.com/v1`: for people, and to tell a
    /// critic from the actor that it judges. No secrets.
    fn identity(&self) -> String;
}

/// One call of a model. Borrowed, so that asking costs no copy of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The run, for logs and scripted models.
    pub run: &'a RunId,
    /// The round of the run.
    pub turn: Turn,
    /// 0-based number of this call among the recorded ones of the run. A call that was interrupted
    /// keeps its number.
    pub number: u32,
    /// The conversation so far. Every call of an assistant message is answered.
    pub messages: &'a [Message],
    /// The tools that may be called.
    pub tools: &'a [ToolSpec],
    /// Whether they must be.
    pub tool_choice: ToolChoice<'a>,
    /// Cancelled when the answer is not wanted any more.
    pub cancel: &'a CancellationToken,
}

/// Whether the model may, must or must not call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice<'a> {
    /// As it likes.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(&'a str),
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelReply {
    /// Its text; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools it calls, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost.
    #[serde(default)]
    pub usage: TokenUsage,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It was done, or wants tools called.
    End,
    /// Its answer was cut at the longest length allowed.
    Length,
    /// Its provider withheld the answer.
    Filter,
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenUsage {
    /// Read.
    pub input: u64,
    /// Written, reasoning included.
    pub output: u64,
}

impl ModelReply {
    /// An answer that is only text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tool_calls: Vec::new(),
            stop: Stop::End,
            usage: TokenUsage::default(),
        }
    }

    /// An answer that only calls tools.
    #[must_use]
    pub fn calls(tool_calls: impl IntoIterator<Item = Call>) -> Self {
        Self { tool_calls: tool_calls.into_iter().collect(), ..Self::text("") }
    }
}

impl TokenUsage {
    /// All of them.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// A model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider refused the request: wrong key, wrong request, no such model. Asking again
    /// would be refused again.
    #[error("the model's provider refused the request{}: {message}", .status.map(|s| format!(" with status {s}")).unwrap_or_default())]
    Refused {
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// The provider's words, cut to 2 KiB, without secrets.
        message: String,
    },
    /// The provider was out of reach, overloaded or broken for the moment.
    #[error("the model's provider did not answer{}: {message}", .status.map(|s| format!(" (status {s})")).unwrap_or_default())]
    Transient {
        /// The HTTP status, where there was one: 408, 409, 425, 429 or 5xx.
        status: Option<u16>,
        /// The provider's words, cut to 2 KiB.
        message: String,
        /// When the provider wants to be asked again, in milliseconds from now.
        retry_after_ms: Option<u64>,
    },
    /// The provider answered something that is no answer.
    #[error("the model's answer cannot be read: {message}")]
    Unreadable {
        /// What is wrong with it.
        message: String,
    },
    /// The answer was not wanted any more.
    #[error("the call was cancelled")]
    Cancelled,
}

impl ModelError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "model_refused",
            Self::Transient { .. } => "model_unavailable",
            Self::Unreadable { .. } => "model_unreadable",
            Self::Cancelled => "delegate_cancelled",
        }
    }

    /// Whether asking again may help. An unreadable answer is sampled anew.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. } | Self::Unreadable { .. })
    }
}
