//! `accepts` and `rejects`: claims a script must judge one way or the other before it is used.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_core::{Claim, VerdictKind};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::fault::{self, FaultFrame};
use crate::host::{GateError, HostAnswer, HostCall, HttpResponse};
use crate::interpreter::{self, Bounds, Loaded, Product, Source};
use crate::session::{Ask, Changes, Input};

/// The most examples of one kind.
const MAX_EXAMPLES: usize = 256;

/// The examples of one file.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    accepts: Vec<Example>,
    rejects: Vec<Example>,
}

/// A claim and the world it is judged in. Nothing outside the example is read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    /// The claim.
    #[serde(default)]
    result: Map<String, Json>,
    /// The decision, for a file that defines `verify`: what its context has besides the claim.
    #[serde(default)]
    context: Option<Map<String, Json>>,
    #[serde(default)]
    task: String,
    /// In place of the first.
    #[serde(default)]
    attempt: Option<u32>,
    /// In place of the request's own.
    #[serde(default)]
    args: Option<Json>,
    /// The workspace: path to content.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// What hosts answer: URL to response. Any other URL is unreachable.
    #[serde(default)]
    http: BTreeMap<String, ExampleResponse>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleResponse {
    status: u16,
    #[serde(default)]
    body: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Examples {
    pub(crate) const fn is_empty(&self) -> bool {
        self.accepts.is_empty() && self.rejects.is_empty()
    }

    pub(crate) fn read(accepts: Option<Json>, rejects: Option<Json>) -> Result<Self, FaultFrame> {
        Ok(Self { accepts: list("accepts", accepts)?, rejects: list("rejects", rejects)? })
    }
}

fn list(name: &str, value: Option<Json>) -> Result<Vec<Example>, FaultFrame> {
    let bad = |message: String| FaultFrame::new(fault::EXAMPLE, message);
    let items = match value {
        None => return Ok(Vec::new()),
        Some(Json::Array(items)) if items.len() <= MAX_EXAMPLES => items,
        Some(Json::Array(_)) => {
            return Err(bad(format!("`{name}` has more than {MAX_EXAMPLES} items")));
        }
        Some(_) => return Err(bad(format!("`{name}` must be a list"))),
    };
    let item = |(index, item): (usize, Json)| match item {
        Json::Object(fields) if fields.contains_key("result") || fields.contains_key("context") => {
            serde_json::from_value(Json::Object(fields))
                .map_err(|error| bad(format!("`{name}[{index}]`: {error}")))
        }
        Json::Object(result) => Ok(Example { result, ..Example::default() }),
        _ => Err(bad(format!("`{name}[{index}]` must be a dict"))),
    };
    items.into_iter().enumerate().map(item).collect()
}

/// Runs every example; the first that comes out wrong is the fault.
pub(crate) fn run_all(
    source: &Source,
    loaded: &Loaded,
    examples: &Examples,
    bounds: &Bounds,
) -> Result<(), FaultFrame> {
    for (index, example) in examples.accepts.iter().enumerate() {
        let kind = run(source, loaded, example, bounds, &format!("accepts[{index}]"))?;
        check(kind == VerdictKind::Pass, &format!("accepts[{index}]"), "pass", kind, source)?;
    }
    for (index, example) in examples.rejects.iter().enumerate() {
        let kind = run(source, loaded, example, bounds, &format!("rejects[{index}]"))?;
        let is_rejected = matches!(kind, VerdictKind::Revise | VerdictKind::Fail);
        check(is_rejected, &format!("rejects[{index}]"), "revise or fail", kind, source)?;
    }
    Ok(())
}

fn check(
    is_right: bool,
    which: &str,
    expected: &str,
    got: VerdictKind,
    source: &Source,
) -> Result<(), FaultFrame> {
    if is_right {
        return Ok(());
    }
    let got = format!("{got:?}").to_lowercase();
    Err(FaultFrame::new(fault::EXAMPLE, format!("`{which}` must be {expected}, it is {got}"))
        .at(&source.name))
}

fn run(
    source: &Source,
    loaded: &Loaded,
    example: &Example,
    bounds: &Bounds,
    which: &str,
) -> Result<VerdictKind, FaultFrame> {
    let input = Input {
        claim: claim(&example.result),
        decision: example.context.clone(),
        task: example.task.clone(),
        attempt: example.attempt.unwrap_or(1),
        now: "1970-01-01T00:00:00Z".to_owned(),
        changes: Some(Changes {
            created: example.files.keys().cloned().collect(),
            ..Changes::default()
        }),
        files: Some(example.files.clone()),
        ..Input::default()
    };
    let host = Box::new(GivenHost(example.http.clone()));
    let report = match &example.args {
        None => interpreter::call(loaded, input, host, bounds),
        Some(args) => {
            let source = Source { args: args.clone(), ..source.clone() };
            let (loaded, _) = interpreter::compile(&source, bounds)?;
            interpreter::call(&loaded, input, host, bounds)
        }
    };
    match report.result {
        Ok(Product::Decision(decision)) => Ok(decision.kind),
        Ok(_) => Ok(VerdictKind::Inconclusive),
        Err(fault) => Err(FaultFrame {
            message: format!("in the example `{which}`: {}", fault.message),
            ..fault
        }),
    }
}

/// The claim with the fields every claim has.
fn claim(given: &Map<String, Json>) -> Json {
    let empty = serde_json::to_value(Claim::default()).unwrap_or_default();
    let Json::Object(mut fields) = empty else { return Json::Object(given.clone()) };
    fields.extend(given.clone());
    Json::Object(fields)
}

struct GivenHost(BTreeMap<String, ExampleResponse>);

impl Ask for GivenHost {
    fn ask(&self, call: &HostCall, _: Option<Duration>) -> HostAnswer {
        let request = match call {
            HostCall::Http(request) => request,
            HostCall::Wait { .. } => {
                return Err(GateError::Denied("nothing changes in an example".to_owned()));
            }
            HostCall::Command(_)
            | HostCall::Git(_)
            | HostCall::Env { .. }
            | HostCall::Change(_) => {
                let message = "an example has files and http only".to_owned();
                return Err(GateError::Unreachable(message));
            }
        };
        let given = self.0.get(&request.url).ok_or_else(|| {
            GateError::Unreachable(format!("the example has no response for `{}`", request.url))
        })?;
        let response = HttpResponse {
            status: given.status,
            url: request.url.clone(),
            headers: given.headers.clone().into_iter().collect(),
            body: given.body.clone(),
            truncated: false,
        };
        serde_json::to_value(response).map_err(|error| GateError::Invalid(error.to_string()))
    }
}
