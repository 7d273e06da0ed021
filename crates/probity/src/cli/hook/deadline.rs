//! Checks that end before the tool's patience does.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Fault, Verdict};
use probity_engine::{Decider, Plan};
use probity_verifier::{CheckContext, Verifier};
use tokio::time::{Instant, timeout_at};

/// Has every verifier of a plan answer by then: one that does not is inconclusive. What it had started is
/// killed with it.
pub(super) fn bound(plan: &mut Plan, by: Instant) {
    for check in &mut plan.checks {
        if let Decider::Verifier(inner) = &check.by {
            let inner = Arc::clone(inner);
            check.by = Decider::Verifier(Arc::new(Bounded { inner, by }));
        }
    }
}

struct Bounded {
    inner: Arc<dyn Verifier>,
    by: Instant,
}

#[async_trait]
impl Verifier for Bounded {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        match timeout_at(self.by, self.inner.verify(ctx)).await {
            Ok(verdict) => verdict,
            Err(_) => Ok(Verdict::inconclusive(
                "hook_deadline",
                "the check did not end before the hook had to answer; not checked",
            )),
        }
    }

    fn yields(&self) -> bool {
        self.inner.yields()
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        self.inner.red_timeout(timeout)
    }
}
