//! Who asked for a run to be stopped, and why.

use probity_core::{Event, Outcome};
use probity_engine::{EngineError, Report, read_entries, read_json};
use probity_store::Store;
use serde::{Deserialize, Serialize};

use super::{block, line};

/// Somebody who asked for a run to be stopped.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct StoppedBy {
    /// Who says so.
    by: String,
    /// Why; empty where that was not said.
    #[serde(default, rename(deserialize = "text"))]
    reason: String,
}

impl StoppedBy {
    /// Whoever asked for the run to be stopped, where that is recorded and the run did not end in
    /// another way.
    ///
    /// # Errors
    /// [`EngineError`] if the log, or what it names, cannot be read.
    pub(crate) async fn of(
        store: &dyn Store,
        report: &Report,
    ) -> Result<Option<Self>, EngineError> {
        if !matches!(report.outcome, None | Some(Outcome::Cancelled | Outcome::Escalated)) {
            return Ok(None);
        }
        let entries = read_entries(store, &report.run_id).await?;
        let asked = entries.into_iter().find_map(|entry| match entry.event {
            Event::CancelRequested { by } => Some(by),
            _ => None,
        });
        match asked {
            Some(digest) => read_json(store, digest, "cancellation").await.map(Some),
            None => Ok(None),
        }
    }

    /// Who and why, as clean lines.
    pub(super) fn said(&self) -> Vec<String> {
        let by = line(&self.by);
        let mut lines = block(&self.reason);
        match lines.first_mut() {
            Some(first) => *first = format!("by {by}: {first}"),
            None => lines.push(format!("by {by}")),
        }
        lines
    }
}
