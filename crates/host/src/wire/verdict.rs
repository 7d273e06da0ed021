//! The verdict API: its names, its shapes, what it takes.

use probity_core::{Digest, RunId};
use probity_engine::Report;
use probity_record::Record;
use probity_store::Pool;
use serde_json::{Map, Value, json};

use super::v1::{Fields, rfc3339};
use crate::delegated::{Glance, NewWaiver, Standing, Waiver};
use crate::error::{Failure, Reason};

/// Characters of a human's name.
const MAX_NAME_CHARS: usize = 128;
/// Characters of a reason, and of what a delegate is told.
const MAX_TEXT_CHARS: usize = 4_000;
/// Members of a report that hold no content.
const FREE: [&str; 15] = [
    "run_id",
    "outcome",
    "code",
    "waived",
    "edited",
    "attempts",
    "max_attempts",
    "interruptions",
    "checks",
    "history",
    "hooks",
    "degraded",
    "waits_for",
    "parked_until_ms",
    "seal",
];
/// Members of its parts that hold none.
const FREE_PARTS: [&str; 15] = [
    "id",
    "turn",
    "verdict",
    "code",
    "counted",
    "candidate",
    "checks",
    "discriminating",
    "elapsed_ms",
    "event",
    "action",
    "trigger",
    "step",
    "events",
    "head",
];

/// The request of a delegation, as it was sent.
pub(crate) struct NewDelegation {
    pub(crate) request: Value,
    /// The run that it is part of.
    pub(crate) parent: Option<String>,
}

impl NewDelegation {
    /// Reads a body. What a request may hold otherwise is the business of whoever plans it.
    pub(crate) fn parse(body: Value) -> Result<Self, Failure> {
        let fields = Fields::of(&body)?;
        if fields.value("id").is_some() {
            let what = "must be left out: the host names runs; send an `Idempotency-Key`";
            return Err(fields.wrong("id", what));
        }
        if fields.value("job").is_some() {
            let what = "must be left out: jobs are what workflow runs leave for workers";
            return Err(fields.wrong("job", what));
        }
        fields.required_text("task", usize::MAX)?;
        let parent = fields.text("parent_id", 64)?;
        Ok(Self { request: body, parent })
    }
}

/// A waiver's body: `by` and `reason`, and nothing else.
pub(crate) fn new_waiver(body: &Value, principal: &str) -> Result<NewWaiver, Failure> {
    let fields = Fields::of(body)?;
    fields.only(&["by", "reason"])?;
    let by = fields.required_text("by", MAX_NAME_CHARS)?;
    if by.trim().is_empty() || by.chars().any(char::is_control) {
        return Err(fields.wrong("by", "must name a human"));
    }
    let reason = fields.required_text("reason", MAX_TEXT_CHARS)?;
    if reason.trim().is_empty() {
        return Err(fields.wrong("reason", "must say why"));
    }
    Ok(NewWaiver { by, principal: principal.to_owned(), reason })
}

/// What a delegate is told.
pub(crate) fn steer_text(body: &Value) -> Result<String, Failure> {
    let fields = Fields::of(body)?;
    fields.only(&["text"])?;
    fields.required_text("text", MAX_TEXT_CHARS)
}

/// A pool, as it stands behind the question mark.
pub(crate) fn pool_named(text: &str) -> Result<Pool, Failure> {
    text.parse().map_err(|error| Failure::invalid("?pool", format!("is no pool: {error}")))
}

/// A digest of the path or of the query.
pub(crate) fn digest_named(place: &str, text: &str) -> Result<Digest, Failure> {
    text.parse().map_err(|_| Failure::invalid(place, "must be 64 lower-case hex digits"))
}

/// Where a run is.
pub(crate) fn verdict(standing: &Standing, has_content: bool) -> Value {
    json!({
        "runId": standing.run.as_str(),
        "delegate": standing.delegate,
        "outcome": standing.outcome,
        "code": standing.code,
        "isSealed": standing.is_sealed,
        "candidate": standing.candidate,
        "edited": standing.is_edited,
        "attempts": standing.attempts,
        "maxAttempts": standing.max_attempts,
        "head": standing.head,
        "openedAt": rfc3339(standing.opened_ms),
        "changedAt": rfc3339(standing.changed_ms),
        "waived": standing.waiver.is_some(),
        "waiver": standing.waiver.as_ref().map(|waiver| told_waiver(waiver, has_content)),
    })
}

/// Who answers for a run; why, only for who may read content.
pub(crate) fn told_waiver(waiver: &Waiver, has_content: bool) -> Value {
    let mut told = json!({
        "by": waiver.by,
        "principal": waiver.principal,
        "at": rfc3339(waiver.at_ms),
        "log": waiver.log.as_ref().map(RunId::as_str),
    });
    if let (true, Some(members)) = (has_content, told.as_object_mut()) {
        members.insert("reason".to_owned(), waiver.reason.clone().into());
    }
    told
}

/// A run of a list.
pub(crate) fn glance(glance: &Glance) -> Value {
    json!({
        "runId": glance.run.as_str(),
        "delegate": glance.delegate,
        "outcome": glance.outcome,
        "isSealed": glance.is_sealed,
        "waived": glance.is_waived,
        "openedAt": rfc3339(glance.opened_ms),
        "changedAt": rfc3339(glance.changed_ms),
    })
}

/// A report as the command line prints it; without content only what is known to hold none.
pub(crate) fn told_report(report: &Report, has_content: bool) -> Result<Value, Failure> {
    let value = serde_json::to_value(report)
        .map_err(|_| Failure::new(Reason::Internal, "the report cannot be written"))?;
    Ok(match value {
        Value::Object(members) if !has_content => {
            let kept = members.into_iter().filter(|(name, _)| FREE.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, part(value))).collect())
        }
        value => value,
    })
}

/// A part of a report without its content.
fn part(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(part).collect(),
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| FREE_PARTS.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, part(value))).collect::<Map<_, _>>())
        }
        value => value,
    }
}

/// A record of a run's log. Events hold no content.
pub(crate) fn told_record(record: &Record) -> Value {
    let mut told = json!({
        "sequence": record.seq,
        "at": rfc3339(record.entry.at_ms),
        "type": record.entry.event.name(),
        "event": record.entry.event,
        "prev": record.prev,
        "hash": record.hash,
    });
    if let (Some(seal), Some(members)) = (record.seal, told.as_object_mut()) {
        members.insert("seal".to_owned(), json!(seal));
    }
    told
}
