//! Keeps a lease while a run is at work.
//!
//! A heartbeat is due every half of a lease, so that a run whose worker is gone is free again after two
//! heartbeats at most. The rest of the lease is for what goes wrong with one: what fails is tried again
//! every twentieth of it, what hangs is given up after an eighth, and whoever got none through by
//! four fifths lets go. No provider ends a lease before nine tenths.

use std::time::Duration;

use probity_store::{Lease, LeaseError, WorkStore};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Beats until the lease is lost: the queue says so, or no beat went through for so long that the
/// lease may run out before anybody could say. Never returns while it is kept.
pub(crate) async fn beat(store: &dyn WorkStore, lease: &Lease) {
    let ttl = store.lease_ttl();
    // By the local clock, counted from before the call that kept it: the queue counts from later.
    let mut kept = Instant::now();
    let mut next = kept + ttl / 2;
    loop {
        let gives_up = kept + ttl.mul_f64(0.8);
        sleep_until(next.min(gives_up)).await;
        let asked = Instant::now();
        if asked >= gives_up {
            return;
        }
        // A call that hangs leaves time for another one.
        let patience = (asked + (ttl / 8).max(Duration::from_millis(1))).min(gives_up);
        match timeout_at(patience, store.heartbeat(lease)).await {
            Ok(Ok(())) => {
                kept = asked;
                next = asked + ttl / 2;
            }
            Ok(Err(LeaseError::Lost)) => return,
            Ok(Err(_)) | Err(_) => next = Instant::now() + ttl / 20,
        }
    }
}
