//! What all parts of one worker share.

use std::sync::Arc;

use probity_core::Entry;
use probity_core::RunId;
use probity_engine::{Clock, Engine, Watch};
use probity_store::WorkStore;

use crate::{Fleet, Planner, WorkerEvent, WorkerOptions, WorkerWatch};

/// One worker's own things.
pub(crate) struct Kit {
    pub(crate) fleet: Fleet,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) planner: Arc<dyn Planner>,
    pub(crate) options: WorkerOptions,
    pub(crate) watch: Arc<dyn WorkerWatch>,
}

impl Kit {
    pub(crate) const fn engine(&self) -> &Engine {
        self.fleet.engine()
    }

    pub(crate) fn store(&self) -> &dyn WorkStore {
        self.fleet.store().as_ref()
    }

    pub(crate) fn tell(&self, event: &WorkerEvent) {
        self.watch.event(event);
    }

    /// Passes a run's entries on, with the run's name.
    pub(crate) const fn eye<'a>(&'a self, run: &'a RunId) -> Eye<'a> {
        Eye { kit: self, run }
    }
}

/// Watches one run.
pub(crate) struct Eye<'a> {
    kit: &'a Kit,
    run: &'a RunId,
}

impl Watch for Eye<'_> {
    fn entry(&self, entry: &Entry) {
        self.kit.watch.entry(self.run, entry);
    }
}
