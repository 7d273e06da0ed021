//! Runs that wait for other runs. Whether these have ended is read from what is durable about them,
//! never from a message: an end that nobody heard of is found at the next look.

use std::time::Duration;

use probity_core::{Code, Finding, RunId};
use probity_engine::{EngineError, Report, read_json};
use probity_store::{Cause, Standing, Store};
use serde_json::{Value, json};

use crate::kit::Kit;
use crate::trouble::Trouble;

/// The most runs that one run waits for.
const MAX_CHILDREN: usize = 256;
/// How long a run is waited for that nobody opens, or that nobody will work on.
const MAX_ABSENCE: Duration = Duration::from_secs(60);
/// The longest response, and the longest output as JSON, that is handed to the run that waits, in
/// bytes.
const MAX_PART_BYTES: usize = 16 * 1024;

/// How a child ended.
enum End {
    /// Its log is sealed.
    Sealed,
    /// It is a dead letter.
    Dead(Cause),
    /// Nobody opened it.
    Missing,
    /// It is open, but its dead letter was discarded: nobody will work on it.
    Discarded,
}

/// The answer to a run that waits for these, once all of them have ended.
pub(crate) async fn join(
    kit: &Kit,
    parent: &RunId,
    children: &[RunId],
    waited: Duration,
) -> Result<Option<Value>, Trouble> {
    let children = children.iter().take(MAX_CHILDREN);
    let mut ends = Vec::new();
    for child in children {
        // A run that waits for itself would wait for ever.
        let end = match child == parent {
            true => Some(End::Missing),
            false => end_of(kit, child, waited).await?,
        };
        let Some(end) = end else { return Ok(None) };
        ends.push((child, end));
    }
    let mut answer = Vec::with_capacity(ends.len());
    for (child, end) in ends {
        answer.push(part(kit, child, end).await?);
    }
    Ok(Some(Value::Array(answer)))
}

async fn end_of(kit: &Kit, child: &RunId, waited: Duration) -> Result<Option<End>, Trouble> {
    let store = kit.store();
    let state = store.state(child).await?;
    if state.is_some_and(|state| state.sealed) {
        return Ok(Some(End::Sealed));
    }
    let is_late = waited >= MAX_ABSENCE;
    Ok(match (state, store.standing(child).await?) {
        (_, Some(Standing::Dead { cause, .. })) => Some(End::Dead(cause)),
        (None, _) => is_late.then_some(End::Missing),
        // A run that was never under a lease may be driven by somebody who needs no queue.
        (Some(_), None) if is_late && is_of_workers(kit, child).await? => Some(End::Discarded),
        (Some(_), _) => None,
    })
}

/// Whether the run is one that workers drive: it was left for them, or one of them had it.
async fn is_of_workers(kit: &Kit, child: &RunId) -> Result<bool, Trouble> {
    match kit.engine().find(child).await.map_err(Trouble::from) {
        Ok(found) => Ok(found.machine().is_released() || found.machine().epoch() > 0),
        Err(trouble) if trouble.may_pass() => Err(trouble),
        Err(_) => Ok(true),
    }
}

async fn part(kit: &Kit, child: &RunId, end: End) -> Result<Value, Trouble> {
    let nothing = |outcome: &str, code: Code| {
        let none = Value::Null;
        json!({ "run": child, "outcome": outcome, "code": code, "response": none, "output": none })
    };
    match end {
        End::Dead(cause) => Ok(nothing("dead_lettered", cause.code)),
        End::Missing => Ok(nothing("missing", Code::slug("run_missing"))),
        End::Discarded => Ok(nothing("discarded", Code::slug("run_discarded"))),
        End::Sealed => match sealed(kit, child).await.map_err(Trouble::from) {
            Ok(part) => Ok(part),
            Err(trouble) if trouble.may_pass() => Err(trouble),
            // It has ended, and that is all that can be said.
            Err(trouble) => Ok(nothing("unreadable", trouble.code)),
        },
    }
}

async fn sealed(kit: &Kit, child: &RunId) -> Result<Value, EngineError> {
    let store: &dyn Store = kit.fleet.store().as_ref();
    let report = Report::read(store, child).await?;
    let claim = report.delivered.or(report.claim);
    let (response, mut output) = match claim {
        Some(claim) => (Value::from(cut(&claim.response)), claim.output),
        None => (Value::Null, None),
    };
    if report.outcome.is_some_and(|outcome| outcome.delivers()) {
        output = replacement(kit, child).await?.or(output);
    }
    Ok(json!({
        "run": child,
        "outcome": report.outcome,
        "code": report.code,
        "response": response,
        "output": output.map_or(Value::Null, bounded),
    }))
}

/// What a check of the last verdict put in the place of the claim's output.
async fn replacement(kit: &Kit, child: &RunId) -> Result<Option<Value>, EngineError> {
    let found = kit.engine().find(child).await?;
    let findings = found.machine().judged().last().map(|judged| judged.findings.as_slice());
    let mut outputs = findings.unwrap_or_default().iter().filter_map(|finding| match finding {
        Some(Finding::Verdict { output, .. }) => *output,
        _ => None,
    });
    let store: &dyn Store = kit.fleet.store().as_ref();
    match outputs.next_back() {
        Some(digest) => Ok(Some(read_json(store, digest, "result").await?)),
        None => Ok(None),
    }
}

/// An output that is too long is handed on as the beginning of its text.
fn bounded(output: Value) -> Value {
    let text = output.to_string();
    if text.len() <= MAX_PART_BYTES { output } else { Value::from(cut(&text)) }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_PART_BYTES)).unwrap_or_default()
}
