//! The floor: a bare server of axum that tells every reader of a run the same bytes, and does nothing else.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::wire::now_ms;
use super::wrong;
use crate::error::BenchError;

/// How long a run that is over is kept for readers that come late.
const LINGER: Duration = Duration::from_secs(10);

/// What the floor tells of every run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Script {
    /// Events of a run.
    pub(super) events: u64,
    /// Bytes of one of them.
    pub(super) bytes: usize,
    /// How long it waits for readers before the first one, in milliseconds.
    pub(super) attach_ms: u64,
}

struct Floor {
    script: Script,
    begun: AtomicU64,
    topics: Mutex<HashMap<String, Topic>>,
}

#[derive(Default)]
struct Topic {
    told: Vec<Bytes>,
    readers: Vec<mpsc::Sender<Bytes>>,
    is_over: bool,
}

/// Serves until it is killed. The first line it prints is its URL.
pub(super) async fn serve(script: Script) -> Result<(), BenchError> {
    let failed = BenchError::io("serve the floor");
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(&failed)?;
    println!("http://{}", listener.local_addr().map_err(&failed)?);
    let floor = Floor { script, begun: AtomicU64::new(0), topics: Mutex::default() };
    let routes = Router::new()
        .route("/v1/runs", post(begin))
        .route("/v1/runs/{run}/events", get(follow))
        .with_state(Arc::new(floor));
    axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |socket| {
            // As the host does; without it small pieces wait for each other.
            let _ = socket.set_nodelay(true);
        }),
        routes,
    )
    .await
    .map_err(wrong)
}

async fn begin(State(floor): State<Arc<Floor>>) -> Response {
    let run = format!("run-{}", floor.begun.fetch_add(1, Ordering::Relaxed));
    floor.locked().insert(run.clone(), Topic::default());
    tokio::spawn(tell(Arc::clone(&floor), run.clone()));
    (StatusCode::CREATED, Json(json!({"runId": run}))).into_response()
}

async fn tell(floor: Arc<Floor>, run: String) {
    tokio::time::sleep(Duration::from_millis(floor.script.attach_ms)).await;
    for sequence in 0..floor.script.events {
        let frame = frame(&floor.script, sequence);
        if let Some(topic) = floor.locked().get_mut(&run) {
            topic.readers.retain(|reader| reader.try_send(frame.clone()).is_ok());
            topic.told.push(frame);
        }
    }
    if let Some(topic) = floor.locked().get_mut(&run) {
        topic.is_over = true;
        topic.readers.clear();
    }
    tokio::time::sleep(LINGER).await;
    floor.locked().remove(&run);
}

async fn follow(State(floor): State<Arc<Floor>>, Path(run): Path<String>) -> Response {
    let room = usize::try_from(floor.script.events).unwrap_or(usize::MAX).saturating_add(1);
    let (sender, receiver) = mpsc::channel(room);
    match floor.locked().get_mut(&run) {
        Some(topic) => {
            for frame in &topic.told {
                // There is room for all of them.
                let _ = sender.try_send(frame.clone());
            }
            if !topic.is_over {
                topic.readers.push(sender);
            }
        }
        None => return StatusCode::NOT_FOUND.into_response(),
    }
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CONNECTION, "close")];
    (head, Body::from_stream(Pieces(receiver))).into_response()
}

impl Floor {
    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<String, Topic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One event, as long as those of the host are.
fn frame(script: &Script, sequence: u64) -> Bytes {
    let kind = if sequence + 1 == script.events { "run.completed" } else { "node.completed" };
    let day = now_ms() % (24 * 3_600_000);
    let (s, ms) = (day / 1_000, day % 1_000);
    let time = format!("{:02}:{:02}:{:02}.{ms:03}", s / 3_600, s / 60 % 60, s % 60);
    let head = format!(
        "id: {sequence}\nevent: {kind}\ndata: {{\"timestamp\":\"2026-01-01T{time}Z\",\"pad\":\""
    );
    let pad = script.bytes.saturating_sub(head.len() + 4);
    Bytes::from(format!("{head}{}\"}}\n\n", "x".repeat(pad)))
}

struct Pieces(mpsc::Receiver<Bytes>);

impl Stream for Pieces {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|piece| piece.map(Ok))
    }
}
