//! What a conversation writes down, one note per thing that must not be done twice.

use probity_core::{NoteKind, RunId, Usage};
use probity_delegate::{Kept, Note, NoteError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Message, ModelReply, ToolOutput};

/// The longest note, in bytes: what [`Note::content`] may be.
const MAX_NOTE_BYTES: usize = 16 * 1024 * 1024;

/// One note of a conversation. The conversation is a fold over them: [`crate::Conversation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case", deny_unknown_fields)]
pub enum ChatNote {
    /// The model answered. The calls in its answer are thereby announced: from here on each of them
    /// may have been made.
    Model {
        /// Answers to open calls that were given without making them, since the note before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<GivenAnswer>,
        /// What the model was told behind them, since the note before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        told: Vec<Message>,
        /// Its answer.
        reply: ModelReply,
    },
    /// The model is told what people said in the midst of the work, in the last of these messages.
    Told {
        /// Answers to open calls that were given without making them, since the note before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<GivenAnswer>,
        /// What the model is told behind them, since the note before.
        told: Vec<Message>,
        /// How much of what people said it was told by then.
        heard: usize,
    },
    /// The model's provider was out of reach, and the run waits for it.
    Unavailable {
        /// When it is asked again, in milliseconds since the Unix epoch.
        until_ms: u64,
        /// What was seen of it.
        message: String,
    },
    /// A call came to a result.
    Tool {
        /// The call.
        call_id: String,
        /// The result.
        output: ToolOutput,
    },
    /// A call waits.
    Parked {
        /// The call.
        call_id: String,
        /// The name of the wait.
        key: String,
        /// When it goes on by itself, in milliseconds since the Unix epoch; absent where it waits
        /// for an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<u64>,
        /// What is asked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        question: String,
        /// The runs that it waits for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        children: Vec<RunId>,
    },
    /// The wait of a call is over; from here on the call may have been made again.
    Resumed {
        /// The call.
        call_id: String,
        /// What was answered.
        answer: Value,
    },
}

/// The answer to a call that was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenAnswer {
    /// The call.
    pub call_id: String,
    /// What the model is told in place of a result.
    pub output: ToolOutput,
}

impl ChatNote {
    /// The note as it is kept, with what was spent on what it tells of.
    ///
    /// # Errors
    /// [`NoteError::TooLarge`] beyond 16 MiB; [`NoteError::Unreadable`] if it cannot be written as
    /// JSON.
    pub fn encode(&self, usage: Usage) -> Result<Note, NoteError> {
        let kind = match self {
            Self::Model { .. } | Self::Told { .. } | Self::Unavailable { .. } => NoteKind::Model,
            Self::Tool { .. } | Self::Parked { .. } | Self::Resumed { .. } => NoteKind::Tool,
        };
        let content = serde_json::to_vec(self).map_err(unreadable)?;
        let (bytes, max_bytes) = (content.len(), MAX_NOTE_BYTES);
        if bytes > max_bytes {
            return Err(NoteError::TooLarge { bytes, max_bytes });
        }
        Ok(Note { kind, content, usage })
    }

    /// The note in what was kept; `None` for a note that is not of a conversation.
    ///
    /// # Errors
    /// [`NoteError::Unreadable`] if it is one and cannot be read.
    pub fn decode(kept: &Kept) -> Result<Option<Self>, NoteError> {
        match kept.kind {
            NoteKind::Model | NoteKind::Tool => {
                serde_json::from_slice(&kept.content).map(Some).map_err(unreadable)
            }
            NoteKind::Session => Ok(None),
        }
    }
}

fn unreadable(error: serde_json::Error) -> NoteError {
    NoteError::Unreadable { message: format!("not a note of a conversation: {error}") }
}
