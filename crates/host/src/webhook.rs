//! Events are sent to whoever registered for them. What is sent is signed; who does not take it is asked
//! again, a bounded number of times. Registrations outlive the host where its runs do. Whoever is behind by
//! more than a bounded number of events, or was not sent to while no host ran, misses some: the log of the
//! run has them all, and their sequences show the gap.

mod kept;
mod wrap;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use probity_core::RunId;
use probity_workflow::Entry;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::courier::{Courier, CourierError};
use crate::host::Host;
use crate::tenant;
use crate::token::signature;
use crate::wire::v1::{event_id, event_type, render};
use kept::Kept;

pub(crate) use kept::{look, look_again, register, remove};

/// Events that wait for one of them.
const WAITING: usize = 256;
/// How often an event is sent, the first time included.
const MAX_TRIES: u32 = 5;

/// Who is registered.
#[derive(Default)]
pub(crate) struct Webhooks {
    /// Those that are sent to, by name.
    sent: Mutex<HashMap<String, Subscription>>,
    /// What each tenant registered.
    kept: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Kept>>>>,
}

/// What is registered for.
pub(crate) struct Wanted {
    pub(crate) tenant: String,
    pub(crate) url: String,
    /// Types of events; all of them if there are none.
    pub(crate) events: BTreeSet<String>,
    pub(crate) secret: String,
}

struct Subscription {
    tenant: String,
    events: BTreeSet<String>,
    queue: mpsc::Sender<Parcel>,
    _stop: DropGuard,
}

#[derive(Clone)]
struct Parcel {
    event: String,
    body: Bytes,
}

impl Webhooks {
    /// Sends to a registration from now on. One that is sent to already stays what it is.
    fn send(&self, host: &Arc<Host>, id: &str, wanted: Wanted) {
        let mut map = self.map();
        if map.contains_key(id) {
            return;
        }
        let (queue, parcels) = mpsc::channel(WAITING);
        let stop = host.stop.child_token();
        let (tenant, events) = (wanted.tenant.clone(), wanted.events.clone());
        let delivery = Delivery { courier: host.config.courier.clone(), id: id.to_owned(), wanted };
        tokio::spawn(deliver(Arc::clone(host), delivery, parcels, stop.clone()));
        let subscription = Subscription { tenant, events, queue, _stop: stop.drop_guard() };
        map.insert(id.to_owned(), subscription);
    }

    /// Sends nothing more there.
    fn drop_one(&self, id: &str) {
        self.map().remove(id);
    }

    /// Hands an event to whoever is registered for it.
    fn announce(&self, run: &RunId, entry: &Entry) {
        let kind = event_type(&entry.event);
        let map = self.map();
        let mut parcel: Option<Parcel> = None;
        for one in map.values() {
            let is_wanted = one.events.is_empty() || one.events.contains(kind);
            if !is_wanted || !tenant::owns(&one.tenant, run) {
                continue;
            }
            let parcel = parcel.get_or_insert_with(|| Parcel {
                event: event_id(run, entry.sequence),
                body: Bytes::from(render(run, entry).to_string()),
            });
            // A queue that is full: see above.
            let _ = one.queue.try_send(parcel.clone());
        }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<String, Subscription>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<Kept>>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands on every event from now on, until the host ends.
pub(crate) async fn announce_all(host: Arc<Host>, mut told: Receiver<(RunId, Arc<Entry>)>) {
    loop {
        let next = tokio::select! {
            biased;
            () = host.stop.cancelled() => return,
            next = told.recv() => next,
        };
        match next {
            Ok((run, entry)) => host.webhooks.announce(&run, &entry),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

struct Delivery {
    courier: Courier,
    id: String,
    wanted: Wanted,
}

async fn deliver(
    host: Arc<Host>,
    delivery: Delivery,
    mut parcels: mpsc::Receiver<Parcel>,
    stop: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            next = parcels.recv() => next,
        };
        let Some(parcel) = next else { return };
        let sending = sent(&host, &delivery, &parcel);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sending => {}
        }
    }
}

/// Sends an event until somebody takes it, or nobody will.
async fn sent(host: &Host, delivery: &Delivery, parcel: &Parcel) {
    for attempt in 0..MAX_TRIES {
        if attempt > 0 {
            tokio::time::sleep(delivery.courier.pause(attempt)).await;
        }
        let headers = headers(delivery, parcel, host.now_ms() / 1_000);
        let url = &delivery.wanted.url;
        match delivery.courier.post(url, &headers, parcel.body.to_vec()).await {
            Ok(408 | 429 | 500..) | Err(CourierError::Unreachable(_)) => {}
            Ok(_) | Err(CourierError::Refused(_)) => return,
        }
    }
}

fn headers(delivery: &Delivery, parcel: &Parcel, at_s: u64) -> [(&'static str, String); 6] {
    let mut text = format!("{at_s}.").into_bytes();
    text.extend_from_slice(&parcel.body);
    let signed = signature(delivery.wanted.secret.as_bytes(), &text);
    [
        ("content-type", "application/json".to_owned()),
        ("x-openwop-signature", signed.map(hex::encode).unwrap_or_default()),
        ("x-openwop-timestamp", at_s.to_string()),
        ("x-openwop-algorithm", "v1".to_owned()),
        ("x-openwop-subscription-id", delivery.id.clone()),
        ("x-openwop-event-id", parcel.event.clone()),
    ]
}
