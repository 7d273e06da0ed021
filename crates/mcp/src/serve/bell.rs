//! Progress of a call, told to whoever called.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Between two notifications.
const PAUSE: Duration = Duration::from_millis(100);
/// After this long without a step the last one is told again: clients give up on calls they hear nothing of.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long telling may take. A client that does not read is not told again.
const TELL_BOUND: Duration = Duration::from_secs(5);
/// The longest message, in characters.
const MAX_CHARS: usize = 512;

/// Tells of every step, until the client no longer listens. It never ends otherwise.
pub(super) async fn ring(
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    mut steps: watch::Receiver<String>,
) {
    let Some(token) = token else { return std::future::pending().await };
    let mut number: u32 = 0;
    loop {
        // A step, or long enough without one; who makes steps outlives who tells of them.
        let _ = timeout(HEARTBEAT, steps.changed()).await;
        let message: String = steps.borrow_and_update().chars().take(MAX_CHARS).collect();
        if !message.is_empty() {
            number = number.saturating_add(1);
            let told = ProgressNotificationParam::new(token.clone(), f64::from(number))
                .with_message(message);
            let told = timeout(TELL_BOUND, peer.notify_progress(told)).await;
            if !matches!(told, Ok(Ok(()))) {
                return std::future::pending().await;
            }
        }
        sleep(PAUSE).await;
    }
}
