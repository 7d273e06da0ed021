//! A chat model with tools as a delegate.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use probity_core::{RunId, Turn};
use probity_delegate::{Answered, Conversation as Sharing, Delegate, DelegateError, Request};

use crate::attempt::Attempt;
use crate::{ChatConfig, Conversation, Model, ToolSpec, Toolbox};

/// A chat model that works with tools until it claims to be done.
///
/// What it did is in the notes of the run: an answer of the model is written down before its calls are
/// made, the result of a call before the model sees it. A crash therefore repeats no answer; a call
/// that it caught is told to the model as interrupted, or made again where the tool allows.
pub struct ChatDelegate {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Toolbox,
    pub(crate) config: ChatConfig,
    /// What the model is told of the tools, that of the output last.
    pub(crate) specs: Vec<ToolSpec>,
    last: Mutex<Option<Last>>,
}

/// The conversation of the last claim: the next attempt of the run goes on with it, and reads nothing.
struct Last {
    run: RunId,
    turn: Turn,
    conversation: Conversation,
}

impl ChatDelegate {
    /// A delegate of this model and these tools.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, tools: Toolbox, config: ChatConfig) -> Self {
        let output = config.output.iter().map(crate::OutputSchema::tool);
        let specs = tools.specs().iter().cloned().chain(output).collect();
        Self { model, tools, config, specs, last: Mutex::default() }
    }

    /// The conversation so far: the one of the last claim if this is its next attempt, else that of
    /// the notes.
    async fn take_up(&self, request: &Request) -> Result<Conversation, DelegateError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        match last {
            Some(last)
                if !request.is_replay
                    && last.run == request.run
                    && last.turn.next() == request.turn =>
            {
                Ok(last.conversation)
            }
            _ => Ok(Conversation::replay(&request.notes.read().await?)?),
        }
    }

    async fn work(&self, request: &Request) -> Result<Answered, DelegateError> {
        let conversation = self.take_up(request).await?;
        let mut attempt = Attempt::new(self, request, conversation);
        let answered = attempt.run().await?;
        let conversation = attempt.into_conversation();
        let last = Last { run: request.run.clone(), turn: request.turn, conversation };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        Ok(answered)
    }
}

#[async_trait]
impl Delegate for ChatDelegate {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let work = async {
            match request.timeout {
                None => self.work(request).await,
                Some(timeout) => {
                    tokio::time::timeout(timeout, self.work(request)).await.unwrap_or_else(|_| {
                        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                        Err(DelegateError::TimedOut { timeout_ms })
                    })
                }
            }
        };
        tokio::select! {
            biased;
            () = request.cancel.cancelled() => Err(DelegateError::Cancelled),
            answered = work => answered,
        }
    }

    fn conversation(&self) -> Sharing {
        Sharing::Same
    }

    fn describe(&self) -> String {
        format!("chat: {}", self.model.identity())
    }

    /// Models answer over the network, and tools have tasks of their own.
    fn yields(&self) -> bool {
        true
    }

    fn identity(&self) -> String {
        self.model.identity()
    }
}

impl fmt::Debug for ChatDelegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatDelegate")
            .field("model", &self.model.identity())
            .field("tools", &self.tools)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
