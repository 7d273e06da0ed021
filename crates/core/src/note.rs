//! What a delegate writes down while it works, and what it waits for.

use serde::{Deserialize, Serialize};

use crate::{Digest, Turn};

/// The most notes that the delegates of one run may write.
pub const MAX_NOTES: usize = 100_000;
/// The most waits that the delegates of one run may ask for.
pub const MAX_WAITS: usize = 10_000;
/// The most that may be said to the delegates of one run in the midst of their work.
pub const MAX_STEERS: usize = 1000;

/// What a note is about. Content-free; the content is a blob that only the delegate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A model answered.
    Model,
    /// A tool was called, or came back.
    Tool,
    /// A conversation was opened or taken up.
    Session,
}

/// A note in the log: what a delegate need not do again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// The round in which it was written.
    pub turn: Turn,
    /// What it is about.
    pub kind: NoteKind,
    /// Blob of it.
    pub content: Digest,
}

/// Something that was said to the delegate in the midst of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steered {
    /// The round at work when it was said, or the last one before.
    pub turn: Turn,
    /// Blob that names who said it and holds the text.
    pub content: Digest,
}

/// A round that waits, at its delegate's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parking {
    /// The round.
    pub turn: Turn,
    /// When it goes on by itself, in milliseconds since the Unix epoch; `None` waits for an answer.
    pub until_ms: Option<u64>,
    /// Blob of what it waits for.
    pub detail: Digest,
    /// When it began to wait, in milliseconds since the Unix epoch.
    pub since_ms: u64,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Woken {
    /// The round.
    pub turn: Turn,
    /// Blob of what it waited for.
    pub detail: Digest,
    /// Blob of the answer; `None` where a time was waited for.
    pub answer: Option<Digest>,
}
