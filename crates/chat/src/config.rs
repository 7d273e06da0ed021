//! How a chat delegate works.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;

use crate::{ChatEvent, OutputSchema, Shared};

/// A clock: milliseconds since the Unix epoch.
pub type NowMs = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A listener to the steps of an attempt. Called in the midst of the work, so it must not block.
pub type OnEvent = Arc<dyn Fn(&ChatEvent) + Send + Sync>;

/// How a [`crate::ChatDelegate`] works.
#[derive(Clone)]
pub struct ChatConfig {
    /// Who the model is to be; behind the words of the request's own profile.
    pub system: Option<String>,
    /// Calls of the model in one run, over all its attempts. 100 by default.
    pub max_model_calls: u32,
    /// Calls of tools at once. 8 by default; 0 counts as 1.
    pub max_parallel_calls: usize,
    /// The longest result of a call, in bytes; what is longer loses its middle. 64 KiB by default.
    pub max_result_bytes: usize,
    /// When a model that does not answer is asked again.
    pub retry: RetryPolicy,
    /// When the run waits for a provider that stays out of reach, instead of failing.
    pub outage: OutagePolicy,
    /// The longest that one try of a model call may take, in milliseconds. 300,000 by default.
    pub call_timeout_ms: u64,
    /// The declared output; `None` for an agent whose claim is its text.
    pub output: Option<OutputSchema>,
    /// Outputs in a row that do not fit the schema, and answers without one, that end an attempt.
    /// 3 by default.
    pub max_invalid_outputs: u32,
    /// What the tools share.
    pub shared: Shared,
    /// The clock: the time that tools see, and that waits are counted from.
    pub now_ms: NowMs,
    /// Who hears of each step.
    pub on_event: Option<OnEvent>,
}

/// When a model that does not answer is asked again: for transient failures only, after a wait that
/// doubles with every try. A part of it is spread by run and call, so that runs that failed together do
/// not come back together; the same call waits the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all. 4 by default; 0 counts as 1.
    pub max_tries: u32,
    /// The wait behind the first try, in milliseconds. 500 by default.
    pub base_ms: u64,
    /// The longest wait, in milliseconds, also where the provider asks for a longer one. 30,000 by
    /// default.
    pub max_ms: u64,
}

/// When a run waits for a provider that is out of reach: behind the tries of [`RetryPolicy`], for a
/// status of 408, 409, 425, 429 or 5xx, or a connection that failed. The run is parked, so nobody is
/// held up by it. What the provider refuses for good (400, 401, 403, 404) fails at once, always.
///
/// By default it does not wait: whoever awaits a run wants to hear of it now. Runs on workers, which
/// nobody awaits, are given [`OutagePolicy::of_workers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutagePolicy {
    /// Waits for one answer. 0 by default: the run fails.
    pub max_waits: u32,
    /// The first wait, in milliseconds; it doubles with every further one. 30,000 by default.
    pub base_ms: u64,
    /// The longest wait, in milliseconds, also where the provider asks for a longer one. 3,600,000 by
    /// default.
    pub max_ms: u64,
}

impl ChatConfig {
    /// The defaults, with this clock.
    #[must_use]
    pub fn new(now_ms: NowMs) -> Self {
        Self {
            system: None,
            max_model_calls: 100,
            max_parallel_calls: 8,
            max_result_bytes: 64 * 1024,
            retry: RetryPolicy::default(),
            outage: OutagePolicy::default(),
            call_timeout_ms: 300_000,
            output: None,
            max_invalid_outputs: 3,
            shared: Shared::default(),
            now_ms,
            on_event: None,
        }
    }
}

impl fmt::Debug for ChatConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatConfig")
            .field("max_model_calls", &self.max_model_calls)
            .field("max_parallel_calls", &self.max_parallel_calls)
            .field("max_result_bytes", &self.max_result_bytes)
            .field("retry", &self.retry)
            .field("outage", &self.outage)
            .field("call_timeout_ms", &self.call_timeout_ms)
            .field("output", &self.output)
            .field("max_invalid_outputs", &self.max_invalid_outputs)
            .finish_non_exhaustive()
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_tries: 4, base_ms: 500, max_ms: 30_000 }
    }
}

impl Default for OutagePolicy {
    fn default() -> Self {
        Self { max_waits: 0, base_ms: 30_000, max_ms: 3_600_000 }
    }
}

impl OutagePolicy {
    /// Five waits for one answer: 30 s, doubling, a quarter of an hour in all.
    #[must_use]
    pub fn of_workers() -> Self {
        Self { max_waits: 5, ..Self::default() }
    }

    /// The next wait, behind so many for the same answer, where the provider asked for
    /// `retry_after_ms`; `None` where there is none left.
    #[must_use]
    pub fn wait_ms(&self, waited: u32, retry_after_ms: Option<u64>) -> Option<u64> {
        let grown_ms = self.base_ms.saturating_mul(1 << waited.min(32));
        let wait_ms = grown_ms.max(retry_after_ms.unwrap_or_default()).min(self.max_ms);
        (waited < self.max_waits).then_some(wait_ms)
    }
}

impl RetryPolicy {
    /// The wait behind a failed try (1-based) of a run's model call, where the provider asked for
    /// `retry_after_ms`. Without that: from half of the doubled base up to all of it.
    #[must_use]
    pub fn wait(
        &self,
        run: &RunId,
        number: u32,
        failed_try: u32,
        retry_after_ms: Option<u64>,
    ) -> Duration {
        if let Some(retry_after_ms) = retry_after_ms {
            return Duration::from_millis(retry_after_ms.min(self.max_ms));
        }
        let doublings = failed_try.saturating_sub(1).min(63);
        let whole_ms = self.base_ms.saturating_mul(1 << doublings).min(self.max_ms);
        let spread_ms = whole_ms / 2;
        let place = fingerprint(run, number, failed_try) % spread_ms.saturating_add(1);
        Duration::from_millis(whole_ms - spread_ms + place)
    }
}

/// FNV-1a, which spreads well enough to keep retries apart and needs no dependency.
fn fingerprint(run: &RunId, number: u32, failed_try: u32) -> u64 {
    let numbers = number.to_le_bytes().into_iter().chain(failed_try.to_le_bytes());
    run.as_str().bytes().chain(numbers).fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_are_spread_by_run_and_bounded() {
        let policy = RetryPolicy::default();
        let run: RunId = "run-1".parse().unwrap();
        for (failed_try, whole_ms) in [(1, 500), (2, 1000), (3, 2000), (7, 30_000), (80, 30_000)] {
            let wait_ms = policy.wait(&run, 0, failed_try, None).as_millis();
            assert!((whole_ms / 2..=whole_ms).contains(&wait_ms), "{failed_try}: {wait_ms}");
            assert_eq!(policy.wait(&run, 0, failed_try, None).as_millis(), wait_ms);
        }
        let waits: std::collections::HashSet<_> = (0..50)
            .map(|n| policy.wait(&format!("run-{n}").parse().unwrap(), 0, 1, None))
            .collect();
        assert!(waits.len() > 25, "{} of 50 differ", waits.len());
        assert_eq!(policy.wait(&run, 0, 1, Some(7)), Duration::from_millis(7));
        assert_eq!(policy.wait(&run, 0, 1, Some(90_000)), Duration::from_millis(30_000));
        let none = RetryPolicy { base_ms: 0, ..policy };
        assert_eq!(none.wait(&run, 0, 9, None), Duration::ZERO);
    }
}
