//! What a request may come to but an answer: one envelope for all of it.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// Why a request has no answer. The list is closed; each reason has one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No key, or none that is known.
    Unauthenticated,
    /// The key may not do that.
    Forbidden,
    /// The request is not right.
    Validation,
    /// The body is larger than is read.
    TooLarge,
    /// There is no such thing, or not for this tenant.
    NotFound,
    /// The path takes other methods.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The run has ended.
    RunTerminal,
    /// The run ended before it was answered.
    RunEndedUnanswered,
    /// There is a run or a definition of that name, and it is another.
    RunAlreadyActive,
    /// The run is paused.
    RunPaused,
    /// The run is not paused.
    RunNotPaused,
    /// The node waits for no answer, or not any more.
    NotWaiting,
    /// The token does not hold any more.
    InterruptExpired,
    /// The key of the request was used with another body.
    IdempotencyKeyMismatch,
    /// The same request is under way.
    IdempotencyInFlight,
    /// No such way of telling events.
    UnsupportedStreamMode,
    /// The definition needs what this host does not have.
    CapabilityRequired,
    /// This host does not offer that.
    CapabilityNotProvided,
    /// More at a time than is taken.
    RateLimited,
    /// The tenant has as many as may be.
    LimitReached,
    /// The place of a fork is not in the log.
    ForkPointInvalid,
    /// The model of a replayed run refused where it did not, or the other way round.
    ReplayDivergedAtRefusal,
    /// No such webhook.
    SubscriptionNotFound,
    /// Nothing is sent to that URL.
    WebhookUrlRejected,
    /// The run has not ended.
    RunNotEnded,
    /// The run needs no waiver, or there is nothing that one could be for.
    NothingToWaive,
    /// Somebody else has waived the run.
    AlreadyWaived,
    /// The host or its store cannot take it now.
    Unavailable,
    /// The host is at fault.
    Internal,
}

/// A request that came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Why, in a word.
    pub reason: Reason,
    /// Why, and what to do.
    pub message: String,
    /// More, for programs.
    pub details: Box<Map<String, Value>>,
    /// What the path takes, for [`Reason::MethodNotAllowed`].
    allow: Option<String>,
}

impl Failure {
    /// A failure without details.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), details: Box::default(), allow: None }
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The request is not right at that place.
    #[must_use]
    pub fn invalid(path: &str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self::new(Reason::Validation, format!("`{path}` {what}")).detail("path", path)
    }

    /// There is none of that name here.
    #[must_use]
    pub fn missing(what: &str, name: &str) -> Self {
        let name: String = name.chars().take(128).collect();
        Self::new(Reason::NotFound, format!("there is no {what} `{name}` here"))
    }

    pub(crate) fn allowing(mut self, methods: &str) -> Self {
        self.allow = Some(methods.to_owned());
        self
    }

    /// The envelope: nothing stands in it but these three.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut envelope = json!({"error": self.reason.code(), "message": self.message});
        if let (Some(envelope), false) = (envelope.as_object_mut(), self.details.is_empty()) {
            envelope.insert("details".to_owned(), Value::Object((*self.details).clone()));
        }
        envelope
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.to_json().to_string()));
        *response.status_mut() = self.reason.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let told = self.details.get("retryAfter").and_then(Value::as_u64);
        if let Some(seconds) = self.reason.retry_after_s().or(told) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.reason == Reason::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(Ok(methods)) = self.allow.as_deref().map(HeaderValue::from_str) {
            headers.insert(header::ALLOW, methods);
        }
        response
    }
}

impl Reason {
    /// Every reason there is.
    pub const ALL: [Self; 30] = [
        Self::Unauthenticated,
        Self::Forbidden,
        Self::Validation,
        Self::TooLarge,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::RunTerminal,
        Self::RunEndedUnanswered,
        Self::RunAlreadyActive,
        Self::RunPaused,
        Self::RunNotPaused,
        Self::NotWaiting,
        Self::InterruptExpired,
        Self::IdempotencyKeyMismatch,
        Self::IdempotencyInFlight,
        Self::UnsupportedStreamMode,
        Self::CapabilityRequired,
        Self::CapabilityNotProvided,
        Self::RateLimited,
        Self::LimitReached,
        Self::ForkPointInvalid,
        Self::ReplayDivergedAtRefusal,
        Self::SubscriptionNotFound,
        Self::WebhookUrlRejected,
        Self::RunNotEnded,
        Self::NothingToWaive,
        Self::AlreadyWaived,
        Self::Unavailable,
        Self::Internal,
    ];

    /// When to come again, in seconds, where that may help.
    #[must_use]
    pub const fn retry_after_s(self) -> Option<u64> {
        match self {
            Self::RateLimited | Self::Unavailable | Self::IdempotencyInFlight => Some(1),
            _ => None,
        }
    }

    /// The word of the wire.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::Validation | Self::TooLarge => "validation_error",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::RequestTimeout => "request_timeout",
            Self::RunTerminal | Self::RunEndedUnanswered => "run_terminal",
            Self::RunAlreadyActive => "run_already_active",
            Self::RunPaused => "run_paused",
            Self::RunNotPaused => "run_not_paused",
            Self::NotWaiting => "not_waiting",
            Self::InterruptExpired => "interrupt_expired",
            Self::IdempotencyKeyMismatch => "idempotency_key_mismatch",
            Self::IdempotencyInFlight => "idempotency_in_flight",
            Self::UnsupportedStreamMode => "unsupported_stream_mode",
            Self::CapabilityRequired => "capability_required",
            Self::CapabilityNotProvided => "capability_not_provided",
            Self::RateLimited => "rate_limited",
            Self::LimitReached => "limit_reached",
            Self::ForkPointInvalid => "fork_point_invalid",
            Self::ReplayDivergedAtRefusal => "replay_diverged_at_refusal",
            Self::SubscriptionNotFound => "subscription_not_found",
            Self::WebhookUrlRejected => "webhook_url_rejected",
            Self::RunNotEnded => "run_not_ended",
            Self::NothingToWaive => "nothing_to_waive",
            Self::AlreadyWaived => "already_waived",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal_error",
        }
    }

    /// The status of the answer.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Validation | Self::UnsupportedStreamMode | Self::WebhookUrlRejected => {
                StatusCode::BAD_REQUEST
            }
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotFound | Self::SubscriptionNotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::RunTerminal
            | Self::RunAlreadyActive
            | Self::RunPaused
            | Self::RunNotPaused
            | Self::NotWaiting
            | Self::RunNotEnded
            | Self::NothingToWaive
            | Self::AlreadyWaived
            | Self::LimitReached
            | Self::IdempotencyKeyMismatch
            | Self::IdempotencyInFlight => StatusCode::CONFLICT,
            Self::InterruptExpired => StatusCode::GONE,
            Self::RunEndedUnanswered
            | Self::CapabilityRequired
            | Self::ForkPointInvalid
            | Self::ReplayDivergedAtRefusal => StatusCode::UNPROCESSABLE_ENTITY,
            Self::CapabilityNotProvided => StatusCode::NOT_IMPLEMENTED,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
