//! Requests to the host: bounded in time, in size, and never followed elsewhere.

mod receiver;
mod stream;
mod tls;

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use url::Url;

use crate::error::KitError;
use crate::options::{Key, Options};

pub(crate) use receiver::Receiver;
pub(crate) use stream::{Frame, Stream};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Who {
    /// The bearer of the key.
    #[default]
    Owner,
    /// Nobody: there is no credential.
    Nobody,
    /// Somebody with a key that nobody gave out.
    Stranger,
    /// The bearer of a key of another tenant.
    Other,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    who: Who,
    accept: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
}

/// One answer, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// No answer, or none that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("nothing within {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
    #[error("more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("a broken answer: {why}")]
    Broken { why: String },
}

/// The client of one host.
#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: String,
    key: Key,
    other: Option<Key>,
    timeout_ms: u64,
    max_body_bytes: usize,
}

impl Http {
    pub(crate) fn new(base: &str, key: Key, options: &Options) -> Result<Self, KitError> {
        let url = |why: String| KitError::Url { url: base.to_owned(), why };
        let parsed = Url::parse(base).map_err(|error| url(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(url("give an http or https address".to_owned()));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some()
        {
            return Err(url("leave user, password and query out of it".to_owned()));
        }
        let tls = tls::config(parsed.scheme() == "https").map_err(url)?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(Duration::from_millis(options.request_timeout_ms))
            .user_agent(concat!("probity-conformance/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| url(innermost(&error)))?;
        Ok(Self {
            client,
            base: parsed.as_str().trim_end_matches('/').to_owned(),
            key,
            other: options.other_tenant.clone(),
            timeout_ms: options.request_timeout_ms,
            max_body_bytes: options.max_body_bytes,
        })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Whether a text gives the key away.
    pub(crate) fn is_told_in(&self, text: &[u8]) -> bool {
        let key = self.key.text().as_bytes();
        key.len() >= 8 && text.windows(key.len()).any(|window| window == key)
    }

    /// Sends a request and reads its answer to the end.
    pub(crate) async fn send(&self, ask: &Ask) -> Result<Answer, HttpError> {
        let limit = Duration::from_millis(self.timeout_ms);
        let read = tokio::time::timeout(limit, self.read(ask)).await;
        read.unwrap_or(Err(HttpError::TimedOut { limit_ms: self.timeout_ms }))
    }

    /// Sends a request whose answer is a stream of events.
    pub(crate) async fn open(&self, ask: &Ask) -> Result<(Answer, Stream), HttpError> {
        let limit = Duration::from_millis(self.timeout_ms);
        let opened = tokio::time::timeout(limit, self.head(ask)).await;
        let response = opened.unwrap_or(Err(HttpError::TimedOut { limit_ms: self.timeout_ms }))?;
        let mut answer = Answer::of(&response);
        if answer.status != 200 {
            let body = tokio::time::timeout(limit, body(response, self.max_body_bytes)).await;
            answer.body = body.unwrap_or(Err(HttpError::TimedOut { limit_ms: self.timeout_ms }))?;
            return Ok((answer, Stream::ended()));
        }
        Ok((answer, Stream::new(response, self.max_body_bytes)))
    }

    async fn read(&self, ask: &Ask) -> Result<Answer, HttpError> {
        let response = self.head(ask).await?;
        let mut answer = Answer::of(&response);
        answer.body = body(response, self.max_body_bytes).await?;
        Ok(answer)
    }

    async fn head(&self, ask: &Ask) -> Result<reqwest::Response, HttpError> {
        let url = format!("{}{}", self.base, ask.path);
        let mut request = self.client.request(ask.method.clone(), url).header("accept", ask.accept);
        let key = match ask.who {
            Who::Owner => Some(self.key.text()),
            Who::Nobody => None,
            Who::Stranger => Some("conformance-key-that-nobody-gave-out"),
            Who::Other => self.other.as_ref().map(Key::text),
        };
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        if let Some(body) = &ask.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        request.send().await.map_err(|error| broken(&error))
    }
}

impl Ask {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), None)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path.into(), None)
    }

    pub(crate) fn post(path: impl Into<String>, body: &Value) -> Self {
        Self::post_text(path, body.to_string())
    }

    pub(crate) fn post_text(path: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::new(Method::POST, path.into(), Some(body.into()))
    }

    pub(crate) fn put(path: impl Into<String>, body: &Value) -> Self {
        Self::new(Method::PUT, path.into(), Some(body.to_string().into_bytes()))
    }

    pub(crate) const fn by(mut self, who: Who) -> Self {
        self.who = who;
        self
    }

    pub(crate) const fn events(mut self) -> Self {
        self.accept = "text/event-stream";
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Method and path, for people.
    pub(crate) fn told(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    const fn new(method: Method, path: String, body: Option<Vec<u8>>) -> Self {
        Self {
            method,
            path,
            who: Who::Owner,
            accept: "application/json",
            headers: Vec::new(),
            body,
        }
    }
}

impl Answer {
    /// The first value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The beginning of the body, for people.
    pub(crate) fn excerpt(&self) -> String {
        excerpt(&String::from_utf8_lossy(&self.body))
    }

    fn of(response: &reqwest::Response) -> Self {
        let text = |value: &reqwest::header::HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        let headers =
            response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
        Self { status: response.status().as_u16(), headers: headers.collect(), body: Vec::new() }
    }
}

/// The beginning of a text, for people.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN_CHARS: usize = 300;
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

async fn body(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| broken(&error))? {
        if body.len() + piece.len() > limit {
            return Err(HttpError::TooLarge { limit });
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn broken(error: &reqwest::Error) -> HttpError {
    HttpError::Broken { why: innermost(error) }
}

fn innermost(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
