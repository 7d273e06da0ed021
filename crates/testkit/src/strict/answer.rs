//! What the server answers, and how it fails.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use probity_chat::ModelReply;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::body::{End, endless, pieces};
use super::{Received, Wire, speech};
use crate::reply::with_ids;

/// What the server does with a request that it takes.
#[derive(Debug, Clone)]
pub struct Answer {
    kind: Kind,
    headers: Vec<(String, String)>,
    delay: Duration,
}

#[derive(Debug, Clone)]
enum Kind {
    Reply { reply: ModelReply, is_cut: bool },
    Status { status: u16, message: String },
    Raw { status: u16, content_type: String, body: Vec<u8> },
    Endless { content_type: String, piece: Vec<u8> },
    Hang,
    Close,
}

impl Answer {
    /// The reply of a model, in the language of the request and as a stream if it asks for one.
    /// Calls without an id get one from the number of the request.
    #[must_use]
    pub fn reply(reply: ModelReply) -> Self {
        Self::of(Kind::Reply { reply, is_cut: false })
    }

    /// The first half of a reply; then the connection breaks.
    #[must_use]
    pub fn cut(reply: ModelReply) -> Self {
        Self::of(Kind::Reply { reply, is_cut: true })
    }

    /// An error in the form of the language.
    #[must_use]
    pub fn status(status: u16, message: impl Into<String>) -> Self {
        Self::of(Kind::Status { status, message: message.into() })
    }

    /// These bytes, whatever they are.
    #[must_use]
    pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::of(Kind::Raw { status, content_type: content_type.into(), body: body.into() })
    }

    /// Status 200 and this piece for ever, as fast as it is read.
    #[must_use]
    pub fn endless(content_type: impl Into<String>, piece: impl Into<Vec<u8>>) -> Self {
        Self::of(Kind::Endless { content_type: content_type.into(), piece: piece.into() })
    }

    /// No answer; the connection stays open until the server stops.
    #[must_use]
    pub fn hang() -> Self {
        Self::of(Kind::Hang)
    }

    /// No answer; the connection is closed.
    #[must_use]
    pub fn close() -> Self {
        Self::of(Kind::Close)
    }

    /// The same with one header more, such as `retry-after`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same, with its first byte later, in the time of tokio.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    const fn of(kind: Kind) -> Self {
        Self { kind, headers: Vec::new(), delay: Duration::ZERO }
    }

    pub(super) async fn send(self, received: &Received, stop: &CancellationToken) -> Response {
        if !self.delay.is_zero() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(self.delay) => {}
            }
        }
        let (status, content_type, body) = match self.kind {
            Kind::Reply { reply, is_cut } => said(received, reply, is_cut),
            Kind::Status { status, message } => {
                let body = error_body(received.wire, error_kind(status), &message);
                (status, "application/json".to_owned(), Body::from(body.to_string()))
            }
            Kind::Raw { status, content_type, body } => (status, content_type, Body::from(body)),
            Kind::Endless { content_type, piece } => (200, content_type, endless(piece)),
            Kind::Hang => {
                stop.cancelled().await;
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            // Unwinding ends the task of the connection, and with it the connection, without a word.
            Kind::Close => std::panic::resume_unwind(Box::new("the test closes the connection")),
        };
        let mut response = Response::builder().status(status).header("content-type", content_type);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response.body(body).unwrap_or_else(|e| {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("the test's answer is not HTTP: {e}"))
                .into_response()
        })
    }
}

/// A reply in the language of the request.
fn said(received: &Received, reply: ModelReply, is_cut: bool) -> (u16, String, Body) {
    let number = u32::try_from(received.number).unwrap_or(u32::MAX);
    let reply = with_ids(reply, number);
    let flag = |pointer| received.body.pointer(pointer).and_then(Value::as_bool);
    let is_stream = flag("/stream").unwrap_or_default();
    let wants_usage = flag("/stream_options/include_usage").unwrap_or_default();
    let model = received.body.get("model").and_then(Value::as_str).unwrap_or_default();
    let bytes = match (received.wire, is_stream) {
        (Wire::OpenAi, false) => speech::openai_whole(model, &reply).to_string(),
        (Wire::OpenAi, true) => speech::openai_stream(model, &reply, wants_usage),
        (Wire::Anthropic, false) => speech::anthropic_whole(model, &reply),
        (Wire::Anthropic, true) => speech::anthropic_stream(model, &reply),
    };
    let bytes = bytes.as_bytes();
    let body = if is_cut {
        pieces(bytes.get(..bytes.len() / 2).unwrap_or_default(), End::Cut)
    } else if is_stream {
        pieces(bytes, End::Whole)
    } else {
        Body::from(bytes.to_vec())
    };
    let content_type = if is_stream { "text/event-stream" } else { "application/json" };
    (200, content_type.to_owned(), body)
}

/// The body of an error.
pub(super) fn error_body(wire: Wire, kind: &str, message: &str) -> Value {
    match wire {
        Wire::OpenAi => {
            json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
        }
        Wire::Anthropic => {
            json!({ "type": "error", "error": { "type": kind, "message": message } })
        }
    }
}

fn error_kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
