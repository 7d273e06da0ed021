//! Drift that comes back weighs more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Serialize;

use super::DriftSeverity;

/// Fingerprints that are remembered before the longest unseen are forgotten.
pub const MAX_TRACKED: usize = 100_000;

/// Counts signals by fingerprint within a window, at constant cost per signal.
///
/// Within the window the second signal of a fingerprint is at least yellow, the third and every
/// later one is red and asks for a patch. Only the last two times of a fingerprint are kept, because
/// more cannot change the answer. Memory is bounded by [`MAX_TRACKED`] fingerprints in each of two
/// generations: one that has not come up while that many others did is forgotten.
///
/// Source: seed 001's system documents this escalation.
#[derive(Debug)]
pub struct DriftCounter {
    window_ms: u64,
    max_tracked: usize,
    young: HashMap<String, Seen>,
    old: HashMap<String, Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    last_ms: u64,
    before_ms: Option<u64>,
}

/// What a signal comes to in its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Recurrence {
    /// Which it is in the window: 1, 2, or 3 for the third and every later one.
    pub occurrence: u8,
    /// Its severity, raised where it recurs.
    pub severity: DriftSeverity,
    /// Whether the patch that it recommends is due.
    pub is_patch_due: bool,
}

impl DriftCounter {
    /// A counter with a window in milliseconds.
    #[must_use]
    pub fn new(window_ms: u64) -> Self {
        Self::with_bound(window_ms, MAX_TRACKED)
    }

    /// A counter that keeps at least `max_tracked` fingerprints, and at most twice as many.
    #[must_use]
    pub fn with_bound(window_ms: u64, max_tracked: usize) -> Self {
        let max_tracked = max_tracked.clamp(1, MAX_TRACKED);
        Self { window_ms, max_tracked, young: HashMap::new(), old: HashMap::new() }
    }

    /// Counts one signal. Times may come in any order: two signals are in one window if they are at
    /// most its length apart.
    pub fn observe(&mut self, key: &str, severity: DriftSeverity, at_ms: u64) -> Recurrence {
        let is_new = !self.young.contains_key(key);
        if is_new && self.young.len() >= self.max_tracked {
            self.old = std::mem::take(&mut self.young);
        }
        let known = if is_new { self.old.remove(key) } else { None };
        let window_ms = self.window_ms;
        let is_near = |ms: &u64| ms.abs_diff(at_ms) <= window_ms;
        let seen = match self.young.entry(key.to_owned()) {
            Entry::Occupied(seen) => Some(seen.into_mut()),
            Entry::Vacant(place) => match known {
                Some(seen) => Some(place.insert(seen)),
                None => {
                    place.insert(Seen { last_ms: at_ms, before_ms: None });
                    None
                }
            },
        };
        let earlier = seen.map_or(0, |seen| {
            let times = [Some(seen.last_ms), seen.before_ms];
            let earlier = times.iter().flatten().filter(|ms| is_near(ms)).count();
            *seen = seen.with(at_ms);
            earlier
        });
        match earlier {
            0 => Recurrence { occurrence: 1, severity, is_patch_due: false },
            1 => Recurrence {
                occurrence: 2,
                severity: severity.max(DriftSeverity::Yellow),
                is_patch_due: false,
            },
            _ => Recurrence { occurrence: 3, severity: DriftSeverity::Red, is_patch_due: true },
        }
    }
}

impl Seen {
    /// The two latest of three times.
    fn with(self, at_ms: u64) -> Self {
        let mut times = [Some(at_ms), Some(self.last_ms), self.before_ms];
        times.sort_unstable();
        let [_, before_ms, last_ms] = times;
        Self { last_ms: last_ms.unwrap_or(at_ms), before_ms }
    }
}
