//! The records of a trace and a plan, as the original's models accept them.

use super::canonical::{object, stable_id, string};
use super::fields::{
    Fields, Read, Refused, boolean, float, free, free_object, integer, is, text, texts, word,
};
use super::json::{Object, Value};
use super::model::{
    Body, Claim, Event, Evidence, Node, Output, Plan, Span, Support, SupportKind, Trace,
};
use super::text::Text;

/// Why a plan is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanError {
    /// The models refuse it.
    Refused,
    /// A node is of a type that the original trips over: a `TypeError`.
    NodeType,
}

const KINDS: [(&str, Output); 5] = [
    ("understand", Output::Understand),
    ("gather", Output::Gather),
    ("derive", Output::Derive),
    ("verify", Output::Verify),
    ("finalize", Output::Finalize),
];

/// The header of a trace, without events. What is beside the known keys is not looked at.
pub(super) fn header(header: &Object) -> Read<Trace> {
    let number = |key, default: i64| header.get(key).map_or_else(|| Ok(default.into()), integer);
    let optional = |key| match header.get(key) {
        None | Some(Value::Null) => Ok(()),
        Some(value) => text(value).map(drop),
    };
    text(header.get("id").ok_or(Refused)?)?;
    optional("spec_id")?;
    optional("plan_id")?;
    let metadata = header.get("metadata");
    metadata.map_or(Ok(()), free_object)?;
    let within = |key| metadata.and_then(Value::as_object).and_then(|data| data.get(key));
    let part = |key| within(key).and_then(Value::as_object);
    Ok(Trace {
        schema_version: integer(header.get("schema_version").ok_or(Refused)?)?,
        runtime_protocol_version: number("runtime_protocol_version", 1)?,
        canonicalization_version: number("canonicalization_version", 1)?,
        fingerprint_algo: header
            .get("fingerprint_algo")
            .map_or_else(|| Ok(Text::of("sha256")), text)?,
        min_supports: part("reasoning_policy")
            .and_then(|policy| policy.get("min_supports_per_claim"))
            .cloned(),
        reasoning: part("reasoning_trace").map(|trace| hash(trace.get("reasoning_trace_sha256"))),
        events: Vec::new(),
    })
}

