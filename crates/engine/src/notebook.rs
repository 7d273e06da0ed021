//! The run's log as the notebook of the delegate at work.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::Noted;
use probity_delegate::{Kept, Note, NoteError, Notebook};
use probity_store::{BlobError, Store};
use tokio::sync::{mpsc, oneshot};

use crate::journal::MAX_BLOB_BYTES;

/// The longest note that is kept, in bytes.
pub(crate) const MAX_NOTE_BYTES: usize = 16 * 1024 * 1024;

/// A note on its way into the log.
pub(crate) struct Wanted {
    pub(crate) note: Note,
    /// Told once the note is durable; dropped where it will not be.
    pub(crate) kept: oneshot::Sender<()>,
}

/// One dispatch's view of the notes of its run.
pub(crate) struct RunNotebook {
    store: Arc<dyn Store>,
    noted: Vec<Noted>,
    wanted: mpsc::Sender<Wanted>,
}

impl RunNotebook {
    /// A notebook over what the log holds, and where the driver takes new notes from.
    pub(crate) fn open(store: Arc<dyn Store>, noted: Vec<Noted>) -> (Self, mpsc::Receiver<Wanted>) {
        let (wanted, taken) = mpsc::channel(1);
        (Self { store, noted, wanted }, taken)
    }
}

#[async_trait]
impl Notebook for RunNotebook {
    async fn read(&self) -> Result<Vec<Kept>, NoteError> {
        let mut kept = Vec::with_capacity(self.noted.len());
        for Noted { turn, kind, content } in &self.noted {
            let bytes = match self.store.get(content, MAX_BLOB_BYTES).await {
                Ok(bytes) => bytes,
                Err(error @ BlobError::Unavailable(_)) => {
                    return Err(NoteError::Unavailable { message: error.to_string() });
                }
                Err(error) => return Err(NoteError::Unreadable { message: error.to_string() }),
            };
            let missing =
                || NoteError::Unreadable { message: format!("blob {content} is missing") };
            let bytes = bytes.ok_or_else(missing)?;
            kept.push(Kept { turn: *turn, kind: *kind, content: bytes });
        }
        Ok(kept)
    }

    async fn keep(&self, note: Note) -> Result<(), NoteError> {
        let bytes = note.content.len();
        if bytes > MAX_NOTE_BYTES {
            return Err(NoteError::TooLarge { bytes, max_bytes: MAX_NOTE_BYTES });
        }
        let (kept, is_kept) = oneshot::channel();
        let wanted = Wanted { note, kept };
        self.wanted.send(wanted).await.map_err(|_| NoteError::Closed)?;
        is_kept.await.map_err(|_| NoteError::Closed)
    }
}
