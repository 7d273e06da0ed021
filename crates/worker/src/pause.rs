//! How long to wait before the next try.

use std::time::Duration;

/// After the first failure of a run.
const FAILED: Duration = Duration::from_millis(500);
/// After many.
const FAILED_MAX: Duration = Duration::from_secs(60);
/// After the first failure of the queue itself.
const TROUBLE: Duration = Duration::from_millis(100);
/// After many.
const TROUBLE_MAX: Duration = Duration::from_secs(5);

/// Before a run is tried again that failed so often: half a second, doubling to a minute, each
/// spread by a quarter to both sides.
pub(crate) fn after_failure(failures: u32, jitter: Jitter) -> Duration {
    jitter.spread(doubled(FAILED, failures, FAILED_MAX))
}

/// Before a queue is asked again that failed so often.
pub(crate) fn after_trouble(failures: u32, jitter: Jitter) -> Duration {
    jitter.spread(doubled(TROUBLE, failures, TROUBLE_MAX))
}

/// The first pause, doubled with every failure behind the first.
pub(crate) fn doubled(first: Duration, failures: u32, max: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    first.saturating_mul(1 << doublings).min(max)
}

/// Milliseconds, as events and logs have them.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A spread that is a function of a seed and of what it is for, so that it does not depend on what
/// else a worker does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn of(seed: u64, name: &str, number: u64) -> Self {
        let mut state = mixed(seed) ^ mixed(number.wrapping_add(1));
        for byte in name.bytes() {
            state = mixed(state ^ u64::from(byte));
        }
        Self(state)
    }

    /// From three quarters to five quarters of it.
    pub(crate) fn spread(self, pause: Duration) -> Duration {
        let share = u16::try_from(self.0 >> 48).unwrap_or(u16::MAX);
        pause.mul_f64(0.75 + f64::from(share) / f64::from(u16::MAX) / 2.0)
    }
}

/// The finaliser of splitmix64.
const fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
