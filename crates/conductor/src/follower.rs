//! The events of one run, as they come.

use std::sync::Arc;

use probity_workflow::Entry;

use crate::ConductError;

/// Follows one run: what is recorded first, then what comes. A slow follower reads the log again; it
/// neither holds the run up nor misses anything.
#[derive(Debug)]
pub struct Follower {
    _built: (),
}

impl Follower {
    /// The next event; `None` behind the last one of the run. Dropping the call loses nothing.
    ///
    /// # Errors
    /// The log cannot be read. Asking again is safe.
    #[expect(clippy::unused_async, reason = "the face stands before its body")]
    pub async fn next(&mut self) -> Result<Option<Arc<Entry>>, ConductError> {
        Err(ConductError::Stopping)
    }
}
