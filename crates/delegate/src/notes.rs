//! What a delegate writes down while it works, so that a crash makes it repeat nothing.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{NoteKind, Turn, Usage};

/// One note: durable in the run's log once it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// Its content, which only the delegate reads. At most 16 MiB.
    pub content: Vec<u8>,
    /// What was spent on what it tells of. Counts at once, whatever becomes of the attempt; the usage
    /// of the answer counts what no note told of.
    pub usage: Usage,
}

/// A note as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The round in which it was written.
    pub turn: Turn,
    /// What it is about.
    pub kind: NoteKind,
    /// Its content.
    pub content: Vec<u8>,
}

/// Where notes go.
#[async_trait]
pub trait Notebook: Send + Sync {
    /// The notes of the run as it was when this attempt was asked for, oldest first, those of earlier
    /// rounds included.
    ///
    /// # Errors
    /// [`NoteError`] if the log cannot be read.
    async fn read(&self) -> Result<Vec<Kept>, NoteError>;

    /// Keeps a note. It is durable when this returns.
    ///
    /// # Errors
    /// [`NoteError`] if it could not be kept: what it tells of would be repeated after a crash, so the
    /// delegate stops.
    async fn keep(&self, note: Note) -> Result<(), NoteError>;
}

/// The notes of a run, as a delegate has them.
#[derive(Clone, Default)]
pub struct Notes {
    book: Option<Arc<dyn Notebook>>,
}

impl Notes {
    /// Notes in a notebook.
    #[must_use]
    pub fn new(book: Arc<dyn Notebook>) -> Self {
        Self { book: Some(book) }
    }

    /// Notes that nobody keeps: nothing is read, what is written is gone. For delegates that are asked
    /// outside of a run.
    #[must_use]
    pub const fn none() -> Self {
        Self { book: None }
    }

    /// As [`Notebook::read`].
    ///
    /// # Errors
    /// As [`Notebook::read`].
    pub async fn read(&self) -> Result<Vec<Kept>, NoteError> {
        match &self.book {
            Some(book) => book.read().await,
            None => Ok(Vec::new()),
        }
    }

    /// As [`Notebook::keep`].
    ///
    /// # Errors
    /// As [`Notebook::keep`].
    pub async fn keep(&self, note: Note) -> Result<(), NoteError> {
        match &self.book {
            Some(book) => book.keep(note).await,
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notes").field("kept", &self.book.is_some()).finish()
    }
}

/// A note was not kept, or could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The run goes on without this delegate: it was cancelled, or overtaken.
    #[error("the run goes on without this delegate")]
    Closed,
    /// The note is too long to be kept.
    #[error("a note of {bytes} bytes is more than the {max_bytes} kept")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The bound.
        max_bytes: usize,
    },
    /// What is there is no note, or not one that this delegate reads.
    #[error("the notes of the run cannot be read: {message}")]
    Unreadable {
        /// Why.
        message: String,
    },
    /// The store could not be asked. It says nothing about the notes: the same turn is asked for again.
    #[error("the notes of the run cannot be read now: {message}")]
    Unavailable {
        /// Why.
        message: String,
    },
}