/// One event.
pub(super) fn event(value: &Value, line: u64) -> Read<Event> {
    type Parser = fn(&mut Fields<'_>) -> Read<(Text, Body)>;
    const PARSERS: [(&str, Parser); 6] = [
        ("step_started", |fields| Ok((owner(fields)?, Body::StepStarted))),
        ("step_finished", |fields| {
            Ok((fields.text("step_id")?, Body::StepFinished(output(fields.needs("output")?)?)))
        }),
        ("tool_called", |fields| {
            let call_id = call(preferred(fields, "call", "tool_call")?)?;
            Ok((owner(fields)?, Body::ToolCalled { call_id }))
        }),
        ("tool_returned", |fields| {
            let call_id = tool_result(preferred(fields, "result", "tool_result")?)?;
            Ok((owner(fields)?, Body::ToolReturned { call_id }))
        }),
        ("evidence_registered", |fields| {
            let evidence = evidence(fields.needs("evidence")?)?;
            Ok((fields.text_or("step_id", "")?, Body::EvidenceRegistered(evidence)))
        }),
        ("claim_emitted", |fields| {
            let claim = claim(fields.needs("claim")?)?;
            Ok((fields.text_or("step_id", "")?, Body::ClaimEmitted(claim)))
        }),
    ];
    let mut fields = Fields::of(value)?;
    let parser = word(fields.needs("kind")?, &PARSERS)?;
    let (step_id, body) = parser(&mut fields)?;
    let idx = match fields.get("idx") {
        None | Some(Value::Null) => None,
        Some(value) => Some(integer(value)?),
    };
    fields.close()?;
    Ok(Event { line, idx, step_id, body })
}

/// The plan.
///
/// # Errors
/// [`PlanError::NodeType`] outweighs all that is refused beside it.
pub(super) fn plan(value: &Value) -> Result<Plan, PlanError> {
    let nodes = value.as_object().and_then(|plan| plan.get("nodes")).and_then(Value::as_list);
    match nodes.is_some_and(|nodes| nodes.iter().any(is_tripping)) {
        true => Err(PlanError::NodeType),
        false => plan_of_records(value).map_err(|Refused| PlanError::Refused),
    }
}

fn plan_of_records(value: &Value) -> Read<Plan> {
    let mut fields = Fields::of(value)?;
    fields.text("spec_id")?;
    fields.text_or("id", "")?;
    fields.text_or("problem", "")?;
    let nodes = match fields.get("nodes") {
        None => Vec::new(),
        Some(list) => list.as_list().ok_or(Refused)?.iter().map(node).collect::<Read<_>>()?,
    };
    for edge in fields.get("edges").map_or(Ok(&[][..]), |list| list.as_list().ok_or(Refused))? {
        if texts(edge)?.len() != 2 {
            return Err(Refused);
        }
    }
    fields.close()?;
    Ok(Plan { nodes })
}

/// The original asks a node for its step before it looks what the node is.
fn is_tripping(node: &Value) -> bool {
    let has = |key: &str| match node {
        Value::Text(text) => memchr::memmem::find(text.bytes(), key.as_bytes()).is_some(),
        Value::List(list) => list.iter().filter_map(Value::as_text).any(|text| is(text, key)),
        _ => false,
    };
    match node {
        Value::Object(_) => false,
        Value::Text(_) | Value::List(_) => !has("step") && has("kind"),
        _ => true,
    }
}

fn node(value: &Value) -> Read<Node> {
    let mut fields = Fields::of(value)?;
    let id = fields.text_or("id", "")?;
    let kind = fields.needs("kind")?;
    word(kind, &KINDS)?;
    let dependencies = fields.texts("dependencies")?;
    let parameters = fields.free_object("parameters")?;
    let default = object([("kind", kind.clone())]);
    let step = step(fields.get("step").unwrap_or(&default))?;
    fields.close()?;
    let id = named(id, || {
        let deps = Value::List(dependencies.iter().cloned().map(Value::Text).collect());
        let members =
            [("kind", kind.clone()), ("deps", deps), ("params", parameters), ("step", step)];
        stable_id("node", members)
    })?;
    Ok(Node { id, dependencies })
}

/// The step of a node, with what counts where it says nothing.
fn step(value: &Value) -> Read<Value> {
    let mut fields = Fields::of(value)?;
    let kind = fields.needs("kind")?;
    word(kind, &KINDS)?;
    let notes = fields.text_or("notes", "")?;
    let requests = match fields.get("tool_requests") {
        None => Vec::new(),
        Some(list) => {
            list.as_list().ok_or(Refused)?.iter().map(tool_request).collect::<Read<_>>()?
        }
    };
    fields.close()?;
    Ok(object([
        ("kind", kind.clone()),
        ("notes", Value::Text(notes)),
        ("tool_requests", Value::List(requests)),
    ]))
}

fn tool_request(value: &Value) -> Read<Value> {
    let mut fields = Fields::of(value)?;
    let tool_name = fields.text("tool_name")?;
    let arguments = dumped(&fields.free_object("arguments")?);
    fields.close()?;
    Ok(object([("tool_name", Value::Text(tool_name)), ("arguments", arguments)]))
}

/// A value as the model library dumps it: a lone surrogate in a key, not in a value, is replaced.
/// Of keys that become equal by that, the last in their order counts.
fn dumped(value: &Value) -> Value {
    match value {
        Value::List(list) => Value::List(list.iter().map(dumped).collect()),
        Value::Object(object) => {
            let member = |(key, value): (&Text, _)| (Text::of(&key.lossy()), dumped(value));
            Value::Object(Object::new(object.iter().map(member).collect()))
        }
        _ => value.clone(),
    }
}

fn output(value: &Value) -> Read<Output> {
    let mut fields = Fields::of(value)?;
    let kind = fields.get_or_alias("type", "kind").ok_or(Refused)?;
    let output = match is_insufficiency(kind) {
        true => Output::InsufficientEvidence,
        false => word(kind, &KINDS)?,
    };
    match output {
        Output::Understand => {
            fields.text("normalized_question")?;
            fields.texts("assumptions")?;
            fields.text_or("task_type", "")?;
        }
        Output::Gather => {
            fields.get_or_alias("evidence_ids", "evidence_refs").map_or(Ok(Vec::new()), texts)?;
            fields.texts("retrieval_queries")?;
            fields.get("retrieval_provenance").map_or(Ok(()), free_object)?;
        }
        Output::Derive => {
            fields.get_or_alias("claim_ids", "emitted_claim_ids").map_or(Ok(Vec::new()), texts)?;
        }
        Output::Verify => {
            fields.texts("validated_claim_ids")?;
            fields.texts("rejected_claim_ids")?;
            fields
                .get_or_alias("missing_support_claim_ids", "insufficient_support")
                .map_or(Ok(Vec::new()), texts)?;
        }
        Output::Finalize => {
            fields.texts("final_claim_ids")?;
            fields.optional_text("final_answer")?;
            fields.optional_text("uncertainty")?;
        }
        Output::InsufficientEvidence => {
            fields.text_or("reason", "")?;
            fields.integer_or("retrieved", 0)?;
            fields.integer_or("required", 0)?;
        }
    }
    fields.close()?;
    Ok(output)
}

fn is_insufficiency(kind: &Value) -> bool {
    kind.as_text().is_some_and(|kind| is(kind, "insufficient_evidence"))
}

/// The id of a call.
fn call(value: &Value) -> Read<Text> {
    let mut fields = Fields::of(value)?;
    let id = fields.text_or("id", "")?;
    let tool = Value::Text(fields.text("tool_name")?);
    let step_id = Value::Text(fields.text("step_id")?);
    let call_idx = Value::Integer(integer(fields.needs("call_idx")?)?);
    let args = fields.free_object("arguments")?;
    fields.close()?;
    named(id, || {
        let members =
            [("step_id", step_id), ("call_idx", call_idx), ("tool", tool), ("args", args)];
        stable_id("call", members)
    })
}

/// The id of the call that a result answers.
fn tool_result(value: &Value) -> Read<Text> {
    let mut fields = Fields::of(value)?;
    let call_id = fields.text("call_id")?;
    boolean(fields.get_or_alias("success", "ok").ok_or(Refused)?)?;
    fields.get("result").map_or(Ok(()), free)?;
    fields.optional_text("error")?;
    fields.close()?;
    Ok(call_id)
}

fn evidence(value: &Value) -> Read<Evidence> {
    let mut fields = Fields::of(value)?;
    let id = fields.text_or("id", "")?;
    let uri = fields.text("uri")?;
    let sha256 = fields.text("sha256")?;
    let span = span(fields.needs("span")?)?;
    let chunk_id = digest(fields.needs("chunk_id")?)?;
    let content_path = content_path(&fields.text_or("content_path", "")?)?;
    fields.close()?;
    let id = named(id, || {
        let members = [
            ("uri", Value::Text(uri)),
            ("sha256", Value::Text(sha256.clone())),
            ("span", span_value(&span)),
            ("chunk_id", Value::Text(chunk_id.clone())),
            ("content_path", Value::Text(content_path.clone())),
        ];
        stable_id("evidence", members)
    })?;
    Ok(Evidence { id, sha256, span, chunk_id, content_path })
}

/// A path as the original keeps it: relative, without `..`, its empty and `.` parts taken out.
fn content_path(path: &Text) -> Read<Text> {
    let bytes = path.bytes();
    let has_drive = matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic());
    let is_refused = bytes.contains(&b'\\') || bytes.starts_with(b"/") || has_drive;
    if is_refused || bytes.split(|byte| *byte == b'/').any(|part| part == b"..") {
        return Err(Refused);
    }
    if path.is_empty() {
        return Ok(Text::new());
    }
    let is_kept = |part: &&[u8]| !part.is_empty() && *part != b".";
    let kept: Vec<&[u8]> = bytes.split(|byte| *byte == b'/').filter(is_kept).collect();
    Ok(if kept.is_empty() { Text::of(".") } else { Text::of_part(&kept.join(&b'/')) })
}

