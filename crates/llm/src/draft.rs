//! A reply while it is put together.

use probity_chat::{Call, ModelError, ModelReply, Stop, TokenUsage};

/// Calls in one answer. More is a broken server.
const MAX_CALLS: usize = 256;

/// What both wire formats are read into.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) calls: Vec<DraftCall>,
    /// `None` until the provider says why it stopped.
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: TokenUsage,
}

/// A call while its pieces arrive.
#[derive(Debug, Default)]
pub(crate) struct DraftCall {
    /// The place that the provider gave it in its stream.
    pub(crate) index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Draft {
    /// Adds a call.
    pub(crate) fn add(&mut self, call: DraftCall) -> Result<&mut DraftCall, ModelError> {
        if self.calls.len() >= MAX_CALLS {
            return Err(unreadable(format!("it calls more than {MAX_CALLS} tools at once")));
        }
        Ok(self.calls.push_mut(call))
    }

    /// Whether anything was said or called.
    pub(crate) const fn has_words(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// The finished reply. A call without an id of its own gets one that is made of the `number` of
    /// the model's call and its place, so that it is the same every time.
    pub(crate) fn finish(self, number: u32) -> Result<ModelReply, ModelError> {
        let mut tool_calls: Vec<Call> = Vec::with_capacity(self.calls.len());
        for (place, call) in self.calls.into_iter().enumerate() {
            if call.name.is_empty() {
                return Err(unreadable("it calls a tool without a name"));
            }
            let is_taken = tool_calls.iter().any(|earlier| earlier.id == call.id);
            let id = if call.id.is_empty() || is_taken {
                format!("call_{number}_{place}")
            } else {
                call.id
            };
            tool_calls.push(Call { id, name: call.name, arguments: call.arguments });
        }
        let stop = self.stop.unwrap_or(Stop::End);
        Ok(ModelReply { text: self.text, tool_calls, stop, usage: self.usage })
    }
}

/// An answer that is none.
pub(crate) fn unreadable(message: impl Into<String>) -> ModelError {
    ModelError::Unreadable { message: message.into() }
}
