//! A conversation as a fold over its notes.

use std::collections::HashSet;

use probity_core::{Claim, RunId, ToolCall, ToolResult, Turn};
use probity_delegate::{Kept, NoteError};
use serde_json::Value;

use crate::{Call, ChatNote, FINAL_OUTPUT, GivenAnswer, Message, ModelReply, Stop, ToolOutput};

/// The longest id of a call that is kept as its provider made it, in bytes: the longest that OpenAI
/// takes back.
const MAX_CALL_ID_BYTES: usize = 40;

/// In place of an answer without text or calls: providers refuse a message that says nothing.
const SILENCE: &str = "(no answer)";

/// A conversation: what was said, and which calls are open.
///
/// [`Conversation::replay`] of the notes of a run equals the value that wrote them. A step costs what
/// it adds, however long the conversation is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    messages: Vec<Message>,
    /// Where the messages of the turn begin: behind what its first model call was told.
    turn_start: usize,
    turn: Option<Turn>,
    open: Vec<OpenCall>,
    stop: Option<Stop>,
    model_calls: u32,
    parks: u32,
    /// How much of what people said the model was told.
    heard: usize,
    /// How often the run waited for the provider since the last answer.
    outages: u32,
    call_ids: HashSet<String>,
    /// What the next note of a model call tells.
    pending_answers: Vec<GivenAnswer>,
    pending_told: Vec<Message>,
}

/// A call of the last answer of the model that the model was not told the end of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenCall {
    pub(crate) call: Call,
    pub(crate) state: CallState,
}

/// How far a call came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallState {
    /// It was announced, and may have been made.
    Announced,
    /// It waits.
    Parked { key: String, until_ms: Option<u64>, question: String, children: Vec<RunId> },
    /// Its wait is over, and it may have been made again.
    Resumed { answer: Value },
    /// It has a result.
    Ran(ToolOutput),
    /// It was answered without being made.
    Given(ToolOutput),
}

impl Conversation {
    /// The conversation that these notes of a run tell of, oldest first.
    ///
    /// # Errors
    /// [`NoteError::Unreadable`] if one of them cannot be read, or does not fit behind the others.
    pub fn replay(notes: &[Kept]) -> Result<Self, NoteError> {
        let mut conversation = Self::default();
        for kept in notes {
            if let Some(note) = ChatNote::decode(kept)? {
                conversation.apply(kept.turn, note)?;
            }
        }
        Ok(conversation)
    }

    /// What was said, oldest first. Results of calls join it together, once all calls of an answer
    /// have one.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// How often the model answered.
    #[must_use]
    pub const fn model_calls(&self) -> u32 {
        self.model_calls
    }

    /// The round of the last answer, or of what was told in the midst of the work since; `None` before
    /// the first.
    #[must_use]
    pub const fn turn(&self) -> Option<Turn> {
        self.turn
    }

    /// What a turn came to so far, with this for a response: its calls and their answers, those of
    /// `final_output` left out.
    #[must_use]
    pub fn claim(&self, turn: Turn, response: String) -> Claim {
        let mut claim = Claim { response, ..Claim::default() };
        if self.turn != Some(turn) {
            return claim;
        }
        for message in self.messages.get(self.turn_start..).unwrap_or_default() {
            match message {
                Message::Assistant { tool_calls, .. } => {
                    let work = tool_calls.iter().filter(|call| call.name != FINAL_OUTPUT);
                    claim.tool_calls.extend(work.map(reported));
                }
                Message::Tool { call_id, name, content, is_error } if name != FINAL_OUTPUT => {
                    claim.tool_results.push(ToolResult {
                        call_id: call_id.clone(),
                        name: name.clone(),
                        content: content.clone(),
                        is_error: *is_error,
                    });
                }
                Message::Tool { .. } | Message::User { .. } | Message::System { .. } => {}
            }
        }
        claim
    }

    pub(crate) fn apply(&mut self, turn: Turn, note: ChatNote) -> Result<(), NoteError> {
        match note {
            ChatNote::Model { answers, told, reply } => {
                self.take_in(answers, told)?;
                self.heard(turn, reply);
            }
            ChatNote::Told { answers, told, heard } => {
                self.take_in(answers, told)?;
                self.begin(turn);
                self.heard = heard;
            }
            ChatNote::Unavailable { .. } => self.outages = self.outages.saturating_add(1),
            ChatNote::Tool { call_id, output } => {
                self.end(&call_id, CallState::Ran(output))?;
            }
            ChatNote::Parked { call_id, key, until_ms, question, children } => {
                self.parks = self.parks.saturating_add(1);
                self.end(&call_id, CallState::Parked { key, until_ms, question, children })?;
            }
            ChatNote::Resumed { call_id, answer } => {
                self.end(&call_id, CallState::Resumed { answer })?;
            }
        }
        self.flush();
        Ok(())
    }

    /// Answers an open call without making it. Written down with the next answer of the model.
    pub(crate) fn give(&mut self, call_id: &str, output: ToolOutput) {
        // The caller takes the id from the open calls, so it is one of them.
        if self.end(call_id, CallState::Given(output.clone())).is_ok() {
            self.pending_answers.push(GivenAnswer { call_id: call_id.to_owned(), output });
        }
        self.flush();
    }

    /// Tells the model something. Written down with its next answer. All calls are answered by then.
    pub(crate) fn tell(&mut self, message: Message) {
        self.pending_told.push(message.clone());
        self.messages.push(message);
    }

    /// Takes an answer of the model in, and gives the note of it.
    pub(crate) fn hear(&mut self, turn: Turn, reply: ModelReply) -> ChatNote {
        let note = ChatNote::Model {
            answers: std::mem::take(&mut self.pending_answers),
            told: std::mem::take(&mut self.pending_told),
            reply: reply.clone(),
        };
        self.heard(turn, reply);
        note
    }

