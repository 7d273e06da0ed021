//! One attempt: the loop between the model and its tools.

mod ask;
mod calls;
mod opening;
mod parking;
mod steering;

use probity_core::{Claim, Usage};
use probity_delegate::{Answered, Budget, DelegateError, Note, Request, Spent};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::conversation::CallState;
use crate::delegate::ChatDelegate;
use crate::{
    Call, ChatEvent, ChatNote, Conversation, FINAL_OUTPUT, ModelReply, OutputSchema, Stop,
    ToolChoice,
};

/// An attempt at work. Its decisions follow from the conversation and the budget alone, so that an
/// attempt that goes on behind a crash decides as the one before it.
pub(crate) struct Attempt<'a> {
    delegate: &'a ChatDelegate,
    request: &'a Request,
    conversation: Conversation,
    /// Spent since this dispatch; the run counted what was spent before.
    spent: Usage,
    /// Calls that were answered without being made but count, since the last note of an answer.
    uncounted: u64,
    /// The open calls were announced by an attempt that was interrupted.
    is_inherited: bool,
    /// Cancelled when the attempt ends, however it does.
    cancel: CancellationToken,
    _cancel_at_end: DropGuard,
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(
        delegate: &'a ChatDelegate,
        request: &'a Request,
        conversation: Conversation,
    ) -> Self {
        let cancel = request.cancel.child_token();
        Self {
            delegate,
            request,
            conversation,
            spent: Usage::default(),
            uncounted: 0,
            is_inherited: true,
            _cancel_at_end: cancel.clone().drop_guard(),
            cancel,
        }
    }

    pub(crate) fn into_conversation(self) -> Conversation {
        self.conversation
    }

    pub(crate) async fn run(&mut self) -> Result<Answered, DelegateError> {
        if self.conversation.turn() == Some(self.request.turn) {
            self.heed().await?;
        } else {
            self.open();
        }
        loop {
            let reply = self.ask().await?;
            self.is_inherited = false;
            if let Some(claim) = self.claim(&reply)
                && !self.is_held_back(&reply)
            {
                let note = self.hear(reply)?;
                return Ok(Answered { claim, notes: vec![note], ..Answered::default() });
            }
            let note = self.hear(reply)?;
            self.request.notes.keep(note).await?;
            self.heed().await?;
        }
    }

    /// What the answer claims, if it does: its text, or the first output in it that is valid.
    fn claim(&self, reply: &ModelReply) -> Option<Claim> {
        if reply.stop == Stop::Filter {
            return None;
        }
        let turn = self.request.turn;
        match &self.delegate.config.output {
            Some(_) => {
                let whole = whole_calls(reply.stop, &reply.tool_calls);
                let output = self.output_in(whole)?;
                let claim = self.conversation.claim(turn, reply.text.clone());
                Some(Claim { output: Some(output), ..claim })
            }
            None if reply.tool_calls.is_empty() && reply.stop == Stop::End => {
                Some(self.conversation.claim(turn, reply.text.clone()))
            }
            None => None,
        }
    }

    /// The first valid output that calls hand in.
    fn output_in(&self, calls: &[Call]) -> Option<serde_json::Value> {
        let output = self.delegate.config.output.as_ref()?;
        calls.iter().find_map(|call| handed_in(output, call))
    }

    fn hear(&mut self, reply: ModelReply) -> Result<Note, DelegateError> {
        let tool_calls = std::mem::take(&mut self.uncounted);
        let usage = Usage { tokens: reply.usage.total(), tool_calls };
        self.spent.tokens = self.spent.tokens.saturating_add(usage.tokens);
        let note = self.conversation.hear(self.request.turn, reply);
        Ok(note.encode(usage)?)
    }

    /// Does what the last answer asks for, until the model can be asked again.
    async fn heed(&mut self) -> Result<(), DelegateError> {
        let Some(stop) = self.conversation.unheeded() else { return Ok(()) };
        self.check_stop(stop)?;
        if self.heed_held_back() {
            return Ok(());
        }
        self.check_limits()?;
        if self.conversation.open().is_empty() {
            self.tell(opening::NUDGE);
            return Ok(());
        }
        self.make_calls().await
    }

    /// An answer that was cut or withheld is none, unless a call in it came through whole.
    fn check_stop(&self, stop: Stop) -> Result<(), DelegateError> {
        let is_whole = |call: &Call| {
            !self.is_stump(call) && self.delegate.tools.admit(&call.name, &call.arguments).is_ok()
        };
        let (code, message) = match stop {
            Stop::End => return Ok(()),
            Stop::Length if self.conversation.open().iter().any(|open| is_whole(&open.call)) => {
                return Ok(());
            }
            Stop::Length => (
                "model_length",
                "the model's answer was cut at the longest length allowed; allow longer answers \
                 or give a smaller task",
            ),
            Stop::Filter => (
                "model_filtered",
                "the model's provider withheld the answer; change the task or the model",
            ),
        };
        Err(DelegateError::Model { code, message: message.to_owned() })
    }

    /// Whether the answer that is at hand may be followed by another.
    fn check_limits(&self) -> Result<(), DelegateError> {
        let config = &self.delegate.config;
        if let Some(output) = &config.output {
            let invalid = self.invalid_in_a_row(output);
            if invalid >= config.max_invalid_outputs.max(1) {
                let last = self.conversation.replies_back().next().unwrap_or_default();
                let detail = last
                    .iter()
                    .find_map(|call| refusal(output, call))
                    .unwrap_or_else(|| "the model did not call `final_output`".to_owned());
                return Err(DelegateError::InvalidOutput { tries: invalid, detail });
            }
        }
        self.check_answers_left()?;
        let open = self.conversation.open();
        let is_untouched = open.iter().all(|open| open.state == CallState::Announced);
        if is_untouched
            && self.budget().tool_calls == Some(0)
            && open.iter().any(|open| !self.is_output(&open.call))
        {
            return Err(DelegateError::Budget(Spent::ToolCalls));
        }
        Ok(())
    }

    /// Whether the model may be asked once more.
    fn check_answers_left(&self) -> Result<(), DelegateError> {
        if self.budget().tokens == Some(0) {
            return Err(DelegateError::Budget(Spent::Tokens));
        }
        if self.conversation.model_calls() >= self.delegate.config.max_model_calls {
            return Err(DelegateError::Budget(Spent::ModelCalls));
        }
        Ok(())
    }

    /// How many of the last answers of this turn, one behind the other, were no output where one is
    /// wanted. Counted up to the bound.
    fn invalid_in_a_row(&self, output: &OutputSchema) -> u32 {
        let max = self.delegate.config.max_invalid_outputs.max(1);
        let is_invalid = |calls: &&[Call]| {
            calls.is_empty() || calls.iter().any(|call| refusal(output, call).is_some())
        };
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let invalid = self.conversation.replies_back().take(max).take_while(is_invalid).count();
        u32::try_from(invalid).unwrap_or(u32::MAX)
    }

    /// What is left now.
    fn budget(&self) -> Budget {
        let Budget { tokens, tool_calls } = self.request.budget;
        let made = self.spent.tool_calls;
        Budget {
            tokens: tokens.map(|left| left.saturating_sub(self.spent.tokens)),
            tool_calls: tool_calls.map(|left| left.saturating_sub(made)),
        }
    }

    /// Where no tool may be called any more, or no answer may follow, the model is to come to an end.
    fn tool_choice(&self) -> ToolChoice<'static> {
        let next = self.conversation.model_calls().saturating_add(1);
        let is_last = next >= self.delegate.config.max_model_calls;
        if !is_last && self.budget().tool_calls != Some(0) {
            return ToolChoice::Auto;
        }
        match self.delegate.config.output {
            Some(_) => ToolChoice::Named(FINAL_OUTPUT),
            None => ToolChoice::None,
        }
    }

    /// Whether a call of the last answer is what was left of one where the answer was cut.
    fn is_stump(&self, call: &Call) -> bool {
        let open = self.conversation.open();
        let is_last = open.last().is_some_and(|open| open.call.id == call.id);
        is_last && self.conversation.unheeded().is_some_and(|stop| is_stump(stop, call))
    }

    fn is_output(&self, call: &Call) -> bool {
        self.delegate.config.output.is_some() && call.name == FINAL_OUTPUT
    }

    fn event(&self, event: &ChatEvent) {
        if let Some(on_event) = &self.delegate.config.on_event {
            on_event(event);
        }
    }

    /// Keeps a note about a call.
    async fn keep(&mut self, note: ChatNote, tool_calls: u64) -> Result<(), DelegateError> {
        let kept = note.encode(Usage { tokens: 0, tool_calls })?;
        self.request.notes.keep(kept).await?;
        self.spent.tool_calls = self.spent.tool_calls.saturating_add(tool_calls);
        Ok(self.conversation.apply(self.request.turn, note)?)
    }
}

/// Whether the last call of an answer is what was left of it where the answer was cut: only its name
/// arrived, which reads as a call without arguments.
fn is_stump(stop: Stop, last: &Call) -> bool {
    stop == Stop::Length && matches!(last.arguments.trim(), "" | "{}")
}

/// The calls of an answer, without what was left of the last one where it was cut.
fn whole_calls(stop: Stop, calls: &[Call]) -> &[Call] {
    match calls.split_last() {
        Some((last, whole)) if is_stump(stop, last) => whole,
        _ => calls,
    }
}

/// The output that a call hands in, if it is one and is valid.
fn handed_in(output: &OutputSchema, call: &Call) -> Option<serde_json::Value> {
    if call.name != FINAL_OUTPUT {
        return None;
    }
    output.read(&call.arguments).ok()
}

/// Why the output that a call hands in is not valid; `None` also for other calls.
fn refusal(output: &OutputSchema, call: &Call) -> Option<String> {
    if call.name != FINAL_OUTPUT {
        return None;
    }
    output.read(&call.arguments).err()
}
