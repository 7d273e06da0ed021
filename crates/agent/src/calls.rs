//! One call of a verifier at a time for each run, whoever drives it in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use probity_core::RunId;
use tokio::sync::Semaphore;

/// The permits of the runs at work. A blocking verifier that was given up holds its permit until it
/// ends, and a driver that takes the run up meanwhile waits for it.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    runs: Mutex<HashMap<RunId, Weak<Semaphore>>>,
}

impl Calls {
    /// The permit of a run.
    pub(crate) fn of(&self, run: &RunId) -> Arc<Semaphore> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(alive) = runs.get(run).and_then(Weak::upgrade) {
            return alive;
        }
        // Now and then, so that many runs at once do not pay for each other.
        if runs.len().is_power_of_two() {
            runs.retain(|_, alive| alive.strong_count() > 0);
        }
        let alive = Arc::new(Semaphore::new(1));
        runs.insert(run.clone(), Arc::downgrade(&alive));
        alive
    }
}
