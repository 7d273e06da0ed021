//! What a run keeps, for those who read it without driving it.

use probity_core::{Delegation, Digest, Entry, Event, RunId};
use probity_delegate::Kept;
use probity_record::read_records;
use probity_store::{Store, read_run};
use serde::de::DeserializeOwned;

use crate::EngineError;
use crate::journal::MAX_BLOB_BYTES;

/// The entries of a run. Its chain is checked on the way; whether every event is one that the machine
/// would have written is not.
///
/// # Errors
/// [`EngineError`] if there is no such run, or its log cannot be read.
pub async fn read_entries(store: &dyn Store, run: &RunId) -> Result<Vec<Entry>, EngineError> {
    let records = read_run(store, run).await?;
    if records.is_empty() {
        return Err(EngineError::Missing { run: run.clone() });
    }
    Ok(read_records(&records)?.entries)
}

/// The request that a run was opened with, as bytes.
///
/// # Errors
/// As [`read_entries`].
pub async fn read_request(store: &dyn Store, run: &RunId) -> Result<Vec<u8>, EngineError> {
    // The request stands in the first record, however long the log is.
    let first = store.read(run, 0, 1).await?;
    let entries = match first.is_empty() {
        true => Vec::new(),
        false => read_records(&first)?.entries,
    };
    let opened = entries.first().and_then(|entry| match &entry.event {
        Event::RunOpened { request, .. } => Some(*request),
        _ => None,
    });
    read_blob(store, opened.ok_or_else(|| EngineError::Missing { run: run.clone() })?).await
}

/// The notes of a run, oldest first.
///
/// # Errors
/// As [`read_entries`]; [`EngineError::Replay`] if the log is not a legal run.
pub async fn read_notes(store: &dyn Store, run: &RunId) -> Result<Vec<Kept>, EngineError> {
    let machine = Delegation::replay(&read_entries(store, run).await?)?;
    let mut notes = Vec::with_capacity(machine.notes().len());
    for noted in machine.notes() {
        let content = read_blob(store, noted.content).await?;
        notes.push(Kept { turn: noted.turn, kind: noted.kind, content });
    }
    Ok(notes)
}

/// Content that a log names, as bytes: at most 64 MiB.
///
/// # Errors
/// [`EngineError`] if it is missing or cannot be read.
pub async fn read_blob(store: &dyn Store, digest: Digest) -> Result<Vec<u8>, EngineError> {
    let bytes = store.get(&digest, MAX_BLOB_BYTES).await?;
    bytes.ok_or(EngineError::BlobMissing { digest })
}

/// JSON content that a log names; `what` it is, for the error.
///
/// # Errors
/// As [`read_blob`]; [`EngineError::Content`] if it is not what it should be.
pub async fn read_json<T: DeserializeOwned>(
    store: &dyn Store,
    digest: Digest,
    what: &'static str,
) -> Result<T, EngineError> {
    let bytes = read_blob(store, digest).await?;
    serde_json::from_slice(&bytes).map_err(|error| EngineError::Content {
        what,
        digest,
        detail: error.to_string(),
    })
}
