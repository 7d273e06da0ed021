//! What callers say.

use probity_core::{Claim, RunId};
use probity_verifier::spec::CheckSpec;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::ToolFault;

/// The longest task, in bytes.
pub(super) const MAX_TASK_BYTES: usize = 64 * 1024;
/// The longest claim, in bytes of its JSON.
pub(super) const MAX_CLAIM_BYTES: usize = 1024 * 1024;
/// Checks that one call adds at most.
pub(super) const MAX_CHECKS: usize = 32;
/// What a verified claim is about, where nobody says.
const NO_TASK: &str = "What was claimed is checked.";

/// `delegate`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DelegateWire {
    task: String,
    agent: Option<String>,
    #[serde(default)]
    expect: Vec<Value>,
    max_attempts: Option<u32>,
    timeout_ms: Option<u64>,
    max_tokens: Option<u64>,
    max_tool_calls: Option<u64>,
}

/// `verify`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifyWire {
    claim: Value,
    task: Option<String>,
    agent: Option<String>,
    #[serde(default)]
    expect: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunWire {
    run_id: String,
}

/// Bounds that a caller asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    pub(super) max_attempts: Option<u32>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_tool_calls: Option<u64>,
}

/// What `delegate` was asked for.
#[derive(Debug)]
pub(super) struct Delegated {
    pub(super) task: String,
    pub(super) agent: Option<String>,
    pub(super) checks: Vec<CheckSpec>,
    pub(super) bounds: Bounds,
}

/// What `verify` was asked for.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) claim: Claim,
    pub(super) task: String,
    pub(super) agent: Option<String>,
    pub(super) checks: Vec<CheckSpec>,
}

/// # Errors
/// [`ToolFault::Arguments`].
pub(super) fn delegated(arguments: Map<String, Value>) -> Result<Delegated, ToolFault> {
    let wire: DelegateWire = read(arguments)?;
    let DelegateWire { max_attempts, timeout_ms, max_tokens, max_tool_calls, .. } = wire;
    if wire.task.trim().is_empty() {
        return Err(ToolFault::Arguments("`task` says nothing".to_owned()));
    }
    if max_attempts == Some(0) || timeout_ms == Some(0) {
        let why = "`max_attempts` and `timeout_ms` are 1 or more: a bound of nothing does nothing";
        return Err(ToolFault::Arguments(why.to_owned()));
    }
    Ok(Delegated {
        task: bounded_task(wire.task)?,
        agent: wire.agent,
        checks: checks(wire.expect)?,
        bounds: Bounds { max_attempts, timeout_ms, max_tokens, max_tool_calls },
    })
}

/// # Errors
/// [`ToolFault::Arguments`].
pub(super) fn claimed(arguments: Map<String, Value>) -> Result<Claimed, ToolFault> {
    let wire: VerifyWire = read(arguments)?;
    let task = wire.task.filter(|task| !task.trim().is_empty());
    Ok(Claimed {
        claim: claim(wire.claim)?,
        task: bounded_task(task.unwrap_or_else(|| NO_TASK.to_owned()))?,
        agent: wire.agent,
        checks: checks(wire.expect)?,
    })
}

/// # Errors
/// [`ToolFault::Arguments`] or [`ToolFault::Name`].
pub(super) fn run_id(arguments: Map<String, Value>) -> Result<RunId, ToolFault> {
    let RunWire { run_id } = read(arguments)?;
    Ok(run_id.parse()?)
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolFault> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolFault::Arguments(error.to_string()))
}

fn bounded_task(task: String) -> Result<String, ToolFault> {
    match task.len() > MAX_TASK_BYTES {
        true => Err(ToolFault::Arguments(format!("`task` is longer than {MAX_TASK_BYTES} bytes"))),
        false => Ok(task),
    }
}

fn checks(expect: Vec<Value>) -> Result<Vec<CheckSpec>, ToolFault> {
    if expect.len() > MAX_CHECKS {
        return Err(ToolFault::Arguments(format!("`expect` has more than {MAX_CHECKS} checks")));
    }
    let numbered = (1_u32..).zip(expect);
    let read = numbered.map(|(number, check)| {
        serde_json::from_value(check)
            .map_err(|error| ToolFault::Arguments(format!("check {number} of `expect`: {error}")))
    });
    read.collect()
}

fn claim(value: Value) -> Result<Claim, ToolFault> {
    if value.to_string().len() > MAX_CLAIM_BYTES {
        let why = format!("`claim` is longer than {MAX_CLAIM_BYTES} bytes");
        return Err(ToolFault::Arguments(why));
    }
    match value {
        Value::String(text) => Ok(Claim::text(text)),
        object @ Value::Object(_)
            if object.get("response").is_some() || object.get("output").is_some() =>
        {
            serde_json::from_value(object)
                .map_err(|error| ToolFault::Arguments(format!("`claim`: {error}")))
        }
        _ => {
            let why = "`claim` is a text, or an object with `response` or `output`";
            Err(ToolFault::Arguments(why.to_owned()))
        }
    }
}
