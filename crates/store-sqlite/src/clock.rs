//! One moment on the two clocks of a queue.
//!
//! When a lease runs out and when a job is due is kept in the file, so it goes by the wall clock: it is
//! the only one that processes and restarts have in common. People and time servers set that clock.
//!
//! - Set forward, leases run out and delays end too early. That is harmless: whoever held such a lease
//!   is told that it is lost, and its epoch keeps it from appending.
//! - Set back, they would last too long: by as much as the clock was set. So each row keeps how long its
//!   time was meant to last. No time can be further away than that, and where one is, it begins anew.
//! - Whoever holds a lease also goes by its own monotonic clock, which nobody sets: once that says that
//!   the lease has run out, it has, whatever the file says.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Read first, so that a holder's own time ends no later than the file's.
    pub(crate) instant: Instant,
    /// Milliseconds since the Unix epoch; a clock before 1970 reads as 0.
    pub(crate) wall_ms: i64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        let instant = Instant::now();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant, wall_ms: millis(since) }
    }
}

/// In whole milliseconds, rounded up: no delay ends early.
pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}
