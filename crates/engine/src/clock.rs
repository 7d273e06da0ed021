//! Wall time as an input.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the time. The machine never reads a clock; the driver reads this one.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// The clock of the operating system, without its steps backwards: while the process lives, this
/// time never falls behind the time that has passed.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        static ORIGIN: OnceLock<(Instant, u64)> = OnceLock::new();
        let (started, started_ms) = *ORIGIN.get_or_init(|| (Instant::now(), wall_ms()));
        let passed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        wall_ms().max(started_ms.saturating_add(passed_ms))
    }
}

fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
