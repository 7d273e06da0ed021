//! Requests, and events as they come.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::wrong;
use crate::error::BenchError;

/// The key of the host that is measured.
pub(super) const KEY: &str = "the-key-of-this-measurement";
/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 3_600_000;

/// A server to ask. Each request has a connection of its own, as those of `curl` do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire(pub(super) SocketAddr);

/// One event as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) sequence: u64,
    pub(super) is_terminal: bool,
    /// How old it was, in milliseconds: the clock is one.
    pub(super) age_ms: u64,
    pub(super) bytes: usize,
}

/// The events of a run that is read.
pub(super) struct Frames {
    body: Incoming,
    /// Bytes that came, from `at` on not looked at yet.
    text: Vec<u8>,
    at: usize,
}

impl Wire {
    /// Begins a run and gives its name.
    pub(super) async fn begin(&self, workflow: &str, once: &str) -> Result<String, BenchError> {
        let body = format!(r#"{{"workflowId":"{workflow}"}}"#);
        let request = self.request(Method::POST, "/v1/runs").header("idempotency-key", once);
        let request = request.body(Full::new(Bytes::from(body))).map_err(wrong)?;
        let response = self.send(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(wrong)?.to_bytes();
        let answer: Value = serde_json::from_slice(&body).map_err(wrong)?;
        match answer.get("runId").and_then(Value::as_str) {
            Some(run) if status == StatusCode::CREATED => Ok(run.to_owned()),
            _ => Err(wrong(format!("a run was not begun: {status} {answer}"))),
        }
    }

    /// Reads the events of a run behind one of them.
    pub(super) async fn follow(
        &self,
        run: &str,
        behind: Option<u64>,
    ) -> Result<Frames, BenchError> {
        let path = format!("/v1/runs/{run}/events?streamMode=debug");
        let mut request = self.request(Method::GET, &path).header("accept", "text/event-stream");
        if let Some(last) = behind {
            request = request.header("last-event-id", last);
        }
        let response = self.send(request.body(Full::default()).map_err(wrong)?).await?;
        if response.status() != StatusCode::OK {
            return Err(wrong(format!("a stream was not opened: {}", response.status())));
        }
        Ok(Frames { body: response.into_body(), text: Vec::new(), at: 0 })
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.0.to_string())
            .header("authorization", format!("Bearer {KEY}"))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, BenchError> {
        let socket = TcpStream::connect(self.0).await.map_err(BenchError::io("connect"))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(socket)).await.map_err(wrong)?;
        // It ends with the body, or with whoever reads it.
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(wrong)
    }
}

impl Frames {
    /// The next event; `None` where the stream ends, in whatever way.
    pub(super) async fn next(&mut self) -> Result<Option<Frame>, BenchError> {
        loop {
            while let Some(end) = find(self.text.get(self.at..).unwrap_or_default()) {
                let text = self.text.get(self.at..self.at + end).unwrap_or_default();
                self.at += end + 2;
                if let Some(frame) = parse(text)? {
                    return Ok(Some(frame));
                }
            }
            self.text.drain(..self.at);
            self.at = 0;
            match self.body.frame().await {
                Some(Ok(piece)) => {
                    if let Some(data) = piece.data_ref() {
                        self.text.extend_from_slice(data);
                    }
                }
                Some(Err(_)) | None => return Ok(None),
            }
        }
    }
}

fn find(text: &[u8]) -> Option<usize> {
    text.windows(2).position(|pair| pair == b"\n\n")
}

/// `None` for what only says that the connection lives.
fn parse(text: &[u8]) -> Result<Option<Frame>, BenchError> {
    let bytes = text.len() + 2;
    let text = std::str::from_utf8(text).map_err(wrong)?;
    if text.starts_with(':') {
        return Ok(None);
    }
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let sequence = line("id: ").and_then(|id| id.parse().ok());
    let kind = line("event: ");
    let then = text.split_once("\"timestamp\":\"").and_then(|(_, rest)| day_ms(rest));
    let (Some(sequence), Some(kind), Some(then)) = (sequence, kind, then) else {
        return Err(wrong(format!("no event: {text}")));
    };
    let is_terminal = matches!(kind, "run.completed" | "run.failed" | "run.cancelled");
    let age_ms = (now_ms() % DAY_MS + DAY_MS - then) % DAY_MS;
    // A clock that was set back a little is no day.
    let age_ms = if age_ms > DAY_MS / 2 { 0 } else { age_ms };
    Ok(Some(Frame { sequence, is_terminal, age_ms, bytes }))
}

/// The milliseconds of the day of `2026-01-02T03:04:05.678Z`.
fn day_ms(text: &str) -> Option<u64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (h, m, s, ms) = (part(11, 13)?, part(14, 16)?, part(17, 19)?, part(20, 23)?);
    Some(((h * 60 + m) * 60 + s) * 1_000 + ms)
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
