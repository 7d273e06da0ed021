//! A request to a model that owns what it says.

use probity_chat::{Message, ModelRequest, ToolChoice, ToolSpec};
use probity_core::{NameError, RunId, Turn};
use tokio_util::sync::CancellationToken;

/// A request to a model that owns what it says: to ask a model in a test, and what a
/// [`ScriptedModel`](crate::ScriptedModel) remembers of being asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The run.
    pub run: RunId,
    /// The round of the run.
    pub turn: Turn,
    /// 0-based number of the call among the recorded ones of the run.
    pub number: u32,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that may be called.
    pub tools: Vec<ToolSpec>,
    /// Whether they must be.
    pub choice: Choice,
    /// Cancelled when the answer is not wanted any more.
    pub cancel: CancellationToken,
}

/// [`ToolChoice`], owned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// As the model likes.
    #[default]
    Auto,
    /// No tool.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

impl Asked {
    /// The first request of a run, without tools.
    ///
    /// # Errors
    /// [`NameError`] if `run` is no legal id of a run.
    pub fn new(run: &str, messages: impl IntoIterator<Item = Message>) -> Result<Self, NameError> {
        Ok(Self {
            run: run.parse()?,
            turn: Turn { epoch: 0, number: 0 },
            number: 0,
            messages: messages.into_iter().collect(),
            tools: Vec::new(),
            choice: Choice::Auto,
            cancel: CancellationToken::new(),
        })
    }

    /// A copy of a request. Cancelling the one cancels the other.
    #[must_use]
    pub fn of(request: &ModelRequest<'_>) -> Self {
        Self {
            run: request.run.clone(),
            turn: request.turn,
            number: request.number,
            messages: request.messages.to_vec(),
            tools: request.tools.to_vec(),
            choice: match request.tool_choice {
                ToolChoice::Auto => Choice::Auto,
                ToolChoice::None => Choice::None,
                ToolChoice::Required => Choice::Required,
                ToolChoice::Named(name) => Choice::Named(name.to_owned()),
            },
            cancel: request.cancel.clone(),
        }
    }

    /// The request itself.
    #[must_use]
    pub fn request(&self) -> ModelRequest<'_> {
        ModelRequest {
            run: &self.run,
            turn: self.turn,
            number: self.number,
            messages: &self.messages,
            tools: &self.tools,
            tool_choice: match &self.choice {
                Choice::Auto => ToolChoice::Auto,
                Choice::None => ToolChoice::None,
                Choice::Required => ToolChoice::Required,
                Choice::Named(name) => ToolChoice::Named(name),
            },
            cancel: &self.cancel,
        }
    }
}
