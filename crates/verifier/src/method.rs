//! A verifier under a decision envelope, which says how long it may take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::{Fault, Verdict, VerdictKind};
use tokio_util::task::AbortOnDropHandle;

use crate::{CheckContext, Verifier};

/// How long after its time a verifier may take to say what it came to at the end.
const ANSWER: Duration = Duration::from_millis(250);
/// How long a verifier that was told to stop may take to stop.
const STOP: Duration = Duration::from_millis(250);
/// Faults that say no more than that the verifier did not end in time.
const ONLY_LATE: [&str; 2] = ["external_timeout", "script_timeout"];

/// A named verification method (seed 001: `verification.methods` and `verifyTimeoutMs`): any verifier,
/// with the envelope's time on it.
///
/// When that time ends first, the result is `inconclusive` with the code `verify_timeout`, not a
/// fault: under an envelope, time is the decision's, not the verifier's. A pass that comes after the
/// time is none. Whatever else the verifier gave, its faults included, is passed on.
///
/// The verifier runs in a task of its own, which is told to stop and then abandoned at most half a
/// second after the time. That holds also for one that ignores its token; one that blocks its thread
/// keeps that thread, so the runtime must have another.
#[derive(Clone)]
pub struct Method {
    name: String,
    inner: Arc<dyn Verifier>,
    timeout: Duration,
}

impl Method {
    /// A verifier under the name that the envelope gives it, with `timeout_ms` of wall time at most;
    /// less where the check's own time is shorter.
    #[must_use]
    pub fn new(name: impl Into<String>, inner: Arc<dyn Verifier>, timeout_ms: u64) -> Self {
        Self { name: name.into(), inner, timeout: Duration::from_millis(timeout_ms) }
    }

    /// As the envelope calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn late(&self, limit: Duration) -> Verdict {
        let reason = format!("`{}` did not end within its {} ms", self.name, limit.as_millis());
        Verdict::inconclusive("verify_timeout", reason)
    }

    fn settle(
        &self,
        answer: Result<Verdict, Fault>,
        elapsed: Duration,
        limit: Duration,
    ) -> Result<Verdict, Fault> {
        let only_late = match &answer {
            Ok(verdict) => verdict.kind == VerdictKind::Pass,
            Err(fault) => ONLY_LATE.contains(&fault.code.as_str()),
        };
        if only_late && elapsed >= limit { Ok(self.late(limit)) } else { answer }
    }
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Method");
        debug.field("name", &self.name).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[async_trait]
impl Verifier for Method {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let limit = ctx.timeout.min(self.timeout);
        let mut inner_ctx = ctx.clone();
        inner_ctx.timeout = limit;
        inner_ctx.cancel = ctx.cancel.child_token();
        let stop = inner_ctx.cancel.clone();
        let inner = Arc::clone(&self.inner);
        let started = Instant::now();
        let work = tokio::spawn(async move { inner.verify(&inner_ctx).await });
        let mut work = AbortOnDropHandle::new(work);
        let cancelled = tokio::select! {
            biased;
            answer = &mut work => {
                let answer = answer.map_err(|_| panicked(&self.name))?;
                return self.settle(answer, started.elapsed(), limit);
            }
            () = ctx.cancel.cancelled() => true,
            () = tokio::time::sleep(limit.saturating_add(ANSWER)) => false,
        };
        stop.cancel();
        // What it says now comes too late; the wait is for its children to be dead.
        let _ = tokio::time::timeout(STOP, work).await;
        if cancelled {
            return Ok(Verdict::inconclusive("cancelled", "the check was cancelled"));
        }
        Ok(self.late(limit))
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        self.inner.red_timeout(timeout.min(self.timeout))
    }
}

fn panicked(name: &str) -> Fault {
    Fault::new("verifier_panic", format!("`{name}` panicked; report it to its author"))
}