fn claim(value: &Value) -> Read<Claim> {
    const STATUS: [(&str, ()); 3] = [("proposed", ()), ("validated", ()), ("rejected", ())];
    const TYPES: [(&str, bool); 3] = [("derived", true), ("observed", false), ("assumed", false)];
    let mut fields = Fields::of(value)?;
    let id = fields.text_or("id", "")?;
    let statement = fields.text("statement")?;
    let status = fields.get("status").cloned().unwrap_or_else(|| string("proposed"));
    word(&status, &STATUS)?;
    let confidence = fields.get("confidence").map_or(Ok(0.0), float)?;
    let supports = match fields.get_or_alias("supports", "support_refs") {
        None => Vec::new(),
        Some(list) => list.as_list().ok_or(Refused)?.iter().map(support).collect::<Read<_>>()?,
    };
    let claim_type = fields.get("claim_type").cloned().unwrap_or_else(|| string("derived"));
    let is_derived = word(&claim_type, &TYPES)?;
    let structured = fields.get("structured").unwrap_or(&Value::Null);
    if *structured != Value::Null {
        free_object(structured)?;
    }
    fields.close()?;
    let result_sha256 = structured.as_object().and_then(|data| hash(data.get("result_sha256")));
    let id = named(id, || {
        let members = [
            ("statement", Value::Text(statement.clone())),
            ("status", status),
            ("confidence", Value::Float(confidence)),
            ("supports", Value::List(supports.iter().map(support_value).collect())),
            ("claim_type", claim_type),
            ("structured", structured.clone()),
        ];
        stable_id("claim", members)
    })?;
    Ok(Claim { id, statement, is_derived, supports, result_sha256 })
}

