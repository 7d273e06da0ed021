//! Between the protocol and those who do the work: places, time, and an end to everything.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::offer::{Answer, Call, Offer};

/// What is bounded.
#[derive(Debug, Clone, Copy)]
pub struct DeskLimits {
    /// Calls under way at a time; one more is refused.
    pub max_calls: usize,
    /// Wall time of one call. Then it is cancelled.
    pub call_timeout_ms: u64,
    /// How long calls that were cancelled at the end are waited for.
    pub end_timeout_ms: u64,
}

impl Default for DeskLimits {
    fn default() -> Self {
        Self { max_calls: 8, call_timeout_ms: 3_600_000, end_timeout_ms: 30_000 }
    }
}

/// Takes calls. A clone is the same desk.
#[derive(Clone)]
pub struct Desk {
    pub(super) offer: Arc<dyn Offer>,
    pub(super) limits: DeskLimits,
    pub(super) stop: CancellationToken,
    places: Arc<Semaphore>,
    under_way: TaskTracker,
}

impl Desk {
    /// A desk for that offer, until `stop`: then every call under way is cancelled.
    #[must_use]
    pub fn new(offer: Arc<dyn Offer>, limits: DeskLimits, stop: CancellationToken) -> Self {
        let places = Arc::new(Semaphore::new(limits.max_calls));
        Self { offer, limits, stop, places, under_way: TaskTracker::new() }
    }

    /// Has a call done, where there is a place for it. Whoever waits may leave: the call itself is
    /// cancelled and not dropped, so that its record is closed.
    pub(super) async fn take(&self, call: Call) -> Answer {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let most = self.limits.max_calls;
            return refused(
                "mcp_busy",
                &format!("{most} calls are under way, which is all there may be; wait for one"),
            );
        };
        let (desk, cancel) = (self.clone(), call.cancel.clone());
        let work = self.under_way.spawn(async move {
            let answer = desk.within_bounds(call).await;
            drop(place);
            answer
        });
        // Somebody who no longer waits for the answer does not want it.
        let _guard = cancel.drop_guard();
        work.await.unwrap_or_else(|_| {
            refused(
                "mcp_call_failed",
                "the call broke off inside the server; see its standard error",
            )
        })
    }

    async fn within_bounds(&self, call: Call) -> Answer {
        let cancel = call.cancel.clone();
        let bound = Duration::from_millis(self.limits.call_timeout_ms);
        let mut work = self.offer.call(call);
        tokio::select! {
            biased;
            answer = &mut work => return answer,
            () = self.stop.cancelled() => cancel.cancel(),
            () = sleep(bound) => cancel.cancel(),
        }
        work.await
    }

    /// Waits until every call has ended. False: some did not in time.
    pub(super) async fn end(&self) -> bool {
        self.stop.cancel();
        self.under_way.close();
        let bound = Duration::from_millis(self.limits.end_timeout_ms);
        timeout(bound, self.under_way.wait()).await.is_ok()
    }
}

/// The answer of a tool that did nothing. What it says of the error fits every output schema, because
/// the schemas leave room for it; what else they ask for, the offer knows.
fn refused(code: &'static str, message: &str) -> Answer {
    let mut structured = Map::new();
    structured.insert("error".to_owned(), json!({"code": code, "message": message}));
    Answer { text: format!("error [{code}]: {message}"), structured, is_error: true }
}

/// Nothing structured at all is better than what a client holds against a schema and refuses.
pub(super) fn fits(answer: &Answer, schema: &Map<String, Value>) -> bool {
    let Some(Value::Array(required)) = schema.get("required") else { return true };
    let has = |key: &Value| key.as_str().is_some_and(|key| answer.structured.contains_key(key));
    required.iter().all(has)
}
