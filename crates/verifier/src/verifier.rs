//! The one trait of this crate.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Fault, Verdict};

use crate::CheckContext;

/// Code that reads ground truth and decides.
///
/// The result is a verdict or a fault, never both: a verifier that cannot do its work returns
/// `Err`, and no caller may read that as "not verified" or as a pass.
#[async_trait]
pub trait Verifier: Send + Sync {
    /// Judges the world in `ctx`.
    ///
    /// # Errors
    /// A [`Fault`] when the verifier itself broke: it does not compile, raises, exceeds its own
    /// limits, crashes, or returns something that is not a verdict. Ground truth that cannot be
    /// reached is not a fault but [`probity_core::VerdictKind::Inconclusive`].
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault>;

    /// Whether it never blocks its thread: it is then polled in place, which is cheaper. One that says so
    /// and blocks holds up its own run.
    fn yields(&self) -> bool {
        false
    }

    /// How much of its time the check gets before the delegate starts. Less where ground truth may
    /// be out of reach by then: a server that is yet to be started must not hold up the work.
    fn red_timeout(&self, timeout: Duration) -> Duration {
        timeout
    }
}
