//! The same request twice is one request.
//!
//! A request that begins a run needs nothing kept here: its key names the run, whose log holds the digest
//! of its body, so that every host on a store answers the same. For the others the answer is kept in
//! memory, bounded in number and time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use crate::call::Call;
use crate::error::{Failure, Reason};
use crate::route::Route;

/// Where the digest of a request's body stands in the metadata of the run that it began. The host's
/// own: it takes none from callers, and shows none.
pub(crate) const DIGEST_KEY: &str = "probity.requestDigest";
/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("openwop-idempotent-replay");
/// The operation whose key names a run.
pub(crate) const CREATE: &str = "createRun";
/// Answers that are kept of one tenant: nobody's many requests let go of another one's.
const MAX_KEPT: usize = 1_024;
/// Bytes of theirs.
const MAX_TENANT_BYTES: usize = 16 * 1024 * 1024;
/// The largest answer that is kept, in bytes.
const MAX_KEPT_BYTES: usize = 64 * 1024;
/// How long, in milliseconds.
const KEPT_MS: u64 = 24 * 3_600_000;
/// Characters of a key.
const MAX_KEY_CHARS: usize = 255;

type Name = [u8; 32];

/// Answers that were given, by tenant.
#[derive(Default)]
pub(crate) struct Answered(Mutex<HashMap<String, Table>>);

#[derive(Default)]
struct Table {
    slots: HashMap<Name, Slot>,
    /// In the order of arrival: the oldest goes first.
    order: VecDeque<Name>,
    /// Of the answers that are kept.
    bytes: usize,
}

struct Slot {
    digest: Name,
    at_ms: u64,
    /// `None` while the first one is worked on.
    kept: Option<Kept>,
}

#[derive(Clone)]
struct Kept {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// Handles a call; one with a key that was handled before gets the same answer.
pub(crate) async fn once(route: &'static Route, call: Call) -> Result<Response, Failure> {
    let key = match key(&call)? {
        Some(key) if route.method == Method::POST && route.name != CREATE => key,
        _ => return (route.handler)(call).await,
    };
    let host = std::sync::Arc::clone(&call.host);
    let tenant = call.caller().map(|caller| caller.tenant.clone()).unwrap_or_default();
    let endpoint = format!("{} {:?}", call.route, call.params);
    let name = hashed(&[tenant.as_bytes(), endpoint.as_bytes(), key.as_bytes()]);
    let digest = body_digest(&call);
    if let Some(kept) = host.answered.begin(&tenant, name, digest, host.now_ms())? {
        return Ok(kept.replay());
    }
    // Whatever becomes of the handler, the key is free again or has its answer.
    let mut open = Open { answered: &host.answered, tenant: &tenant, name, kept: None };
    let response = match (route.handler)(call).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    };
    let (head, body) = response.into_parts();
    let body = to_bytes(body, MAX_KEPT_BYTES)
        .await
        .map_err(|_| Failure::new(Reason::Internal, "the answer is too large"))?;
    let kept = Kept { status: head.status, headers: head.headers, body };
    if is_final(kept.status) {
        open.kept = Some(kept.clone());
    }
    Ok(kept.response())
}

/// The idempotency key of a request, if it has one.
pub(crate) fn key(call: &Call) -> Result<Option<String>, Failure> {
    let Some(value) = call.headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let is_good = !text.is_empty()
        && text.len() <= MAX_KEY_CHARS
        && text.bytes().all(|b| (0x20..0x7f).contains(&b));
    if is_good && call.method == Method::POST {
        return Ok(Some(text.to_owned()));
    }
    if call.method != Method::POST {
        return Ok(None);
    }
    let what = format!("must be 1 to {MAX_KEY_CHARS} printable characters");
    Err(Failure::invalid("Idempotency-Key", what))
}

/// What a body says, whatever its spelling.
pub(crate) fn body_digest(call: &Call) -> Name {
    let json = call.maybe_json().ok().flatten();
    let canonical = json.and_then(|json| probity_record::canonical::jcs(&json).ok());
    hashed(&[canonical.as_deref().unwrap_or(&call.body)])
}

/// Another body came under that key.
pub(crate) fn mismatch() -> Failure {
    let message = "this idempotency key was used with another body: choose another key";
    Failure::new(Reason::IdempotencyKeyMismatch, message)
}

/// Says that this answer was given before.
pub(crate) fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// What is worth keeping: what would come again, and whose repetition could do harm.
fn is_final(status: StatusCode) -> bool {
    status.is_success()
        || matches!(
            status,
            StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::UNPROCESSABLE_ENTITY
        )
}

fn hashed(parts: &[&[u8]]) -> Name {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl Answered {
    /// The answer that was given under that name; without one, it is to be worked out now.
    fn begin(
        &self,
        tenant: &str,
        name: Name,
        digest: Name,
        now_ms: u64,
    ) -> Result<Option<Kept>, Failure> {
        let mut tables = self.tables();
        let table = tables.entry(tenant.to_owned()).or_default();
        table.forget(now_ms);
        if let Some(slot) = table.slots.get(&name) {
            if slot.digest != digest {
                return Err(mismatch());
            }
            return slot.kept.clone().map(Some).ok_or_else(|| {
                Failure::new(Reason::IdempotencyInFlight, "the same request is under way")
            });
        }
        table.slots.insert(name, Slot { digest, at_ms: now_ms, kept: None });
        table.order.push_back(name);
        Ok(None)
    }

    fn end(&self, tenant: &str, name: Name, kept: Option<Kept>) {
        let mut tables = self.tables();
        let table = tables.entry(tenant.to_owned()).or_default();
        match kept {
            Some(kept) => {
                if let Some(slot) = table.slots.get_mut(&name) {
                    table.bytes = table.bytes.saturating_add(kept.body.len());
                    slot.kept = Some(kept);
                }
            }
            None => {
                table.slots.remove(&name);
                table.order.retain(|other| *other != name);
            }
        }
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<String, Table>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Lets go of what is too old, and of the oldest where there are too many. What is worked on stays.
    fn forget(&mut self, now_ms: u64) {
        while let Some(name) = self.order.front().copied() {
            let is_full = self.order.len() >= MAX_KEPT || self.bytes >= MAX_TENANT_BYTES;
            let is_over = self.slots.get(&name).is_none_or(|slot| {
                slot.kept.is_some() && (is_full || now_ms.saturating_sub(slot.at_ms) > KEPT_MS)
            });
            if !is_over {
                return;
            }
            let kept = self.slots.remove(&name).and_then(|slot| slot.kept);
            self.bytes = self.bytes.saturating_sub(kept.map_or(0, |kept| kept.body.len()));
            self.order.pop_front();
        }
    }
}

/// A key that is being worked on.
struct Open<'a> {
    answered: &'a Answered,
    tenant: &'a str,
    name: Name,
    kept: Option<Kept>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.answered.end(self.tenant, self.name, self.kept.take());
    }
}

impl Kept {
    fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    fn replay(self) -> Response {
        replayed(self.response())
    }
}
