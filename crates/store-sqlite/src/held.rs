//! The leases that this store gave, by the clock that nobody sets.

use std::collections::BTreeMap;
use std::time::Instant;

use probity_store::Lease;

/// Leases that may be here before those that ran out are looked for.
const SWEEP_FROM: usize = 1024;

/// When each lease runs out at the latest, by its ticket. One that is not here was not given by this
/// store, or has ended.
#[derive(Debug, Default)]
pub(crate) struct Held {
    until: BTreeMap<i64, Instant>,
    sweep_at: usize,
}

impl Held {
    /// The number that a lease is known by.
    pub(crate) fn ticket(lease: &Lease) -> Option<i64> {
        lease.handle.parse().ok()
    }

    /// The ticket of a lease that has not run out.
    pub(crate) fn live(&self, lease: &Lease, now: Instant) -> Option<i64> {
        let ticket = Self::ticket(lease)?;
        self.until.get(&ticket).is_some_and(|until| now < *until).then_some(ticket)
    }

    /// A lease was given.
    pub(crate) fn give(&mut self, lease: &Lease, until: Instant, now: Instant) {
        if self.until.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.until.retain(|_, until| now < *until);
            self.sweep_at = self.until.len().saturating_mul(2);
        }
        self.keep(lease, until);
    }

    /// A lease lasts for longer.
    pub(crate) fn keep(&mut self, lease: &Lease, until: Instant) {
        if let Some(ticket) = Self::ticket(lease) {
            self.until.insert(ticket, until);
        }
    }

    /// A lease has ended.
    pub(crate) fn forget(&mut self, lease: &Lease) {
        if let Some(ticket) = Self::ticket(lease) {
            self.until.remove(&ticket);
        }
    }
}
