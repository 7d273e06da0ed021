//! The pages of the dashboard: files of this program, the same for everybody. They hold no data and ask for
//! a key themselves.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use sha2::{Digest as _, Sha256};

use super::routes::served;
use crate::call::Call;
use crate::error::Failure;
use crate::route::{Access, Route};

/// What a page may do: nothing but run the scripts of this host and ask this host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; \
                      require-trusted-types-for 'script'";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Every file: its name, its type, its text.
static FILES: [(&str, &str, &str); 13] = [
    ("app.css", "text/css; charset=utf-8", include_str!("../../assets/board/app.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/board/icon.svg")),
    ("app.js", SCRIPT, include_str!("../../assets/board/app.js")),
    ("ask.js", SCRIPT, include_str!("../../assets/board/ask.js")),
    ("chart.js", SCRIPT, include_str!("../../assets/board/chart.js")),
    ("checks.js", SCRIPT, include_str!("../../assets/board/checks.js")),
    ("claims.js", SCRIPT, include_str!("../../assets/board/claims.js")),
    ("dom.js", SCRIPT, include_str!("../../assets/board/dom.js")),
    ("drift.js", SCRIPT, include_str!("../../assets/board/drift.js")),
    ("run.js", SCRIPT, include_str!("../../assets/board/run.js")),
    ("runs.js", SCRIPT, include_str!("../../assets/board/runs.js")),
    ("steps.js", SCRIPT, include_str!("../../assets/board/steps.js")),
    ("words.js", SCRIPT, include_str!("../../assets/board/words.js")),
];

pub(crate) const PAGE: Route = Route {
    name: "getDashboard",
    method: Method::GET,
    paths: &["/dashboard"],
    access: Access::Open,
    summary: "The dashboard: a page that asks for a key.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: served,
    handler: |call| Box::pin(page(call)),
};

pub(crate) const SLASH: Route = Route {
    name: "findDashboard",
    method: Method::GET,
    paths: &["/dashboard/"],
    access: Access::Open,
    summary: "Where the dashboard is.",
    takes: None,
    gives: &[(308, None)],
    query: &[],
    is_served: served,
    handler: |_| Box::pin(slash()),
};

pub(crate) const FILE: Route = Route {
    name: "getDashboardFile",
    method: Method::GET,
    paths: &["/dashboard/{file}"],
    access: Access::Open,
    summary: "A file of the dashboard.",
    takes: None,
    gives: &[(200, None)],
    query: &[],
    is_served: served,
    handler: |call| Box::pin(file(call)),
};

async fn page(call: Call) -> Result<Response, Failure> {
    Ok(sent(&call, HTML, include_str!("../../assets/board/index.html")))
}

async fn slash() -> Result<Response, Failure> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    // Relative, so that it holds behind a proxy that serves this host from a folder.
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("../dashboard"));
    guard(response.headers_mut());
    Ok(response)
}

async fn file(call: Call) -> Result<Response, Failure> {
    let name = call.param("file");
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let (_, kind, text) = found.ok_or_else(|| Failure::missing("file", name))?;
    Ok(sent(&call, kind, text))
}

/// A file, or that the caller has it. It is asked for each time: another version of the host has others.
fn sent(call: &Call, kind: &'static str, text: &'static str) -> Response {
    let tag = format!("\"{}\"", hex::encode(Sha256::digest(text)));
    let known = call.header(header::IF_NONE_MATCH.as_str()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(text) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    guard(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn guard(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
