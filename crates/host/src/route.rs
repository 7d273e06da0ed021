//! The table of routes: what is served, documented and guarded comes from it alone.

use std::collections::BTreeMap;
use std::pin::Pin;

use axum::http::Method;
use axum::response::Response;
use percent_encoding::percent_decode_str;

use crate::call::Call;
use crate::config::HostConfig;
use crate::error::{Failure, Reason};
use crate::question::Question;
use crate::scope::Scope;

/// What a handler comes to.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// The shape of a stream of server-sent events.
pub(crate) const STREAM: &str = "EventStream";

/// One route.
pub(crate) struct Route {
    /// The name of the operation.
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    /// Its paths; the first one is its own, the others are as good.
    pub(crate) paths: &'static [&'static str],
    pub(crate) access: Access,
    pub(crate) summary: &'static str,
    /// The shape of its body.
    pub(crate) takes: Option<&'static str>,
    /// Statuses of its answers with their shapes. One status may have several: who asks chooses.
    pub(crate) gives: &'static [(u16, Option<&'static str>)],
    /// What may stand behind the question mark.
    pub(crate) query: &'static [Question],
    /// Whether it is served.
    pub(crate) is_served: fn(&HostConfig) -> bool,
    pub(crate) handler: fn(Call) -> Answering,
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody.
    Open,
    /// Whoever holds the token that is in the path.
    Token,
    /// A key with that permission.
    Key(Scope),
}

/// A route that fits, with the parts of the path that it names.
pub(crate) struct Found {
    pub(crate) route: &'static Route,
    pub(crate) params: BTreeMap<&'static str, String>,
}

/// The route of a request.
///
/// # Errors
/// No route has that path, or none with that method.
pub(crate) fn find(
    routes: &'static [Route],
    config: &HostConfig,
    method: &Method,
    path: &str,
) -> Result<Found, Failure> {
    let mut others: Vec<&str> = Vec::new();
    let served = || routes.iter().filter(|route| (route.is_served)(config));
    // What stands there word for word is no name of something.
    let is_literal = served().any(|route| route.paths.contains(&path));
    for route in served().filter(|route| !is_literal || route.paths.contains(&path)) {
        let Some(params) = route.paths.iter().find_map(|template| matched(template, path)) else {
            continue;
        };
        let is_head = *method == Method::HEAD && route.method == Method::GET;
        if route.method == *method || is_head {
            return Ok(Found { route, params });
        }
        others.push(route.method.as_str());
    }
    if others.is_empty() {
        return Err(Failure::missing("path", path));
    }
    others.sort_unstable();
    others.dedup();
    let allow = others.join(", ");
    let message = format!("this path takes {allow}");
    Err(Failure::new(Reason::MethodNotAllowed, message).allowing(&allow))
}

/// The named parts of a path, if it fits a template such as `/v1/runs/{runId}:cancel`. A colon in a path
/// parts a name from a verb; one in a name must be written `%3A`.
fn matched(template: &'static str, path: &str) -> Option<BTreeMap<&'static str, String>> {
    let mut params = BTreeMap::new();
    let mut parts = path.split('/');
    for wanted in template.split('/') {
        let part = parts.next()?;
        let Some((name, verb)) = wanted.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        else {
            if part == wanted {
                continue;
            }
            return None;
        };
        let value = part.strip_suffix(verb).filter(|value| !value.is_empty())?;
        if value.contains(':') {
            return None;
        }
        let value = percent_decode_str(value).decode_utf8().ok()?;
        params.insert(name, value.into_owned());
    }
    parts.next().is_none().then_some(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fits_its_template_and_no_other() {
        let run = |path| matched("/v1/runs/{runId}", path).map(|params| params["runId"].clone());
        assert_eq!(run("/v1/runs/abc"), Some("abc".to_owned()));
        assert_eq!(run("/v1/runs/a%3Ab"), Some("a:b".to_owned()));
        for path in ["/v1/runs/", "/v1/runs", "/v1/runs/a/b", "/v1/runs/a:cancel", "/v2/runs/a"] {
            assert_eq!(run(path), None, "{path}");
        }
        let verb = matched("/v1/runs/{runId}:cancel", "/v1/runs/a:cancel").unwrap();
        assert_eq!(verb["runId"], "a");
        assert!(matched("/v1/runs/{runId}:cancel", "/v1/runs/a").is_none());
        assert!(matched("/v1/runs:bulk-cancel", "/v1/runs:bulk-cancel").unwrap().is_empty());
    }
}
