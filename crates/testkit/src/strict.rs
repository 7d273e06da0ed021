//! A chat server that is as strict as the real ones.

mod answer;
mod anthropic;
mod body;
mod openai;
mod speech;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use answer::Answer;

/// Largest body of a request, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The language of a request, by the path it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `/v1/chat/completions`.
    OpenAi,
    /// `/v1/messages`.
    Anthropic,
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its language.
    pub wire: Wire,
    /// 0-based number among the requests that were taken; the number that the next one gets for a
    /// request that was refused.
    pub number: usize,
    /// Header names in lower case with their values, in order; the key is replaced by `[key]`.
    pub headers: Vec<(String, String)>,
    /// The body; `null` if it is no JSON.
    pub body: Value,
    /// The body as it was sent.
    pub text: String,
    /// Why it was refused, if it broke the protocol.
    pub violation: Option<String>,
}

/// A real HTTP server on a free port of the loopback that speaks chat completions and Anthropic
/// messages, whole and as streams, refuses what breaks their rules, and answers the rest as it was
/// told. It stops when it is dropped.
pub struct StrictServer {
    address: SocketAddr,
    state: Arc<Shared>,
    stop: CancellationToken,
    connections: Arc<AtomicUsize>,
}

/// How a [`StrictServer`] answers, before it starts.
pub struct StrictServerBuilder {
    answer: Box<Answering>,
    key: Option<String>,
    model: Option<String>,
}

type Answering = dyn Fn(&Received) -> Answer + Send + Sync;

struct Shared {
    answer: Box<Answering>,
    key: Option<String>,
    model: Option<String>,
    received: Mutex<Vec<Received>>,
    stop: CancellationToken,
}

/// Why a request is refused.
struct Violation {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl StrictServer {
    /// A server that gives these answers in turn and repeats the last one; without any it refuses
    /// everything with status 500. A request that breaks the protocol costs no answer.
    #[must_use]
    pub fn answers(answers: impl IntoIterator<Item = Answer>) -> StrictServerBuilder {
        let answers: Vec<Answer> = answers.into_iter().collect();
        Self::answering(move |received| {
            let answer = answers.get(received.number).or(answers.last()).cloned();
            answer.unwrap_or_else(|| Answer::status(500, "the test gave no answer"))
        })
    }

    /// A server whose answers depend on what is asked.
    #[must_use]
    pub fn answering(
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> StrictServerBuilder {
        StrictServerBuilder { answer: Box::new(answer), key: None, model: None }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the paths of both languages stand behind: `http://127.0.0.1:…/v1/`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Every request to one of the two paths so far, in the order of arrival.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.state.received().clone()
    }

    /// Connections that were opened so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// What was wrong with the requests that were refused.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.state.received().iter().filter_map(|r| r.violation.clone()).collect()
    }
}

impl StrictServerBuilder {
    /// Requests without this key are refused with status 401.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Requests for another model are refused with status 404.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Starts to listen. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// No port could be bound.
    pub async fn start(self) -> io::Result<StrictServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let opened = Arc::clone(&connections);
        let listener = listener.tap_io(move |socket| {
            opened.fetch_add(1, Ordering::SeqCst);
            // Without it the small pieces of a stream wait for each other; slow, and right still.
            let _ = socket.set_nodelay(true);
        });
        let stop = CancellationToken::new();
        let state = Arc::new(Shared {
            answer: self.answer,
            key: self.key,
            model: self.model,
            received: Mutex::default(),
            stop: stop.clone(),
        });
        let router = Router::new()
            .route("/v1/chat/completions", post(to_openai))
            .route("/v1/messages", post(to_anthropic))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::clone(&state));
        let served = axum::serve(listener, router)
            .with_graceful_shutdown(stop.clone().cancelled_owned())
            .into_future();
        tokio::spawn(served);
        Ok(StrictServer { address, state, stop, connections })
    }
}

impl Drop for StrictServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for StrictServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StrictServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for StrictServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StrictServerBuilder").field("model", &self.model).finish_non_exhaustive()
    }
}

async fn to_openai(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    state.serve(Wire::OpenAi, &headers, &body).await
}

async fn to_anthropic(
    State(state): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    state.serve(Wire::Anthropic, &headers, &body).await
}

impl Shared {
    fn received(&self) -> MutexGuard<'_, Vec<Received>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, wire: Wire, headers: &HeaderMap, body: &[u8]) -> Response {
        let checked = self.check(wire, headers, body);
        let received = self.note(wire, headers, body, checked.as_ref().err());
        if let Err(violation) = checked {
            return violation.response(wire);
        }
        let answer = (self.answer)(&received);
        answer.send(&received, &self.stop).await
    }

    fn check(&self, wire: Wire, headers: &HeaderMap, body: &[u8]) -> Result<(), Violation> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let given = match wire {
            Wire::OpenAi => header("authorization").and_then(|it| it.strip_prefix("Bearer ")),
            Wire::Anthropic => header("x-api-key"),
        };
        if self.key.is_some() && given != self.key.as_deref() {
            return Err(Violation::unauthorized(wire));
        }
        if !header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
            return Err(Violation::bad("content-type: must be `application/json`"));
        }
        if wire == Wire::Anthropic && header("anthropic-version").is_none() {
            return Err(Violation::bad("anthropic-version: header is required"));
        }
        let body: Value = serde_json::from_slice(body).map_err(|e| {
            Violation::bad(format!("We could not parse the JSON body of your request: {e}"))
        })?;
        match wire {
            Wire::OpenAi => openai::check(&body),
            Wire::Anthropic => anthropic::check(&body),
        }
        .map_err(Violation::bad)?;
        let model = body.get("model").and_then(Value::as_str);
        match &self.model {
            Some(known) if model != Some(known) => Err(Violation::no_model(wire, model)),
            _ => Ok(()),
        }
    }

    fn note(
        &self,
        wire: Wire,
        headers: &HeaderMap,
        body: &[u8],
        violation: Option<&Violation>,
    ) -> Received {
        let redacted = |value: &str| match &self.key {
            Some(key) => value.replace(key, "[key]"),
            None => value.to_owned(),
        };
        let headers = headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), redacted(&String::from_utf8_lossy(value.as_bytes())))
        });
        let mut all = self.received();
        let received = Received {
            wire,
            number: all.iter().filter(|earlier| earlier.violation.is_none()).count(),
            headers: headers.collect(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            text: String::from_utf8_lossy(body).into_owned(),
            violation: violation.map(|violation| violation.message.clone()),
        };
        all.push(received.clone());
        received
    }
}

impl Violation {
    fn bad(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status: StatusCode::BAD_REQUEST, kind: "invalid_request_error", message }
    }

    fn unauthorized(wire: Wire) -> Self {
        let (kind, message) = match wire {
            Wire::OpenAi => ("invalid_request_error", "Incorrect API key provided."),
            Wire::Anthropic => ("authentication_error", "invalid x-api-key"),
        };
        Self { status: StatusCode::UNAUTHORIZED, kind, message: message.to_owned() }
    }

    fn no_model(wire: Wire, model: Option<&str>) -> Self {
        let model = model.unwrap_or_default();
        let (kind, message) = match wire {
            Wire::OpenAi => (
                "invalid_request_error",
                format!("The model `{model}` does not exist or you do not have access to it."),
            ),
            Wire::Anthropic => ("not_found_error", format!("model: {model}")),
        };
        Self { status: StatusCode::NOT_FOUND, kind, message }
    }

    fn response(&self, wire: Wire) -> Response {
        let body = answer::error_body(wire, self.kind, &self.message);
        (self.status, axum::Json(body)).into_response()
    }
}
