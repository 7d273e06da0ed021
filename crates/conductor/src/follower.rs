//! The events of one run, as they come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_workflow::Entry;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::ConductError;
use crate::house::House;
use crate::journal::{CHUNK, Journal};

/// How long one wait for an append lasts, where nobody here drives the run.
const PERIOD: Duration = Duration::from_secs(5);

/// Follows one run: what is recorded first, then what comes. A slow follower reads the log again; it
/// neither holds the run up nor misses anything.
pub struct Follower {
    house: Arc<House>,
    run: RunId,
    journal: Journal,
    /// The next event.
    sequence: u64,
    ready: VecDeque<Arc<Entry>>,
    live: Option<broadcast::Receiver<Arc<Entry>>>,
    /// Whether the log was read to its end since [`Self::live`] listens.
    is_level: bool,
    is_over: bool,
    is_placed: bool,
}

impl Follower {
    /// The run's log from `sequence` on.
    pub(crate) fn new(house: Arc<House>, run: RunId, sequence: u64) -> Self {
        let journal = Journal::new(Arc::clone(&house.store), run.clone());
        let (ready, live) = (VecDeque::new(), None);
        let (is_level, is_over, is_placed) = (false, false, false);
        Self { house, run, journal, sequence, ready, live, is_level, is_over, is_placed }
    }

    /// The next event; `None` behind the last one of the run. Dropping the call loses nothing.
    ///
    /// # Errors
    /// The log cannot be read. Asking again is safe.
    pub async fn next(&mut self) -> Result<Option<Arc<Entry>>, ConductError> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                self.sequence = entry.sequence.saturating_add(1);
                return Ok(Some(entry));
            }
            if self.is_over {
                return Ok(None);
            }
            if self.is_level {
                self.hear().await?;
            } else {
                self.read().await?;
            }
        }
    }

    /// Reads the log on, having listened before, so that nothing lies between.
    async fn read(&mut self) -> Result<(), ConductError> {
        if self.live.is_none() {
            self.live = self.house.listen(&self.run);
        }
        self.is_level = !self.read_chunk().await?;
        Ok(())
    }

    /// False at the end of the log.
    pub(crate) async fn read_chunk(&mut self) -> Result<bool, ConductError> {
        if !self.is_placed {
            self.journal.seek(self.sequence).await?;
            self.is_placed = true;
        }
        let steps = self.journal.read(CHUNK).await?;
        let is_some = !steps.is_empty();
        for entry in steps.into_iter().flat_map(|recorded| recorded.step.entries) {
            self.is_over |= entry.event.is_terminal();
            if entry.sequence >= self.sequence {
                self.ready.push_back(Arc::new(entry));
            }
        }
        Ok(is_some)
    }

    /// What was read and not yet handed out, and whether the run ends with it.
    pub(crate) fn into_read(self) -> (VecDeque<Arc<Entry>>, bool) {
        (self.ready, self.is_over)
    }

    /// How much was read and not yet handed out, and whether the run ends with it.
    pub(crate) fn read_so_far(&self) -> (usize, bool) {
        (self.ready.len(), self.is_over)
    }

    async fn hear(&mut self) -> Result<(), ConductError> {
        let Some(live) = &mut self.live else {
            self.house.store.wait_beyond(&self.run, self.journal.len(), PERIOD).await?;
            self.is_level = false;
            return Ok(());
        };
        match live.recv().await {
            Ok(entry) if entry.sequence < self.sequence => {}
            Ok(entry) if entry.sequence == self.sequence => {
                self.is_over = entry.event.is_terminal();
                self.ready.push_back(entry);
            }
            // Some were missed: they are in the log.
            Ok(_) | Err(RecvError::Lagged(_)) => self.is_level = false,
            Err(RecvError::Closed) => {
                self.live = None;
                self.is_level = false;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower")
            .field("run", &self.run)
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}
