//! A clock that only moves when it is told to.

use std::time::Duration;

use probity_engine::Clock;
use tokio::time::Instant;

/// The time of tokio as a clock: with `#[tokio::test(start_paused = true)]` or
/// [`tokio::time::pause`], it and every timer of the runtime move together, and only when nothing
/// else is left to do or [`VirtualClock::advance`] is called.
#[derive(Debug, Clone, Copy)]
pub struct VirtualClock {
    base_ms: u64,
    started: Instant,
}

impl VirtualClock {
    /// A clock that stands at `base_ms` milliseconds since the Unix epoch now.
    #[must_use]
    pub fn at(base_ms: u64) -> Self {
        Self { base_ms, started: Instant::now() }
    }

    /// Lets time pass. Timers that become due fire before this returns, those of tasks when they
    /// are polled next.
    ///
    /// # Panics
    /// If the time of the runtime is not paused, as [`tokio::time::advance`] does.
    pub async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        let passed_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.base_ms.saturating_add(passed_ms)
    }
}
