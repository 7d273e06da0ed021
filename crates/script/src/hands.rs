//! The changes that one call of a tool makes to its workspace, with a bound on all of them together.

use std::sync::{Arc, Mutex, PoisonError};

use probity_verifier::{WorkspaceWriter, WriteError};

use crate::host::{Change, GateError, HostAnswer};

/// Changes that one call may make.
const MAX_CHANGES: u32 = 10_000;
/// Bytes that one call may write, those of a file appended to each time anew.
const MAX_BYTES: u64 = 256 << 20;

/// What one call may still change.
#[derive(Debug)]
pub(crate) struct Hands {
    writer: Arc<WorkspaceWriter>,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    changes: u32,
    bytes: u64,
}

impl Hands {
    pub(crate) fn new(writer: Arc<WorkspaceWriter>) -> Arc<Self> {
        Arc::new(Self { writer, used: Mutex::default() })
    }

    /// Makes one change, to its end: whoever stops waiting must not find the file changed later on.
    pub(crate) async fn make(self: &Arc<Self>, change: &Change) -> HostAnswer {
        let (hands, change) = (Arc::clone(self), change.clone());
        let made = tokio::task::spawn_blocking(move || hands.make_blocking(&change)).await;
        made.unwrap_or_else(|error| Err(GateError::Invalid(error.to_string())))
    }

    fn make_blocking(&self, change: &Change) -> HostAnswer {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.changes = used.changes.saturating_add(1);
        if used.changes > MAX_CHANGES {
            let message = format!("one call may make {MAX_CHANGES} changes at most");
            return Err(GateError::Invalid(message));
        }
        if used.bytes > MAX_BYTES {
            let message = format!("one call may write {MAX_BYTES} bytes at most");
            return Err(GateError::Invalid(message));
        }
        let (said, bytes) = self.apply(change).map_err(|error| match error {
            WriteError::Protected { .. } => GateError::Denied(error.to_string()),
            _ => GateError::Invalid(error.to_string()),
        })?;
        used.bytes = used.bytes.saturating_add(bytes);
        Ok(said.into())
    }

    /// What was done, in a few words, and the bytes that were written for it.
    fn apply(&self, change: &Change) -> Result<(String, u64), WriteError> {
        match change {
            Change::Write { path, text } => {
                let bytes = self.writer.write(path, text.as_bytes())?;
                Ok((format!("wrote {bytes} bytes to {path}"), bytes))
            }
            Change::Append { path, text } => {
                let bytes = self.writer.append(path, text.as_bytes())?;
                Ok((format!("appended {} bytes to {path}", text.len()), bytes))
            }
            Change::Mkdir { path } => {
                self.writer.mkdir(path)?;
                Ok((format!("made the folder {path}"), 0))
            }
            Change::Remove { path } => {
                self.writer.remove(path)?;
                Ok((format!("removed {path}"), 0))
            }
        }
    }
}
