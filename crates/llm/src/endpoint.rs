//! A chat model behind an HTTP endpoint.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use probity_chat::{Model, ModelError, ModelReply, ModelRequest};
use probity_egress::{EgressError, ProviderClient};
use serde::Deserialize;
use url::Url;

use crate::{Secret, anthropic, exchange, openai, words};

/// Longest time to connect.
const MAX_CONNECT: Duration = Duration::from_secs(10);
/// Longest time that a call may be given: one hour.
const MAX_TIMEOUT_MS: u64 = 3_600_000;
/// Most that may be read of an answer: 256 MiB.
const MAX_REPLY_BYTES: u64 = 256 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS: u64 = 300_000;
const DEFAULT_REPLY_BYTES: u64 = 16 * 1024 * 1024;

/// The language that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// `openai`: chat completions, which most servers speak.
    #[serde(rename = "openai")]
    OpenAi,
    /// `anthropic`: messages.
    Anthropic,
}

/// Where a model is and how it is asked.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// The language of the server.
    pub api: Api,
    /// What its paths stand behind, such as `https://api.openai.com/v1` or
    /// `https://api.anthropic.com/v1`. A query is kept, and not shown: some servers take a key there.
    pub base_url: String,
    /// The name of the model, as the server knows it; sent as it is.
    pub model: String,
    /// The key; `None` for servers that want none. Never read from a configuration.
    #[serde(skip)]
    pub key: Option<Secret>,
    /// Whether the answer is asked for as a stream. The reply is the same.
    #[serde(default)]
    pub stream: bool,
    /// 0 to 2, for Anthropic 0 to 1. Left to the server where absent.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Longest answer, in tokens. Absent, it is left to an OpenAI-compatible server and 8192 for
    /// Anthropic, whose protocol wants a number.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// Longest time of one call, from connecting to the last byte, in milliseconds: 1 to 3,600,000,
    /// 300,000 where absent.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Most bytes that are read of one answer, as they come over the wire: 1 to 256 MiB, 16 MiB where
    /// absent. A stream takes some 200 bytes a token.
    #[serde(default = "default_reply_bytes")]
    pub max_reply_bytes: u64,
}

/// A chat model behind an HTTP endpoint. It keeps its connections; it asks once for every call.
pub struct Endpoint {
    config: EndpointConfig,
    client: ProviderClient,
    url: Url,
    identity: String,
    authorization: Option<String>,
    max_reply_bytes: usize,
}

/// An endpoint cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The base URL cannot be asked.
    #[error("base_url cannot be used: {why}; write it as https://api.openai.com/v1")]
    BadUrl {
        /// What is wrong with it.
        why: String,
    },
    /// The key cannot be sent in a header.
    #[error("the key is empty or holds characters other than visible ASCII; set it again")]
    BadKey,
    /// A value is outside its bounds.
    #[error("{field} must be {bounds}")]
    OutOfRange {
        /// The field of the configuration.
        field: &'static str,
        /// What it may be.
        bounds: &'static str,
    },
    /// The machine has nothing to connect with.
    #[error("no connection can be made: {why}")]
    Unusable {
        /// What is missing.
        why: String,
    },
}

impl EndpointConfig {
    /// A model without a key, with everything else as it is where a configuration says nothing.
    #[must_use]
    pub fn new(api: Api, base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            api,
            base_url: base_url.into(),
            model: model.into(),
            key: None,
            stream: false,
            temperature: None,
            max_output_tokens: None,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            max_reply_bytes: DEFAULT_REPLY_BYTES,
        }
    }

    fn check(&self) -> Result<(), EndpointError> {
        let out = |field, bounds| Err(EndpointError::OutOfRange { field, bounds });
        if self.model.is_empty() || self.model.len() > 256 {
            return out("model", "1 to 256 bytes");
        }
        if !(1..=MAX_TIMEOUT_MS).contains(&self.timeout_ms) {
            return out("timeout_ms", "1 to 3600000");
        }
        if !(1..=MAX_REPLY_BYTES).contains(&self.max_reply_bytes) {
            return out("max_reply_bytes", "1 to 268435456");
        }
        if self.max_output_tokens == Some(0) {
            return out("max_output_tokens", "at least 1");
        }
        let (hottest, bounds) = match self.api {
            Api::OpenAi => (2.0, "0 to 2"),
            Api::Anthropic => (1.0, "0 to 1"),
        };
        if self.temperature.is_some_and(|t| !(0.0..=hottest).contains(&t)) {
            return out("temperature", bounds);
        }
        let is_sendable = |key: &Secret| {
            !key.expose().is_empty() && key.expose().bytes().all(|byte| byte.is_ascii_graphic())
        };
        if self.key.as_ref().is_some_and(|key| !is_sendable(key)) {
            return Err(EndpointError::BadKey);
        }
        Ok(())
    }
}

