//! One request, taken apart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use probity_core::RunId;
use serde_json::Value;

use crate::delegated::Delegated;
use crate::error::{Failure, Reason};
use crate::host::Host;
use crate::keys::Caller;
use crate::scope::Scope;
use crate::tenant;
use crate::wire::v1::run_named;

/// A request that found its route, and whose caller may do what it asks for.
pub(crate) struct Call {
    pub(crate) host: Arc<Host>,
    pub(crate) method: Method,
    /// The route as it stands in the table.
    pub(crate) route: &'static str,
    /// Parts of the path by their names in the route.
    pub(crate) params: BTreeMap<&'static str, String>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Nobody where the route is open.
    pub(crate) caller: Option<Caller>,
}

/// What stands behind the question mark. Of a name that is there twice the first one counts.
#[derive(Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Call {
    /// Whoever asks.
    pub(crate) fn caller(&self) -> Result<&Caller, Failure> {
        self.caller
            .as_ref()
            .ok_or_else(|| Failure::new(Reason::Unauthenticated, "an API key is needed"))
    }

    pub(crate) fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The run that the path names, if it is the caller's. Another tenant's is not there.
    pub(crate) fn run(&self) -> Result<RunId, Failure> {
        self.own(self.param("runId"))
    }

    /// A run by its name, if it is the caller's.
    pub(crate) fn own(&self, text: &str) -> Result<RunId, Failure> {
        let run = run_named(text)?;
        match tenant::owns(&self.caller()?.tenant, &run) {
            true => Ok(run),
            false => Err(Failure::missing("run", text)),
        }
    }

    /// Who takes delegations, where anybody does.
    pub(crate) fn delegated(&self) -> Result<&Arc<dyn Delegated>, Failure> {
        self.host.delegated.as_ref().ok_or_else(|| Failure::missing("path", self.route))
    }

    /// Whether whoever asks may do that.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.may(scope))
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        self.maybe_json()?
            .ok_or_else(|| Failure::new(Reason::Validation, "a JSON body is required"))
    }

    /// The body as JSON, where there is one.
    pub(crate) fn maybe_json(&self) -> Result<Option<Value>, Failure> {
        if self.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        probity_record::canonical::parse_ijson(&self.body).map(Some).map_err(|error| {
            Failure::new(Reason::Validation, format!("the body is not JSON: {error}"))
        })
    }
}

impl Query {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let mut pairs = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
            pairs.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(pairs)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A whole number within bounds.
    pub(crate) fn whole(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Failure> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().ok().filter(|number| (least..=most).contains(number)).map(Some).ok_or_else(
            || Failure::invalid(&format!("?{name}"), format!("must be {least} to {most}")),
        )
    }
}

/// An answer of JSON.
pub(crate) fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
