//! Notes of the delegate at work: into the log, without disturbing it.

use probity_core::{Effect, Input, MAX_NOTES, Stage, Turn};
use probity_delegate::{Answer, Budget, Note, Notes};
use serde_json::Value;
use std::sync::Arc;

use super::Driver;
use crate::EngineError;
use crate::content::{self, Blob, StoredParking, StoredWoken};
use crate::notebook::{RunNotebook, Wanted};

impl Driver<'_> {
    /// Makes a note durable, and tells the delegate so.
    pub(super) async fn note(&mut self, wanted: Wanted) -> Result<(), EngineError> {
        let Wanted { note, kept } = wanted;
        let Stage::Delegated { turn } = self.machine.stage() else { return Ok(()) };
        if self.machine.notes().len() >= MAX_NOTES {
            // Not told that it is kept, the delegate stops.
            return Ok(());
        }
        let mut blobs = Vec::new();
        let input = noted(turn, note, &mut blobs);
        self.journal.stage(blobs);
        self.machine.handle(self.engine.clock.now_ms(), input)?;
        if !matches!(self.machine.stage(), Stage::Delegated { .. }) {
            // The run's time is over: what follows stops the delegate.
            return Ok(());
        }
        if let Some(Effect::Append(entries)) = self.machine.poll_effect() {
            self.append(&entries).await?;
        }
        // A delegate that has gone away meanwhile needs no answer.
        kept.send(()).unwrap_or_default();
        Ok(())
    }

    /// The notebook for a dispatch.
    pub(super) fn open_notes(&mut self) -> Notes {
        let noted = self.machine.notes().to_vec();
        let (book, wanted) = RunNotebook::open(Arc::clone(&self.engine.store), noted);
        self.wanted = Some(wanted);
        Notes::new(Arc::new(book))
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
