//! Leases that this process holds, and until when.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Leases that are remembered at most. One that is forgotten is lost before its time.
const MAX_HELD: usize = 65_536;
/// A lease ends here before it ends at the server, by a tenth of it and at most by this, so that
/// what was sent in time also arrives in time.
const MARGIN_MAX: Duration = Duration::from_secs(1);

/// The deadlines of leases, by handle, on the monotonic clock of this process.
#[derive(Debug)]
pub(crate) struct Held {
    lasts: Duration,
    until: Mutex<HashMap<String, Instant>>,
}

impl Held {
    pub(crate) fn new(lease_ttl: Duration) -> Self {
        let margin = (lease_ttl / 10).min(MARGIN_MAX);
        Self { lasts: lease_ttl.saturating_sub(margin), until: Mutex::default() }
    }

    /// A lease that the server gave, or made longer, at `since` or later.
    pub(crate) fn take(&self, handle: &str, since: Instant) {
        let until = since + self.lasts;
        let mut held = self.lock();
        if held.len() >= MAX_HELD {
            let now = Instant::now();
            held.retain(|_, until| *until > now);
        }
        if held.len() < MAX_HELD {
            held.insert(handle.to_owned(), until);
        }
    }

    /// When the lease ends, if that is still to come. `None`: it is lost, or was never given here.
    pub(crate) fn until(&self, handle: &str) -> Option<Instant> {
        let mut held = self.lock();
        let until = held.get(handle).copied()?;
        if until > Instant::now() {
            return Some(until);
        }
        held.remove(handle);
        None
    }

    /// Makes a lease last from `since` on, unless it has ended meanwhile.
    pub(crate) fn renew(&self, handle: &str, since: Instant) -> bool {
        let until = since + self.lasts;
        let now = Instant::now();
        match self.lock().get_mut(handle) {
            Some(held) if until > now => {
                *held = until.max(*held);
                true
            }
            _ => false,
        }
    }

    /// Ends a lease.
    pub(crate) fn end(&self, handle: &str) {
        self.lock().remove(handle);
    }

    /// The lock is held for short stretches that cannot panic.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
