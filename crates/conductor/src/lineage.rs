//! How many runs a run began, and those that it began: counted once from the logs, then kept.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use probity_core::RunId;
use probity_workflow::Event;
use tokio::sync::Mutex;

use crate::ConductError;
use crate::follower::Follower;
use crate::house::House;

/// Counts that are kept before those of ended runs are let go of.
const MAX_KEPT: usize = 1_024;

type Count = Arc<Mutex<Option<usize>>>;

/// Counts by the run that nobody began as a child.
#[derive(Default)]
pub(crate) struct Lineages(Mutex<HashMap<RunId, Count>>);

impl Lineages {
    /// Counts one more, unless there are as many as may be.
    pub(crate) async fn admit(&self, house: &Arc<House>, root: &RunId) -> Result<(), ConductError> {
        let max = house.options.max_descendants;
        let slot = self.slot(house, root).await;
        let mut count = slot.lock().await;
        let begun = match *count {
            Some(begun) => begun,
            None => counted(house, root, max).await?,
        };
        *count = Some(begun);
        if begun >= max {
            return Err(ConductError::TooMany { max });
        }
        *count = Some(begun.saturating_add(1));
        Ok(())
    }

    /// One that was counted did not begin.
    pub(crate) async fn withdraw(&self, root: &RunId) {
        let slot = self.0.lock().await.get(root).cloned();
        if let Some(slot) = slot {
            let mut count = slot.lock().await;
            *count = count.map(|begun| begun.saturating_sub(1));
        }
    }

    async fn slot(&self, house: &House, root: &RunId) -> Count {
        let mut counts = self.0.lock().await;
        if counts.len() >= MAX_KEPT {
            counts.retain(|run, _| house.is_live(run));
        }
        Arc::clone(counts.entry(root.clone()).or_default())
    }
}

/// What the logs say, no further than to the bound.
async fn counted(house: &Arc<House>, root: &RunId, max: usize) -> Result<usize, ConductError> {
    let (mut begun, mut above) = (0, VecDeque::from([root.clone()]));
    while let Some(run) = above.pop_front() {
        let mut read = Follower::new(Arc::clone(house), run, 0);
        while read.read_chunk().await? {}
        for entry in read.into_read().0 {
            let Event::NodeDispatched { child, .. } = &entry.event else { continue };
            // It is named before it begins.
            if house.store.state(child).await?.is_none() {
                continue;
            }
            begun += 1;
            if begun >= max {
                return Ok(begun);
            }
            above.push_back(child.clone());
        }
    }
    Ok(begun)
}