fn support(value: &Value) -> Read<Support> {
    let mut fields = Fields::of(value)?;
    let kind = word(fields.needs("kind")?, &SUPPORT_KINDS)?;
    let ref_id = fields.text("ref_id")?;
    let span = span(fields.needs("span")?)?;
    let snippet_sha256 = digest(fields.needs("snippet_sha256")?)?;
    fields.get("hash_algo").map_or(Ok(()), |algo| word(algo, &[("sha256", ())]))?;
    fields.close()?;
    Ok(Support { kind, ref_id, span, snippet_sha256 })
}

const SUPPORT_KINDS: [(&str, SupportKind); 3] = [
    ("claim", SupportKind::Claim),
    ("evidence", SupportKind::Evidence),
    ("tool_call", SupportKind::ToolCall),
];

fn support_value(support: &Support) -> Value {
    let kind = SUPPORT_KINDS.iter().find(|(_, kind)| *kind == support.kind);
    object([
        ("kind", string(kind.map_or("", |(name, _)| name))),
        ("ref_id", Value::Text(support.ref_id.clone())),
        ("span", span_value(&support.span)),
        ("snippet_sha256", Value::Text(support.snippet_sha256.clone())),
        ("hash_algo", string("sha256")),
    ])
}

fn span(value: &Value) -> Read<Span> {
    let [start, end] = value.as_list().ok_or(Refused)? else { return Err(Refused) };
    let span = Span { start: integer(start)?, end: integer(end)? };
    if span.start >= 0_i64.into() && span.start < span.end { Ok(span) } else { Err(Refused) }
}

fn span_value(span: &Span) -> Value {
    Value::List(vec![Value::Integer(span.start.clone()), Value::Integer(span.end.clone())])
}

/// 64 lower-case hex digits.
fn digest(value: &Value) -> Read<Text> {
    let text = value.as_text().ok_or(Refused)?;
    let is_digest = text.bytes().len() == 64
        && text.bytes().iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_digest { Ok(text.clone()) } else { Err(Refused) }
}

/// What the original takes for a hash where it has no model: any string of 64 characters.
fn hash(value: Option<&Value>) -> Option<Text> {
    value.and_then(Value::as_text).filter(|text| text.len_points() == 64).cloned()
}

/// The id of a step that must not be empty, nor hold a lone surrogate.
fn owner(fields: &mut Fields<'_>) -> Read<Text> {
    let step_id = fields.text("step_id")?;
    let is_taken = !step_id.is_empty() && step_id.as_str().is_some();
    if is_taken { Ok(step_id) } else { Err(Refused) }
}

/// What stands under the alias, which outweighs the key itself.
fn preferred<'a>(
    fields: &mut Fields<'a>,
    key: &'static str,
    alias: &'static str,
) -> Read<&'a Value> {
    let own = fields.get(key);
    fields.get(alias).or(own).ok_or(Refused)
}

/// The id, or the one that is made of the content where it is empty.
fn named(id: Text, make: impl FnOnce() -> Option<Text>) -> Read<Text> {
    if id.is_empty() { make().ok_or(Refused) } else { Ok(id) }
}
