//! From a request to its answer: whoever it is, whatever it asks, one way for all of it.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, header};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream as _;
use tokio::sync::Semaphore;

use crate::api;
use crate::call::{Call, Query, millis};
use crate::error::{Failure, Reason};
use crate::host::Host;
use crate::idempotency;
use crate::keys::Caller;
use crate::route::{Access, Found, find};

/// The longest that a long poll may ask for.
pub(crate) const MAX_POLL_MS: u64 = 60_000;

/// Answers a request. Whatever goes wrong comes back as an envelope.
pub(crate) async fn answer(host: Arc<Host>, request: Request<Body>) -> Response {
    let is_head = *request.method() == Method::HEAD;
    let mut response = match attempt(host, request).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    };
    if is_head {
        *response.body_mut() = Body::empty();
    }
    response
}

async fn attempt(host: Arc<Host>, request: Request<Body>) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let found = find(api::ROUTES, &host.config, &head.method, head.uri.path());
    let access = found.as_ref().ok().map(|found| found.route.access);
    let caller = match access {
        Some(Access::Open | Access::Token) => None,
        // Who has no key does not learn what there is.
        Some(Access::Key(_)) | None => Some(authenticated(&host, &head.headers)?),
    };
    let Found { route, params } = found?;
    if let (Access::Key(scope), Some(caller)) = (route.access, &caller)
        && !caller.may(scope)
    {
        let message = format!("this key may not do that: it needs the scope `{}`", scope.as_str());
        return Err(
            Failure::new(Reason::Forbidden, message).detail("requiredScope", scope.as_str())
        );
    }
    let query = Query::parse(head.uri.query());
    let may_wait = route.query.iter().any(|question| question.name() == "timeout");
    let places: &Arc<Semaphore> = if may_wait { &host.streams } else { &host.requests };
    let place = Arc::clone(places)
        .try_acquire_owned()
        .map_err(|_| Failure::new(Reason::RateLimited, "too many requests at a time"))?;
    let body = received(&host, &head.headers, body).await?;
    let limit_ms = host.config.limits.answer_timeout_ms + if may_wait { MAX_POLL_MS } else { 0 };
    let call = Call {
        host,
        method: head.method,
        route: route.paths.first().copied().unwrap_or_default(),
        params,
        query,
        headers: head.headers,
        body,
        caller,
    };
    // On a task of its own: a panic stays in it, and what a caller left behind comes to its end. It keeps
    // its place until then: callers who do not wait are no more at a time than those who do.
    let work = tokio::spawn(async move {
        let _place = place;
        idempotency::once(route, call).await
    });
    match tokio::time::timeout(millis(limit_ms), work).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(Failure::new(Reason::Internal, "the host made a mistake")),
        Err(_) => Err(Failure::new(Reason::Unavailable, "the answer took too long")),
    }
}

fn authenticated(host: &Host, headers: &HeaderMap) -> Result<Caller, Failure> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let key = given
        .and_then(|text| text.split_once(' '))
        .and_then(|(scheme, key)| scheme.eq_ignore_ascii_case("bearer").then_some(key.trim()));
    key.and_then(|key| host.config.keys.caller(key)).cloned().ok_or_else(|| {
        Failure::new(Reason::Unauthenticated, "send `Authorization: Bearer` with a valid API key")
    })
}

/// The body, within its bounds of size and time.
async fn received(host: &Host, headers: &HeaderMap, body: Body) -> Result<Bytes, Failure> {
    let limits = host.config.limits;
    let too_large = || {
        let message = format!("the body is larger than {} bytes", limits.max_body_bytes);
        Failure::new(Reason::TooLarge, message).detail("maxBytes", limits.max_body_bytes)
    };
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let said = said.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    if said > u64::try_from(limits.max_body_bytes).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    let reading = async {
        let mut pieces = body.into_data_stream();
        let mut read = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| Pin::new(&mut pieces).poll_next(cx)).await
        {
            let broke = |_| Failure::new(Reason::Validation, "the body broke off");
            let piece = piece.map_err(broke)?;
            if piece.len() > limits.max_body_bytes.saturating_sub(read.len()) {
                return Err(too_large());
            }
            read.extend_from_slice(&piece);
        }
        Ok(Bytes::from(read))
    };
    let late = |_| Failure::new(Reason::RequestTimeout, "the body took too long");
    tokio::time::timeout(millis(limits.body_timeout_ms), reading).await.map_err(late)?
}
