//! Commands whose run is at a host: `--host URL`. The key is in `PROBITY_API_KEY`.

mod error;
mod mirror;
mod post;
mod stream;
mod submit;
mod watch;

use std::time::Duration;

use probity_core::RunId;
use probity_egress::client_tls;
use probity_record::canonical::parse_ijson;
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use url::{Host, Url};

use super::CliError;

pub(super) use error::RemoteError;
pub(super) use post::{cancel, steer};
pub(super) use submit::submit;
pub(super) use watch::watch;

const KEY: &str = "PROBITY_API_KEY";
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answer that is read, in bytes: a blob of a store, at most.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How often a request that changes nothing, or the same thing once, is sent.
const MAX_TRIES: u32 = 4;
/// The pause before it is sent again; doubles.
const TRY_AGAIN: Duration = Duration::from_millis(250);
/// Characters of a host's words that are repeated.
const MAX_SAID_CHARS: usize = 2_000;

/// A host, as whoever has a key sees it.
#[derive(Clone)]
pub(super) struct Remote {
    client: reqwest::Client,
    base: String,
    key: String,
}

/// An answer, read to its end.
pub(super) struct Answer {
    status: StatusCode,
    is_replay: bool,
    body: Vec<u8>,
}

impl Remote {
    /// A host at an address, asked with the key of the environment. Nothing is sent yet.
    ///
    /// # Errors
    /// [`RemoteError`] if the address is none that a key may go to; [`CliError::Usage`] without a key.
    pub(super) fn at(address: &str) -> Result<Self, CliError> {
        let wrong = |why: &str| RemoteError::Address { why: why.to_owned() };
        let url = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
        let is_https = url.scheme() == "https";
        if !is_https && url.scheme() != "http" {
            return Err(wrong("it is neither http nor https").into());
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(wrong("leave user, password and query out of it").into());
        }
        if !is_https && !is_here(&url) {
            return Err(wrong("the key would cross the network in the clear; use https").into());
        }
        let key = std::env::var(KEY).ok().filter(|key| !key.trim().is_empty());
        let key = key.ok_or_else(|| {
            CliError::Usage(format!(
                "the environment variable `{KEY}` is not set, which should hold a key of the host"
            ))
        })?;
        let unusable = |why: String| RemoteError::Unreachable { why };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(client_tls(is_https).map_err(unusable)?)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("probity/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unusable(innermost(&error)))?;
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { client, base, key: key.trim().to_owned() })
    }

    /// The address, as it is shown.
    pub(super) fn address(&self) -> &str {
        &self.base
    }

    async fn get(&self, path: &str) -> Result<Answer, RemoteError> {
        self.tried(|| self.client.request(Method::GET, self.url(path))).await
    }

    /// Posts a body. The key names what comes of it, so that it may be sent again.
    async fn post(&self, path: &str, body: &Value, key: &str) -> Result<Answer, RemoteError> {
        let body = body.to_string();
        let request = || {
            let request = self.client.request(Method::POST, self.url(path));
            let request = request.header("content-type", "application/json");
            request.header("idempotency-key", key).body(body.clone())
        };
        self.tried(request).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    async fn tried(
        &self,
        request: impl Fn() -> reqwest::RequestBuilder,
    ) -> Result<Answer, RemoteError> {
        let (mut tries, mut pause) = (1, TRY_AGAIN);
        loop {
            let sent = tokio::time::timeout(ANSWER_TIMEOUT, self.sent(request())).await;
            let may_pass = match sent.unwrap_or_else(|_| Err(late())) {
                Ok(answer) if !answer.is_busy() => return Ok(answer),
                Ok(answer) => answer.accepted().err(),
                Err(error @ RemoteError::Unreachable { .. }) => Some(error),
                Err(error) => return Err(error),
            };
            if let Some(error) = may_pass.filter(|_| tries == MAX_TRIES) {
                return Err(error);
            }
            tries += 1;
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn sent(&self, request: reqwest::RequestBuilder) -> Result<Answer, RemoteError> {
        let response = request.bearer_auth(&self.key).send().await;
        Answer::read(response.map_err(|error| unreachable(&error))?).await
    }

    /// A stream of a run's events, from behind a record on.
    async fn events(&self, run: &RunId, last: Option<u64>) -> Result<Response, RemoteError> {
        let url = self.url(&format!("/api/v1/delegations/{run}/events"));
        let request =
            self.client.get(url).bearer_auth(&self.key).header("accept", "text/event-stream");
        let request = match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        let sent = tokio::time::timeout(ANSWER_TIMEOUT, request.send()).await;
        let response = sent.map_err(|_| late())?.map_err(|error| unreachable(&error))?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, Answer::read(response)).await;
        let refused = answer.map_err(|_| late())??.accepted();
        Err(refused.err().unwrap_or_else(|| broken("no stream of events")))
    }
}

impl Answer {
    async fn read(mut response: Response) -> Result<Self, RemoteError> {
        let is_replay = response.headers().contains_key("openwop-idempotent-replay");
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
            if piece.len() > MAX_ANSWER_BYTES.saturating_sub(body.len()) {
                return Err(broken("it is too long"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Self { status, is_replay, body })
    }

    /// Whether the host asks to come again.
    fn is_busy(&self) -> bool {
        matches!(self.status.as_u16(), 429 | 503)
    }

    /// The answer of a host that did what was asked.
    fn accepted(self) -> Result<Self, RemoteError> {
        if self.status.is_success() {
            return Ok(self);
        }
        let said = parse_ijson(&self.body).unwrap_or_default();
        let word = |key: &str| -> String {
            let text = said.get(key).and_then(Value::as_str).unwrap_or_default();
            text.chars().take(MAX_SAID_CHARS).collect()
        };
        let (code, message) = (word("error"), word("message"));
        Err(RemoteError::Refused { status: self.status.as_u16(), code, message })
    }

    fn json(self) -> Result<Value, RemoteError> {
        parse_ijson(&self.accepted()?.body).map_err(|error| broken(&error.to_string()))
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn unreachable(error: &reqwest::Error) -> RemoteError {
    RemoteError::Unreachable { why: innermost(error) }
}

fn late() -> RemoteError {
    RemoteError::Unreachable { why: "it does not answer in time".to_owned() }
}

fn broken(why: &str) -> RemoteError {
    RemoteError::Answer { why: why.to_owned() }
}

/// The words of the first cause; the outer layers repeat the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}
