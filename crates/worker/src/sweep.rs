//! The belt: brings parked runs in to be looked at. What wakes a parked run is whoever gave it something
//! to do; the sweep is for one that died between the two, and for the times at which humans are no
//! longer waited for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use probity_core::{Code, RunId};
use probity_store::{Enqueued, Job, ParkedJob, QueueError};

use crate::WorkerEvent;
use crate::kit::Kit;
use crate::pause::{Jitter, millis};

/// Jobs of one page.
const PAGE: usize = 500;
/// Pages of one sweep; the next one goes on behind them.
const MAX_PAGES: usize = 20;
/// Jobs that are remembered from one pass to the next.
const MAX_SEEN: usize = 65_536;
/// The shortest time between two sweeps.
const MIN_PERIOD: Duration = Duration::from_millis(10);

/// Sweeps for ever.
pub(crate) async fn sweep(kit: Arc<Kit>) {
    let period = kit.options.sweep_every.max(MIN_PERIOD);
    let mut pass = Pass::default();
    let mut round = 0;
    loop {
        let jitter = Jitter::of(kit.options.seed, kit.options.worker.as_str(), round);
        tokio::time::sleep(jitter.spread(period)).await;
        round += 1;
        match pass.go_on(&kit).await {
            Ok(0) => {}
            Ok(woken) => kit.tell(&WorkerEvent::Swept { woken }),
            Err(error) => kit.tell(&WorkerEvent::StoreTrouble {
                code: Code::slug(error.code()),
                message: error.to_string(),
            }),
        }
    }
}

/// A way through all parked jobs, which may take several sweeps.
#[derive(Default)]
struct Pass {
    after: Option<RunId>,
    /// What the last way found, with the time since when it was parked.
    before: BTreeMap<RunId, u64>,
    now: BTreeMap<RunId, u64>,
}

impl Pass {
    async fn go_on(&mut self, kit: &Kit) -> Result<u64, QueueError> {
        let mut woken = 0;
        for _ in 0..MAX_PAGES {
            let jobs = kit.store().parked(self.after.as_ref(), PAGE).await?;
            let is_last = jobs.len() < PAGE;
            for job in jobs {
                self.after = Some(job.run.clone());
                if self.is_due(kit, &job)
                    && kit.store().enqueue(Job::now(job.run, job.pool, 0)).await? == Enqueued::Added
                {
                    woken += 1;
                }
            }
            if is_last {
                self.after = None;
                self.before = std::mem::take(&mut self.now);
                break;
            }
        }
        Ok(woken)
    }

    /// Whether nobody has looked at it since the last way through: that is told by what was seen then,
    /// not by the clocks of two machines. Only of what is too much to remember is the clock asked.
    fn is_due(&mut self, kit: &Kit, job: &ParkedJob) -> bool {
        if self.now.len() < MAX_SEEN {
            self.now.insert(job.run.clone(), job.since_ms);
        } else if !self.before.contains_key(&job.run) {
            let due_ms = job.since_ms.saturating_add(millis(kit.options.sweep_every));
            return due_ms <= kit.clock.now_ms();
        }
        self.before.get(&job.run) == Some(&job.since_ms)
    }
}
