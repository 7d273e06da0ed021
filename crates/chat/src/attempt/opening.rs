//! How a turn begins: with the task, or with why the last claim was not accepted.

use probity_delegate::{Conversation as Sharing, Prompt};

use super::{Attempt, handed_in, refusal};
use crate::conversation::{CallState, OpenCall};
use crate::{FINAL_OUTPUT, Message, ToolOutput};

/// Behind the words of the profile, where an output is wanted.
const HAND_IN: &str = "Hand in your result by calling the tool `final_output`.";

/// To a model that answers with text where an output is wanted.
pub(super) const NUDGE: &str = "Your result is not handed in yet: call the tool `final_output` with \
     it, or go on working.";

/// To an output that was handed in before its model knew what was said to it.
pub(super) const HELD_BACK: &str = "not taken yet: something was said to you meanwhile, and follows. \
     Heed it, then hand in your output again. This was not counted as an attempt.";

/// To calls beside an output that was handed in.
const NOT_EXECUTED: &str = "not executed: the output was handed in with the same answer";

/// To outputs behind the one that was handed in.
const IGNORED: &str = "ignored: the output was already handed in";

/// Where nobody says why there is another turn.
const GO_ON: &str = "Go on with the task.";

/// To a call that a crash caught.
pub(super) const INTERRUPTED: &str = "interrupted: whether this call took effect is not known. Look \
     at the state of things before you repeat it.";

impl Attempt<'_> {
    /// Tells the model what this turn is about.
    pub(super) fn open(&mut self) {
        if self.conversation.messages().is_empty() {
            self.open_conversation();
            return;
        }
        let prompt = &self.request.prompt;
        let words = prompt.rewritten.as_deref().or(prompt.correction.as_deref());
        // Providers refuse a message that says nothing.
        let words = words.filter(|words| !words.trim().is_empty()).unwrap_or(GO_ON).to_owned();
        if !self.answer_submission(&words) {
            self.conversation.tell(Message::User { content: words });
        }
    }

    fn open_conversation(&mut self) {
        let (config, prompt) = (&self.delegate.config, &self.request.prompt);
        let profile = prompt.system.as_deref().filter(|_| prompt.rewritten.is_none());
        let hand_in = config.output.is_some().then_some(HAND_IN);
        let system: Vec<&str> = [profile, config.system.as_deref(), hand_in]
            .into_iter()
            .flatten()
            .map(str::trim_end)
            .filter(|part| !part.is_empty())
            .collect();
        if !system.is_empty() {
            self.conversation.tell(Message::System { content: system.join("\n\n") });
        }
        // Attempt 2 of a run that kept no notes comes with a correction: then all of it is said anew.
        let task = Prompt { system: None, ..prompt.clone() }.render(Sharing::Fresh);
        self.conversation.tell(Message::User { content: task });
    }

    /// Answers the calls of the last claim, one message each: the output with `words`. Whether there
    /// was an output.
    pub(super) fn answer_submission(&mut self, words: &str) -> bool {
        let open: Vec<OpenCall> = self.conversation.open().to_vec();
        let submission = self.submission(&open);
        for (index, OpenCall { call, state }) in open.iter().enumerate() {
            if matches!(state, CallState::Ran(_) | CallState::Given(_)) {
                continue;
            }
            let output = match submission {
                None => ToolOutput::error(INTERRUPTED),
                Some(at) if index == at => ToolOutput::text(words),
                Some(_) if call.name != FINAL_OUTPUT => ToolOutput::error(NOT_EXECUTED),
                Some(at) if index > at => ToolOutput::error(IGNORED),
                Some(_) => ToolOutput::error(self.invalid_output(&call.arguments)),
            };
            self.conversation.give(&call.id, output);
        }
        submission.is_some()
    }

    /// The call that handed in the last claim: the first valid output; the first one at all if the
    /// schema changed since.
    fn submission(&self, open: &[OpenCall]) -> Option<usize> {
        let output = self.delegate.config.output.as_ref()?;
        let is_valid = |open: &OpenCall| handed_in(output, &open.call).is_some();
        let is_output = |open: &OpenCall| open.call.name == FINAL_OUTPUT;
        open.iter().position(is_valid).or_else(|| open.iter().position(is_output))
    }

    /// What the model is told of an output that is not valid.
    pub(super) fn invalid_output(&self, arguments: &str) -> String {
        let call = crate::Call {
            id: String::new(),
            name: FINAL_OUTPUT.to_owned(),
            arguments: arguments.to_owned(),
        };
        let output = self.delegate.config.output.as_ref();
        let detail = output.and_then(|output| refusal(output, &call)).unwrap_or_default();
        format!(
            "the output cannot be taken: {detail}\nCorrect it and call `final_output` again. This \
             was not counted as an attempt."
        )
    }
}
