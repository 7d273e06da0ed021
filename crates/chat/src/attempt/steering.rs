//! What people say to the model in the midst of its work.

use probity_core::Usage;
use probity_delegate::{DelegateError, Said};

use super::{Attempt, opening, whole_calls};
use crate::conversation::CallState;
use crate::{Message, ModelReply, Stop};

impl Attempt<'_> {
    /// Tells the model what was said since it was last told, as a message of its own that is written
    /// down first. All calls are answered by then.
    pub(super) async fn listen(&mut self) -> Result<(), DelegateError> {
        let told = self.conversation.told();
        if !self.has_unheard() {
            return Ok(());
        }
        let said = self.request.steering.behind(told);
        let heard = told.saturating_add(said.len());
        let note = self.conversation.steer(self.request.turn, Said::render(&said), heard);
        // What was answered without being made is written down with it, and counts as of now.
        let tool_calls = std::mem::take(&mut self.uncounted);
        let note = note.encode(Usage { tokens: 0, tool_calls })?;
        Ok(self.request.notes.keep(note).await?)
    }

    /// Whether somebody said something that the model was not told.
    pub(super) fn has_unheard(&self) -> bool {
        self.request.steering.len() > self.conversation.told()
    }

    /// Whether a claim is held back, because it was made without knowing what was said meanwhile: while
    /// the model may be asked once more.
    pub(super) fn is_held_back(&self, reply: &ModelReply) -> bool {
        let tokens = reply.usage.total();
        let next = self.conversation.model_calls().saturating_add(1);
        self.has_unheard()
            && next < self.delegate.config.max_model_calls
            && self.budget().tokens.is_none_or(|left| left > tokens)
    }

    /// Answers the claim that was held back, if the last answer was one.
    pub(super) fn heed_held_back(&mut self) -> bool {
        if !self.has_unheard() {
            return false;
        }
        let (open, stop) = (self.conversation.open(), self.conversation.unheeded());
        if self.delegate.config.output.is_none() {
            return open.is_empty() && stop == Some(Stop::End);
        }
        let is_whole = open.iter().all(|open| open.state == CallState::Announced);
        let calls: Vec<_> = open.iter().map(|open| open.call.clone()).collect();
        let whole = whole_calls(stop.unwrap_or(Stop::End), &calls);
        let is_claim = is_whole && stop != Some(Stop::Filter) && self.output_in(whole).is_some();
        is_claim && self.answer_submission(opening::HELD_BACK)
    }

    /// Words for a model that is to go on, where it has none.
    pub(super) fn tell(&mut self, words: &str) {
        self.conversation.tell(Message::User { content: words.to_owned() });
    }
}
