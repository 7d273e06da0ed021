//! The log of a delegation as server-sent events.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use probity_core::RunId;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::sse::{ALIVE, Sink, WAITING, as_stream};
use crate::call::millis;
use crate::delegated::Delegated;
use crate::host::Host;
use crate::wire::verdict::told_record;

/// Records that are read at a time.
const PAGE: usize = 128;

/// What a reader is told.
pub(crate) struct LogTold {
    pub(crate) host: Arc<Host>,
    pub(crate) delegated: Arc<dyn Delegated>,
    pub(crate) run: RunId,
    /// The first record.
    pub(crate) at: u64,
    /// The place among the streams that are open.
    pub(crate) place: OwnedSemaphorePermit,
}

/// The stream as an answer. It ends with the seal.
pub(crate) fn log_response(told: LogTold) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(tell(told, sender));
    as_stream(receiver)
}

async fn tell(mut told: LogTold, sender: mpsc::Sender<Bytes>) {
    let limits = told.host.config.limits;
    let sink = Sink { sender, stall: millis(limits.stall_timeout_ms) };
    // Whoever waits for the head of the answer shall not wait for the first record.
    let mut is_open = sink.send(Bytes::from_static(ALIVE)).await;
    while is_open {
        // Where the log cannot be read the reader is let go: it comes again and names its place.
        let Ok(Some(records)) = told.delegated.records(&told.run, told.at, PAGE).await else {
            break;
        };
        for record in &records {
            let (seq, kind) = (record.seq, record.entry.event.name());
            let json = told_record(record);
            let text = format!("id: {seq}\nevent: {kind}\ndata: {json}\n\n");
            if !sink.send(Bytes::from(text)).await || record.seal.is_some() {
                return;
            }
            told.at = seq.saturating_add(1);
        }
        if records.is_empty() {
            is_open = more(&told, &sink).await;
        }
    }
    drop(told.place);
}

/// Waits for a record. False where nobody reads, or the host ends.
async fn more(told: &LogTold, sink: &Sink) -> bool {
    let keep_alive = millis(told.host.config.limits.keep_alive_ms);
    let stop = told.host.stop.clone();
    let waited = tokio::select! {
        biased;
        () = sink.sender.closed() => return false,
        () = stop.cancelled() => return false,
        waited = told.delegated.wait(&told.run, told.at, keep_alive) => waited,
    };
    waited.is_ok() && sink.send(Bytes::from_static(ALIVE)).await
}