    /// How much of what people said the model was told.
    pub(crate) const fn told(&self) -> usize {
        self.heard
    }

    /// Tells the model what people said, up to the first so many, and gives the note of it. All calls
    /// are answered by then.
    pub(crate) fn steer(&mut self, turn: Turn, words: String, heard: usize) -> ChatNote {
        self.tell(Message::User { content: words });
        self.begin(turn);
        self.heard = heard;
        ChatNote::Told {
            answers: std::mem::take(&mut self.pending_answers),
            told: std::mem::take(&mut self.pending_told),
            heard,
        }
    }

    /// How often the run waited for the provider since the last answer.
    pub(crate) const fn outages(&self) -> u32 {
        self.outages
    }

    /// Gives calls ids that name them in the whole run: an id that is missing, too long, of odd
    /// characters or was used before is replaced. Some providers count from zero in every answer.
    pub(crate) fn name_calls(&self, calls: &mut [Call]) {
        let mut fresh: HashSet<String> = HashSet::new();
        for (index, call) in calls.iter_mut().enumerate() {
            let is_used = self.call_ids.contains(&call.id) || fresh.contains(&call.id);
            if !is_legal_id(&call.id) || is_used {
                call.id = format!("call-{}-{index}", self.model_calls);
            }
            while self.call_ids.contains(&call.id) || fresh.contains(&call.id) {
                call.id.push('_');
            }
            fresh.insert(call.id.clone());
        }
    }

    /// The name of the next wait of a call: no two waits of a run have the same.
    pub(crate) fn wait_key(&self, call: &OpenCall) -> String {
        match call.state {
            CallState::Resumed { .. } => format!("{}#{}", call.call.id, self.parks),
            _ => call.call.id.clone(),
        }
    }

    /// The calls of the last answer, in its order; empty once the model can be told the answers of
    /// all of them.
    pub(crate) fn open(&self) -> &[OpenCall] {
        &self.open
    }

    /// Why the model stopped, where nothing was said behind its last answer yet.
    pub(crate) fn unheeded(&self) -> Option<Stop> {
        match self.messages.last() {
            Some(Message::Assistant { .. }) => self.stop,
            _ => None,
        }
    }

    /// The answers of the model in this turn, newest first.
    pub(crate) fn replies_back(&self) -> impl Iterator<Item = &[Call]> {
        let turn = self.messages.get(self.turn_start..).unwrap_or_default();
        turn.iter().rev().filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls.as_slice()),
            _ => None,
        })
    }

    fn heard(&mut self, turn: Turn, reply: ModelReply) {
        self.begin(turn);
        self.outages = 0;
        let ModelReply { text, tool_calls, stop, usage: _ } = reply;
        self.model_calls = self.model_calls.saturating_add(1);
        self.stop = Some(stop);
        self.call_ids.extend(tool_calls.iter().map(|call| call.id.clone()));
        self.open = tool_calls
            .iter()
            .map(|call| OpenCall { call: call.clone(), state: CallState::Announced })
            .collect();
        let is_silent = text.is_empty() && tool_calls.is_empty();
        let content = if is_silent { SILENCE.to_owned() } else { text };
        self.messages.push(Message::Assistant { content, tool_calls });
    }

    /// What was told up to here belongs to what the turn is about, not to the work in it.
    fn begin(&mut self, turn: Turn) {
        if self.turn != Some(turn) {
            self.turn = Some(turn);
            self.turn_start = self.messages.len();
        }
    }

    fn take_in(&mut self, answers: Vec<GivenAnswer>, told: Vec<Message>) -> Result<(), NoteError> {
        for GivenAnswer { call_id, output } in answers {
            self.end(&call_id, CallState::Given(output))?;
        }
        self.flush();
        if let Some(open) = self.open.first() {
            let message = format!("the call `{}` was left open", open.call.id);
            return Err(NoteError::Unreadable { message });
        }
        self.messages.extend(told);
        Ok(())
    }

    fn end(&mut self, call_id: &str, state: CallState) -> Result<(), NoteError> {
        let Some(open) = self.open.iter_mut().find(|open| open.call.id == call_id) else {
            let message = format!("the call `{call_id}` is not open");
            return Err(NoteError::Unreadable { message });
        };
        open.state = state;
        Ok(())
    }

    /// Once every open call is answered, the answers are said, in the order of the calls.
    fn flush(&mut self) {
        let is_answered = |open: &OpenCall| open.answer().is_some();
        if !self.open.iter().all(is_answered) {
            return;
        }
        for OpenCall { call, state } in self.open.drain(..) {
            if let CallState::Ran(output) | CallState::Given(output) = state {
                let Call { id: call_id, name, arguments: _ } = call;
                let ToolOutput { content, is_error } = output;
                self.messages.push(Message::Tool { call_id, name, content, is_error });
            }
        }
    }
}

impl OpenCall {
    /// What the model will be told of it, if that is known.
    pub(crate) const fn answer(&self) -> Option<&ToolOutput> {
        match &self.state {
            CallState::Ran(output) | CallState::Given(output) => Some(output),
            CallState::Announced | CallState::Parked { .. } | CallState::Resumed { .. } => None,
        }
    }
}

/// Whether an id is kept. `#` is not: it is what sets the waits of one call apart.
fn is_legal_id(id: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    (1..=MAX_CALL_ID_BYTES).contains(&id.len()) && id.bytes().all(is_legal)
}

fn reported(call: &Call) -> ToolCall {
    let arguments = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|_| Value::String(call.arguments.clone()));
    ToolCall { id: call.id.clone(), name: call.name.clone(), arguments }
}