impl Endpoint {
    /// A model as it is configured. Nothing is asked yet.
    ///
    /// # Errors
    /// [`EndpointError`]: what to change in the configuration.
    pub fn new(config: EndpointConfig) -> Result<Self, EndpointError> {
        config.check()?;
        let mut url = Url::parse(&config.base_url)
            .map_err(|e| EndpointError::BadUrl { why: e.to_string() })?;
        let path = match config.api {
            Api::OpenAi => openai::PATH,
            Api::Anthropic => anthropic::PATH,
        };
        let base = format!("{}/", url.path().trim_end_matches('/'));
        url.set_path(&base);
        url.set_fragment(None);
        let connect = MAX_CONNECT.min(Duration::from_millis(config.timeout_ms));
        let client = ProviderClient::new(url.as_str(), connect).map_err(|e| match e {
            EgressError::BadUrl { why, .. } => EndpointError::BadUrl { why: why.to_owned() },
            other => EndpointError::Unusable { why: other.to_string() },
        })?;
        let mut shown = url.clone();
        shown.set_query(None);
        let identity = format!("{} at {shown}", config.model);
        url.set_path(&format!("{base}{path}"));
        let authorization = match (config.api, &config.key) {
            (Api::OpenAi, Some(key)) => Some(format!("Bearer {}", key.expose())),
            (Api::Anthropic, Some(key)) => Some(key.expose().to_owned()),
            (_, None) => None,
        };
        let max_reply_bytes = usize::try_from(config.max_reply_bytes).unwrap_or(usize::MAX);
        Ok(Self { config, client, url, identity, authorization, max_reply_bytes })
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &EndpointConfig {
        &self.config
    }

    async fn ask(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let body = match self.config.api {
            Api::OpenAi => {
                openai::body(&self.config, self.url.host_str().unwrap_or_default(), request)
            }
            Api::Anthropic => anthropic::body(&self.config, request),
        };
        let body = body.map_err(|e| ModelError::Refused {
            status: None,
            message: format!("it cannot be written: {e}"),
        })?;
        let sent = self.client.post(self.url.as_str(), &self.headers(), body).await;
        let mut answer = sent.map_err(exchange::unreached)?;
        if !(200..300).contains(&answer.status()) {
            return Err(exchange::refusal(&mut answer).await);
        }
        // A server that cannot stream says so by what it sends.
        let is_stream = match answer.header("content-type").unwrap_or_default() {
            kind if kind.starts_with("text/event-stream") => true,
            kind if kind.starts_with("application/json") => false,
            _ => self.config.stream,
        };
        let draft = match (is_stream, self.config.api) {
            (true, Api::OpenAi) => {
                let reading = Box::new(openai::Reading::default());
                exchange::stream(&mut answer, self.max_reply_bytes, reading).await
            }
            (true, Api::Anthropic) => {
                let reading = Box::new(anthropic::Reading::default());
                exchange::stream(&mut answer, self.max_reply_bytes, reading).await
            }
            (false, Api::OpenAi) => {
                openai::read(&exchange::whole(&mut answer, self.max_reply_bytes).await?)
            }
            (false, Api::Anthropic) => {
                anthropic::read(&exchange::whole(&mut answer, self.max_reply_bytes).await?)
            }
        };
        draft?.finish(request.number)
    }

    fn headers(&self) -> Vec<(&'static str, &str)> {
        let mut headers = vec![("content-type", "application/json")];
        let name = match self.config.api {
            Api::OpenAi => "authorization",
            Api::Anthropic => {
                headers.push(("anthropic-version", anthropic::VERSION));
                "x-api-key"
            }
        };
        headers.extend(self.authorization.as_deref().map(|value| (name, value)));
        headers
    }

    fn timed_out(&self) -> ModelError {
        let message = format!("no answer within {} ms", self.config.timeout_ms);
        ModelError::Transient { status: None, message, retry_after_ms: None }
    }

    /// The error, with words that may be shown.
    fn fit(&self, error: ModelError) -> ModelError {
        let fit = |message: String| words::fit(&message, self.config.key.as_ref());
        match error {
            ModelError::Refused { status, message } => {
                ModelError::Refused { status, message: fit(message) }
            }
            ModelError::Transient { status, message, retry_after_ms } => {
                ModelError::Transient { status, message: fit(message), retry_after_ms }
            }
            ModelError::Unreadable { message } => ModelError::Unreadable { message: fit(message) },
            other => other,
        }
    }
}

#[async_trait]
impl Model for Endpoint {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let limit = Duration::from_millis(self.config.timeout_ms);
        let answered = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(ModelError::Cancelled),
            answered = tokio::time::timeout(limit, self.ask(request)) => answered,
        };
        let reply = answered.unwrap_or_else(|_| Err(self.timed_out()));
        reply.map_err(|error| self.fit(error))
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }
}

impl EndpointError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadUrl { .. } => "model_endpoint_url",
            Self::BadKey => "model_endpoint_key",
            Self::OutOfRange { .. } => "model_endpoint_range",
            Self::Unusable { .. } => "model_endpoint_unusable",
        }
    }
}

impl fmt::Debug for EndpointConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointConfig")
            .field("api", &self.api)
            .field("base_url", &shown(&self.base_url))
            .field("model", &self.model)
            .field("key", &self.key)
            .field("stream", &self.stream)
            .field("temperature", &self.temperature)
            .field("max_output_tokens", &self.max_output_tokens)
            .field("timeout_ms", &self.timeout_ms)
            .field("max_reply_bytes", &self.max_reply_bytes)
            .finish()
    }
}

/// A base URL without the parts that may hold a key.
fn shown(base_url: &str) -> String {
    let Ok(url) = Url::parse(base_url) else { return "no URL".to_owned() };
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("config", &self.config).finish_non_exhaustive()
    }
}

const fn default_timeout_ms() -> u64 {
    DEFAULT_TIMEOUT_MS
}

const fn default_reply_bytes() -> u64 {
    DEFAULT_REPLY_BYTES
}
