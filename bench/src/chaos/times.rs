//! How long runs stood still whose worker was killed.

use serde::Serialize;

use super::proof::Held;

/// Somebody who was killed, and when, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Kill {
    pub(super) who: String,
    pub(super) at_ms: u64,
}

/// From a kill to the next lease of every run that the worker held, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Resumption {
    pub(super) runs: usize,
    pub(super) p50_ms: u64,
    pub(super) p99_ms: u64,
    pub(super) max_ms: u64,
    /// What it must not be above: the lease, and a second.
    pub(super) bound_ms: u64,
    pub(super) above_bound: usize,
    /// Runs that a killed worker held and that nobody took up, because only the queue had yet to hear
    /// of their end.
    pub(super) at_their_end: usize,
}

/// The times of all kills. Apart from those for which `is_counted` is false.
pub(super) fn resumption(
    kills: &[Kill],
    held: &[Held],
    bound_ms: u64,
    is_counted: impl Fn(&Kill) -> bool,
) -> Resumption {
    let mut times = Vec::new();
    let mut at_their_end = 0;
    for kill in kills.iter().filter(|kill| is_counted(kill)) {
        for run in held {
            let before = run.leases.iter().rfind(|(at_ms, _)| *at_ms <= kill.at_ms);
            let is_his = before.is_some_and(|(_, who)| *who == kill.who);
            // What was written in the last millisecond stands on either side.
            if !is_his || run.sealed_ms <= kill.at_ms {
                continue;
            }
            match run.leases.iter().find(|(at_ms, _)| *at_ms > kill.at_ms) {
                Some((at_ms, _)) => times.push(at_ms - kill.at_ms),
                None => at_their_end += 1,
            }
        }
    }
    times.sort_unstable();
    let at =
        |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
    Resumption {
        runs: times.len(),
        p50_ms: at(50).copied().unwrap_or(0),
        p99_ms: at(99).copied().unwrap_or(0),
        max_ms: times.last().copied().unwrap_or(0),
        bound_ms,
        above_bound: times.iter().filter(|time| **time > bound_ms).count(),
        at_their_end,
    }
}

/// Half, 99 of a hundred, and the longest of the times from the opening of a run to its first lease,
/// in milliseconds.
pub(super) fn pickup(held: &[Held]) -> [u64; 3] {
    let first = |run: &Held| Some(run.leases.first()?.0.saturating_sub(run.opened_ms));
    let mut times: Vec<u64> = held.iter().filter_map(first).collect();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or(0);
    [at(50), at(99), times.last().copied().unwrap_or(0)]
}
