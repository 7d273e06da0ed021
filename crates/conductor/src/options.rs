//! What a conductor may use at most.

use std::time::Duration;

/// The bounds of a conductor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConductorOptions {
    /// Runs that are driven at one time, their children not counted. Beyond it nothing is begun.
    pub max_live_runs: usize,
    /// How deep runs may begin runs.
    pub max_depth: u32,
    /// Runs that one run, and those that it began, may begin in all.
    pub max_descendants: usize,
    /// Inputs that wait for one run. Whoever has one more waits.
    pub mailbox: usize,
    /// Entries of one run that are kept for its followers. Who is further behind reads the log again.
    pub follower_entries: usize,
    /// Entries that are kept for [`crate::Conductor::subscribe`].
    pub subscriber_entries: usize,
    /// Runs that [`crate::Conductor::recover`] reads at one time.
    pub recover_at_once: usize,
    /// How often a store or a delegation that fails is asked again, the first time included.
    pub max_tries: u32,
    /// The pause before it is asked again; doubles.
    pub try_again: Duration,
    /// The longest such pause.
    pub try_again_max: Duration,
}

impl Default for ConductorOptions {
    fn default() -> Self {
        Self {
            max_live_runs: 10_000,
            max_depth: 16,
            max_descendants: 10_000,
            mailbox: 64,
            follower_entries: 256,
            subscriber_entries: 4096,
            recover_at_once: 16,
            max_tries: 10,
            try_again: Duration::from_millis(100),
            try_again_max: Duration::from_secs(30),
        }
    }
}

impl ConductorOptions {
    /// The pause before the next try.
    pub(crate) fn pause(&self, tries: u32) -> Duration {
        let doubled = self.try_again.saturating_mul(1 << tries.saturating_sub(1).min(20));
        doubled.min(self.try_again_max)
    }
}
