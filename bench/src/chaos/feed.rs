//! Runs that come in as others end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use probity::core::RunId;
use probity::engine::SystemClock;
use probity::store::WorkStore;
use probity::worker::Fleet;

use super::agent;
use crate::error::BenchError;
use crate::fleet::tasks::Tasks;

/// How often those under way are looked up whose end nobody told: whoever knew it was killed.
const LOOK_UP: Duration = Duration::from_millis(500);
/// How often a submission is tried while a cluster chooses new leaders.
const SUBMITS: u32 = 20;
/// The pause before the next try.
const SUBMIT_AGAIN: Duration = Duration::from_millis(250);

/// What is submitted, what is under way, what has ended.
pub(super) struct Feed {
    fleet: Fleet,
    store: Arc<dyn WorkStore>,
    tasks: Tasks,
    runs: u32,
    most: usize,
    submitted: u32,
    under_way: HashMap<String, RunId>,
    looked_up: Instant,
}

impl Feed {
    pub(super) fn new(
        store: Arc<dyn WorkStore>,
        runs: u32,
        most: usize,
    ) -> Result<Self, BenchError> {
        Ok(Self {
            fleet: Fleet::new(Arc::clone(&store), Arc::new(SystemClock)),
            store,
            tasks: agent::to_submit()?,
            runs,
            most,
            submitted: 0,
            under_way: HashMap::new(),
            looked_up: Instant::now(),
        })
    }

    /// Hears of ends, and submits as many as have ended.
    pub(super) async fn turn(&mut self, lines: &Receiver<String>) -> Result<(), BenchError> {
        while let Ok(line) = lines.try_recv() {
            let ended = line.strip_prefix("ended ").and_then(|rest| rest.split(' ').next());
            if let Some(run) = ended {
                self.under_way.remove(run);
            }
        }
        if self.looked_up.elapsed() >= LOOK_UP {
            self.looked_up = Instant::now();
            let mut sealed = Vec::new();
            for (name, run) in &self.under_way {
                // A store that cannot be read just now is read again soon.
                if let Ok(Some(state)) = self.store.state(run).await
                    && state.sealed
                {
                    sealed.push(name.clone());
                }
            }
            for name in sealed {
                self.under_way.remove(&name);
            }
        }
        while self.under_way.len() < self.most && self.submitted < self.runs {
            let run = run_of(self.submitted)?;
            self.submit(&run).await?;
            self.submitted += 1;
            self.under_way.insert(run.as_str().to_owned(), run);
        }
        Ok(())
    }

    /// How much of all has ended, from 0 to 1.
    pub(super) fn share(&self) -> f64 {
        let under_way = u32::try_from(self.under_way.len()).unwrap_or(u32::MAX);
        f64::from(self.submitted.saturating_sub(under_way)) / f64::from(self.runs.max(1))
    }

    pub(super) fn is_over(&self) -> bool {
        self.submitted == self.runs && self.under_way.is_empty()
    }

    /// All that were submitted.
    pub(super) fn runs(&self) -> Vec<RunId> {
        (0..self.submitted).filter_map(|number| run_of(number).ok()).collect()
    }

    async fn submit(&self, run: &RunId) -> Result<(), BenchError> {
        let mut tries = 1;
        loop {
            match self.tasks.submit(&self.fleet, run.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) if tries >= SUBMITS => return Err(error),
                // Submitting it again changes nothing where it came through.
                Err(_) => tokio::time::sleep(SUBMIT_AGAIN).await,
            }
            tries += 1;
        }
    }
}

fn run_of(number: u32) -> Result<RunId, BenchError> {
    Ok(format!("run-{number}").parse()?)
}
