//! What people said in the midst of the work, as a delegate is told it. The same inputs give the same
//! bytes.

use std::fmt::Write as _;

use probity_core::{NoteKind, Turn, Usage, is_hidden};
use serde::{Deserialize, Serialize};

use crate::notes::{Kept, Note, NoteError};
use crate::steering::Said;
use crate::{Conversation, Request};

/// The longest that everything said is, when it is told at once, in bytes. What does not fit is the
/// oldest, and is counted.
pub const MAX_STEERING_BYTES: usize = 16 * 1024;
/// The longest that one thing said is told, in bytes after escaping.
const MAX_SAID_BYTES: usize = 4 * 1024;
/// The longest name of who said it, in bytes after escaping.
const MAX_BY_BYTES: usize = 128;
/// Room for the words around what was said.
const FRAME_BYTES: usize = 256;

const HEAD: &str = "This was said to you while you work, oldest first. Heed it from now on; where it \
                    contradicts what you were told before, it goes first.\n";

/// How much a delegate has heard. Its own key, so that it is told from the notes of sessions.
#[derive(Serialize, Deserialize)]
struct HeardNote {
    heard: usize,
}

impl Said {
    /// The words for a delegate, each between marks, escaped and cut to [`MAX_STEERING_BYTES`].
    #[must_use]
    pub fn render(all: &[Self]) -> String {
        let mut blocks = Vec::new();
        let mut room = MAX_STEERING_BYTES - FRAME_BYTES;
        for said in all.iter().rev() {
            let block = said.block();
            let Some(left) = room.checked_sub(block.len()) else { break };
            room = left;
            blocks.push(block);
        }
        let mut text = HEAD.to_owned();
        match all.len() - blocks.len() {
            0 => {}
            // Writing to a string cannot fail.
            lost => drop(writeln!(text, "({lost} earlier ones do not fit here.)")),
        }
        text.extend(blocks.into_iter().rev());
        text
    }

    fn block(&self) -> String {
        let (by, text) = (escaped(&self.by, MAX_BY_BYTES, false), self.text.trim());
        format!("\n<said by=\"{by}\">\n{}\n</said>\n", escaped(text, MAX_SAID_BYTES, true))
    }
}

impl Request {
    /// What a delegate that takes one prompt for each attempt is to be told: the prompt, and behind it
    /// what people said since the last one of the same conversation; all of it where the conversation
    /// begins. How much that is, is noted first. A turn that is asked for again is told again what it
    /// was told.
    ///
    /// # Errors
    /// [`NoteError`] if the notes cannot be read or written.
    pub async fn say(&self, conversation: Conversation) -> Result<String, NoteError> {
        let text = self.prompt.render(conversation);
        if self.steering.is_empty() {
            return Ok(text);
        }
        let heard = match conversation {
            Conversation::Same if !self.prompt.is_handed_over => {
                heard_before(&self.notes.read().await?, self.turn)
            }
            Conversation::Same | Conversation::Fresh => 0,
        };
        let said = self.steering.behind(heard);
        if said.is_empty() {
            return Ok(text);
        }
        let note = HeardNote { heard: heard.saturating_add(said.len()) };
        // A number always serializes.
        let content = serde_json::to_vec(&note).unwrap_or_default();
        let usage = Usage::default();
        self.notes.keep(Note { kind: NoteKind::Session, content, usage }).await?;
        Ok(format!("{}\n\n---\n{}", text.trim_end(), Said::render(&said)))
    }
}

/// How much was told up to the last prompt of an earlier turn.
fn heard_before(notes: &[Kept], turn: Turn) -> usize {
    let earlier = notes.iter().rev().filter(|kept| kept.turn != turn);
    let mut heard = earlier.filter_map(|kept| match kept.kind {
        NoteKind::Session => serde_json::from_slice::<HeardNote>(&kept.content).ok(),
        NoteKind::Model | NoteKind::Tool => None,
    });
    heard.next().map_or(0, |note| note.heard)
}

/// Escapes mark-up, replaces what a reader does not see, cuts at a character boundary.
fn escaped(text: &str, max_bytes: usize, takes_lines: bool) -> String {
    let mut escaped = String::new();
    for (offset, c) in text.char_indices() {
        let mut buffer = [0; 4];
        let piece: &str = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' if !takes_lines => "&quot;",
            '\n' | '\t' if takes_lines => c.encode_utf8(&mut buffer),
            c if is_hidden(c) => "\u{fffd}",
            c => c.encode_utf8(&mut buffer),
        };
        if escaped.len() + piece.len() > max_bytes {
            // Writing to a string cannot fail.
            let _ = write!(escaped, " [{} bytes cut]", text.len() - offset);
            break;
        }
        escaped.push_str(piece);
    }
    escaped
}
