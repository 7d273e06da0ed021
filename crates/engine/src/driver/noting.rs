//! Notes of the delegate at work: into the log, without disturbing it.

use std::sync::Arc;

use probity_core::{Code, Effect, Input, MAX_NOTES, MAX_WAITS, Stage, Turn};
use probity_delegate::{Answer, Budget, Note, NoteError, Notes, Parked};
use probity_store::limits::{MAX_BATCH_BYTES, MAX_BATCH_RECORDS};
use serde_json::Value;

use super::Driver;
use super::writing::Written;
use crate::EngineError;
use crate::content::{self, Blob, MAX_KEPT_BYTES, StoredFault, StoredParking, StoredWoken};
use crate::notebook::{MAX_NOTE_BYTES, RunNotebook, Wanted};

/// The most notes that come with a claim: with it they are one append.
const MAX_NOTES_OF_CLAIM: usize = MAX_BATCH_RECORDS - 1;
/// The most runs that one wait is for.
const MAX_CHILDREN: usize = 256;
/// The longest key of a wait, in bytes.
const MAX_KEY_BYTES: usize = 256;

impl Driver<'_> {
    /// Makes a note durable, and tells the delegate so.
    pub(super) async fn note(&mut self, wanted: Wanted) -> Result<(), EngineError> {
        let Wanted { note, kept } = wanted;
        let Stage::Delegated { turn } = self.machine.stage() else { return Ok(()) };
        let before = self.machine.notes().len();
        if before >= MAX_NOTES {
            // Not told that it is kept, the delegate stops.
            return Ok(());
        }
        let mut blobs = Vec::new();
        let input = noted(turn, note, &mut blobs);
        self.journal.stage(blobs);
        self.feed(input)?;
        if !matches!(self.machine.stage(), Stage::Delegated { .. }) {
            // The run's time is over: what follows stops the delegate.
            return Ok(());
        }
        if let Some(Effect::Append(entries)) = self.machine.poll_effect() {
            self.held.extend(entries);
            if self.write().await? == Written::NotKnown {
                return Ok(());
            }
        }
        // Behind what somebody else appended, it may have come too late.
        if self.machine.notes().len() > before {
            // A delegate that has gone away meanwhile needs no answer.
            kept.send(()).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads the notes once more that a delegate could not read. Where nobody can, the store is in
    /// trouble, and the run stays as it is.
    pub(super) async fn require_notes(&self) -> Result<(), EngineError> {
        for noted in self.machine.notes() {
            self.journal.blob(noted.content).await?;
        }
        Ok(())
    }

    /// The notebook for a dispatch.
    pub(super) fn open_notes(&mut self) -> Notes {
        let noted = self.machine.notes().to_vec();
        let (book, wanted) = RunNotebook::open(Arc::clone(&self.engine.store), noted);
        self.wanted = Some(wanted);
        Notes::new(Arc::new(book))
    }

    /// Why notes that come with a claim cannot be kept, if they cannot: they are one append with it.
    pub(super) fn unfit(&self, notes: &[Note]) -> Option<StoredFault> {
        let room = MAX_NOTES.saturating_sub(self.machine.notes().len());
        let most = room.min(MAX_NOTES_OF_CLAIM);
        if notes.len() > most {
            let message = format!("{} notes with a claim, more than the {most} kept", notes.len());
            return Some(StoredFault::new(&message, None));
        }
        let longest = notes.iter().map(|note| note.content.len()).max().unwrap_or_default();
        let bytes: usize = notes.iter().map(|note| note.content.len()).sum();
        let (got, max_bytes) = match longest > MAX_NOTE_BYTES {
            true => (longest, MAX_NOTE_BYTES),
            false => (bytes, MAX_BATCH_BYTES - MAX_KEPT_BYTES),
        };
        let message = NoteError::TooLarge { bytes: got, max_bytes }.to_string();
        (got > max_bytes).then(|| StoredFault::new(&message, None))
    }

    /// A wait as an input; a failure of the delegate where the run holds no such wait.
    pub(super) fn parked(
        &self,
        turn: Turn,
        Parked { key, until_ms, question, children }: Parked,
        blobs: &mut Vec<Blob>,
    ) -> Result<Input, EngineError> {
        let problem = if self.machine.waits() >= MAX_WAITS {
            format!("a run holds at most {MAX_WAITS} waits of its delegates")
        } else if key.len() > MAX_KEY_BYTES {
            format!("the key of a wait is {} bytes, more than {MAX_KEY_BYTES}", key.len())
        } else if children.len() > MAX_CHILDREN {
            format!("a wait is for at most {MAX_CHILDREN} runs, not for {}", children.len())
        } else if until_ms.is_some() && !children.is_empty() {
            "a wait is for a time or for runs, not for both".to_owned()
        } else {
            let question = content::cut(&question).to_owned();
            let stored = StoredParking { key, question, children };
            let detail = content::keep_json(blobs, &stored)?;
            return Ok(Input::Parked { turn, until_ms, detail });
        };
        let detail = content::keep_json(blobs, &StoredFault::new(&problem, None))?;
        Ok(Input::DelegateFailed { turn, code: Code::slug("delegate_waits"), detail })
    }

    /// What the run leaves to spend.
    pub(super) fn budget(&self) -> Budget {
        Budget { tokens: self.machine.tokens_left(), tool_calls: self.machine.tool_calls_left() }
    }

    /// The end of the last wait of a turn, as its delegate is told it.
    pub(super) async fn woken(&self, turn: Turn) -> Result<Option<Answer>, EngineError> {
        let Some(woken) = self.machine.woken().filter(|woken| woken.turn == turn) else {
            return Ok(None);
        };
        let StoredParking { key, .. } = self.journal.json(woken.detail, "wait").await?;
        let value = match woken.answer {
            Some(answer) => self.journal.json::<StoredWoken>(answer, "answer").await?.value,
            None => Value::Null,
        };
        Ok(Some(Answer { key, value }))
    }
}

/// A note as an input; its content is staged.
pub(super) fn noted(turn: Turn, note: Note, blobs: &mut Vec<Blob>) -> Input {
    let Note { kind, content, usage } = note;
    Input::Noted { turn, kind, content: content::keep(blobs, content), usage }
}
