//! The table of chunks, as the original reads it.

use std::collections::HashMap;

use super::directory::{Directory, Found};
use super::json::{self, JsonError, MAX_CHUNK_DEPTH, Object, Value};
use super::lines::split_lines;
use super::model::Span;
use super::number::Integer;
use super::text::Text;
use super::{CHUNKS, CompatError, raised};

/// The most bytes of the table.
pub const MAX_TABLE_BYTES: u64 = 1 << 30;

/// What the table says of chunks, by their ids. Of lines for one chunk, the last counts.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    spans: HashMap<Text, Span>,
    hashes: HashMap<Text, Text>,
}

impl Chunks {
    /// The table of a run; `None` if it has none.
    ///
    /// # Errors
    /// [`CompatError`] where the original raises or waits for ever, or beyond a bound.
    pub(super) fn read(directory: &Directory<'_>) -> Result<Option<Self>, CompatError> {
        let mut bytes = Vec::new();
        match directory.read(CHUNKS, MAX_TABLE_BYTES, &mut bytes)? {
            Found::File => {}
            Found::Nothing | Found::Loop => return Ok(None),
            Found::Folder => return raised("IsADirectoryError"),
            Found::Outside => return Err(CompatError::LinkOutside { path: CHUNKS.to_owned() }),
        }
        let Ok(text) = String::from_utf8(bytes) else { return raised("UnicodeDecodeError") };
        let mut chunks = Self::default();
        for line in split_lines(&text) {
            let row = json::read(line, MAX_CHUNK_DEPTH).map_err(JsonError::into_compat)?;
            let Some(row) = row.as_object() else { return raised("AttributeError") };
            chunks.add(row)?;
        }
        Ok(Some(chunks))
    }

    /// The span of a chunk in its document.
    pub(super) fn span(&self, id: &Text) -> Option<&Span> {
        self.spans.get(id)
    }

    /// The hash of a chunk.
    pub(super) fn sha256(&self, id: &Text) -> Option<&Text> {
        self.hashes.get(id)
    }

    fn add(&mut self, row: &Object) -> Result<(), CompatError> {
        let Some(id) = row.get("chunk_id").map(shown).filter(|id| !id.is_empty()) else {
            return Ok(());
        };
        let (Some(start), Some(end)) = (row.get("start_byte"), row.get("end_byte")) else {
            return Ok(());
        };
        let span = Span { start: whole(start)?, end: whole(end)? };
        self.spans.insert(id.clone(), span);
        if let Some(sha256) = row.get("chunk_sha256") {
            self.hashes.insert(id, shown(sha256));
        }
        Ok(())
    }
}

/// A value as `str` shows it, as far as it can be a digest.
fn shown(value: &Value) -> Text {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(integer) => Text::of(&integer.to_string()),
        _ => Text::of("no digest"),
    }
}

/// A value as `int` takes it.
fn whole(value: &Value) -> Result<Integer, CompatError> {
    let whole = match value {
        Value::Integer(integer) => Some(integer.clone()),
        Value::Bool(bool) => Some(i64::from(*bool).into()),
        Value::Float(float) if float.is_infinite() => return raised("OverflowError"),
        Value::Float(float) => Integer::of_float(*float),
        Value::Text(text) => Integer::of_text(text),
        Value::Null | Value::List(_) | Value::Object(_) => return raised("TypeError"),
    };
    whole.ok_or(CompatError::Raised { exception: "ValueError" })
}
