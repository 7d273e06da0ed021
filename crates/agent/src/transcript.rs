//! The conversation of a run, read from its log.

use std::fmt;
use std::sync::Arc;

use probity_chat::{Conversation, Message};
use probity_core::RunId;
use probity_delegate::NoteError;
use probity_engine::{EngineError, read_notes};
use probity_store::Store;

/// Reads conversations out of one store.
#[derive(Clone)]
pub struct Transcript {
    store: Arc<dyn Store>,
}

/// A conversation cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] EngineError),
    /// A note in it is none of a conversation.
    #[error(transparent)]
    Note(#[from] NoteError),
}

impl Transcript {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The messages of a run so far, oldest first.
    ///
    /// # Errors
    /// [`TranscriptError`] if the log cannot be read.
    pub async fn read(&self, run: &RunId) -> Result<Vec<Message>, TranscriptError> {
        let notes = read_notes(self.store.as_ref(), run).await?;
        Ok(Conversation::replay(&notes)?.messages().to_vec())
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").finish_non_exhaustive()
    }
}
