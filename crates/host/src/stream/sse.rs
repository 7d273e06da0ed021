//! A stream of server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_core::Stream;
use probity_core::RunId;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Duration, Instant};

use super::feed::Reader;
use super::frame::Frame;
use super::mode::Modes;
use crate::call::millis;
use crate::host::Host;
use crate::wire::v1::run_snapshot;

/// Frames that wait for the connection.
pub(super) const WAITING: usize = 16;
/// Events of one batch.
const MAX_BATCH: usize = 256;
/// Bytes from which on a piece of events that were at hand is sent.
const PIECE_BYTES: usize = 16 * 1024;
/// Says that the connection lives.
pub(super) const ALIVE: &[u8] = b": alive\n\n";

/// What a reader is told.
pub(crate) struct Told {
    pub(crate) host: Arc<Host>,
    pub(crate) run: RunId,
    pub(crate) reader: Reader,
    pub(crate) modes: Modes,
    /// How long events are gathered, in milliseconds; not at all for 0.
    pub(crate) buffer_ms: u64,
    /// The place among the streams that are open.
    pub(crate) place: OwnedSemaphorePermit,
}

/// The stream as an answer. It ends with the run.
pub(crate) fn response(told: Told) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(tell(told, sender));
    as_stream(receiver)
}

/// What comes through, as an answer that has no end of its own.
pub(super) fn as_stream(receiver: mpsc::Receiver<Bytes>) -> Response {
    let mut response = Response::new(Body::from_stream(Pieces(receiver)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Pieces(mpsc::Receiver<Bytes>);

impl Stream for Pieces {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|piece| piece.map(Ok))
    }
}

/// Events that are gathered.
#[derive(Default)]
struct Batch {
    frames: Vec<Arc<Frame>>,
    due: Option<Instant>,
}

/// What comes next on a stream.
enum Turn {
    Frame(Arc<Frame>),
    Due,
    End,
    Gone,
}

async fn tell(mut told: Told, sender: mpsc::Sender<Bytes>) {
    let mut batch = Batch::default();
    let sink = Sink { sender, stall: millis(told.host.config.limits.stall_timeout_ms) };
    // Whoever waits for the head of the answer shall not wait for the first event.
    let mut is_open = sink.send(Bytes::from_static(ALIVE)).await;
    while is_open {
        is_open = match turn(&mut told, &sink, &batch).await {
            Turn::Gone => false,
            Turn::End => {
                batch.flush(&sink).await;
                false
            }
            Turn::Due if batch.frames.is_empty() => sink.send(Bytes::from_static(ALIVE)).await,
            Turn::Due => batch.flush(&sink).await,
            Turn::Frame(frame) if told.is_plain() => plain(&mut told, frame, &sink).await,
            Turn::Frame(frame) => {
                let is_last = frame.is_terminal;
                pass(&mut told, frame, &mut batch, &sink).await && !is_last
            }
        };
    }
    drop(told.place);
}

async fn turn(told: &mut Told, sink: &Sink, batch: &Batch) -> Turn {
    let alive = Instant::now() + millis(told.host.config.limits.keep_alive_ms);
    let due = batch.due.map_or(alive, |due| due.min(alive));
    let stop = told.host.stop.clone();
    tokio::select! {
        biased;
        () = sink.sender.closed() => Turn::Gone,
        () = stop.cancelled() => Turn::End,
        next = told.reader.next() => match next {
            Ok(Some(frame)) => Turn::Frame(frame),
            Ok(None) | Err(_) => Turn::End,
        },
        () = tokio::time::sleep_until(due) => Turn::Due,
    }
}

impl Told {
    /// Whether every event is told by itself, as it is.
    const fn is_plain(&self) -> bool {
        self.buffer_ms == 0 && !self.modes.values
    }
}

/// Sends a frame and those behind it that are at hand, in one piece. False where nobody takes it any more,
/// and behind the last one.
async fn plain(told: &mut Told, first: Arc<Frame>, sink: &Sink) -> bool {
    let (mut piece, mut next) = (Vec::new(), Some(first));
    let (mut bytes, mut is_last) = (0, false);
    while let Some(frame) = next {
        is_last = frame.is_terminal;
        if told.modes.admits(&frame) {
            bytes += frame.sse.len();
            piece.push(frame);
        }
        next = match is_last || bytes >= PIECE_BYTES {
            true => None,
            false => told.reader.at_hand(),
        };
    }
    let text = match piece.as_slice() {
        [] => return !is_last,
        [only] => only.sse.clone(),
        several => {
            let text: Vec<&[u8]> = several.iter().map(|frame| frame.sse.as_ref()).collect();
            Bytes::from(text.concat())
        }
    };
    sink.send(text).await && !is_last
}

/// Sends a frame, or gathers it. False where nobody takes it any more.
async fn pass(told: &mut Told, frame: Arc<Frame>, batch: &mut Batch, sink: &Sink) -> bool {
    if !told.modes.admits(&frame) {
        return !frame.is_terminal || batch.flush(sink).await;
    }
    if told.modes.values {
        return match told.host.runs.snapshot(&told.run).await {
            Ok(Some(snapshot)) => {
                let json = run_snapshot(&snapshot);
                let sequence = frame.sequence;
                let text = format!("id: {sequence}\nevent: state.snapshot\ndata: {json}\n\n");
                sink.send(Bytes::from(text)).await
            }
            Ok(None) | Err(_) => false,
        };
    }
    let is_urgent = frame.is_terminal || frame.is_suspension;
    batch.due.get_or_insert_with(|| Instant::now() + millis(told.buffer_ms));
    batch.frames.push(frame);
    if is_urgent || batch.frames.len() >= MAX_BATCH { batch.flush(sink).await } else { true }
}

impl Batch {
    async fn flush(&mut self, sink: &Sink) -> bool {
        self.due = None;
        let Some(last) = self.frames.last() else { return true };
        let mut text = format!("id: {}\nevent: batch\ndata: [", last.sequence).into_bytes();
        for (place, frame) in self.frames.drain(..).enumerate() {
            if place > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&frame.json);
        }
        text.extend_from_slice(b"]\n\n");
        sink.send(Bytes::from(text)).await
    }
}

/// The connection of a reader.
pub(super) struct Sink {
    pub(super) sender: mpsc::Sender<Bytes>,
    pub(super) stall: Duration,
}

impl Sink {
    /// False where the reader is gone, or takes nothing.
    pub(super) async fn send(&self, piece: Bytes) -> bool {
        matches!(tokio::time::timeout(self.stall, self.sender.send(piece)).await, Ok(Ok(())))
    }
}
