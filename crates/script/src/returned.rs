//! The return table: what `run` or `verify` gave back, as a verdict or as the fault that it is.

use std::fmt;

use probity_core::{Code, Evidence, Verdict, VerdictKind};
use probity_verifier::reason_code;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json};
use starlark::values::dict::DictRef;
use starlark::values::structs::StructRef;
use starlark::values::{Heap, Value};

use crate::data;
use crate::fault::{self, cut};
use crate::session::Session;

/// The longest reason that is kept, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 4096;
/// The most criteria keys one verdict may name.
pub(crate) const MAX_CRITERIA: usize = 64;

/// A verdict on its way from the worker.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Decision {
    pub(crate) kind: VerdictKind,
    pub(crate) code: Code,
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) criteria: Vec<Code>,
    #[serde(default)]
    pub(crate) confidence_bp: Option<u16>,
    #[serde(default)]
    pub(crate) evidence: Vec<Evidence>,
    #[serde(default)]
    pub(crate) output: Option<Json>,
}

impl Decision {
    pub(crate) fn inconclusive(code: &str, reason: &str) -> Self {
        Self::new(VerdictKind::Inconclusive, code, reason)
    }

    fn new(kind: VerdictKind, code: &str, reason: &str) -> Self {
        Self {
            kind,
            code: Code::slug(code),
            reason: cut(reason, MAX_REASON_BYTES),
            criteria: Vec::new(),
            confidence_bp: None,
            evidence: Vec::new(),
            output: None,
        }
    }

    fn of_bool(verified: bool) -> Self {
        if verified {
            return Self::new(VerdictKind::Pass, "ok", "");
        }
        Self::new(
            VerdictKind::Revise,
            "not_verified",
            "the verifier returned False and gave no reason",
        )
    }
}

impl From<Decision> for Verdict {
    fn from(decision: Decision) -> Self {
        Self {
            kind: decision.kind,
            code: decision.code,
            reason: decision.reason,
            criteria: decision.criteria,
            confidence_bp: decision.confidence_bp,
            evidence: decision.evidence,
            output: decision.output,
            metadata: None,
        }
    }
}

/// A row of the table that is a fault: its code and a message.
pub(crate) type Refusal = (&'static str, String);

/// Reads the return value of `run` or `verify`. The outer error is an ended script (too deep, too long).
pub(crate) fn read<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Result<Decision, Refusal>> {
    if let Some(verified) = value.unpack_bool() {
        return Ok(Ok(Decision::of_bool(verified)));
    }
    if let Some(text) = value.unpack_str() {
        session.fits(text.len())?;
        return Ok(read_text(text));
    }
    Ok(object_of_value(value, heap, session)?.and_then(read_object))
}

/// The fields of a dict or struct.
pub(crate) fn object_of_value<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Result<Map<String, Json>, Refusal>> {
    if value.is_none() {
        return Ok(Err((fault::RETURN_NONE, "None was returned".to_owned())));
    }
    if DictRef::from_value(value).is_none() && StructRef::from_value(value).is_none() {
        return Ok(Err(wrong_type(value.get_type())));
    }
    match data::to_json(value, heap, session)? {
        Json::Object(fields) => Ok(Ok(fields)),
        _ => Ok(Err(wrong_type(value.get_type()))),
    }
}

fn wrong_type(what: &str) -> Refusal {
    (fault::RETURN_TYPE, format!("a value of type `{what}` was returned"))
}

fn read_text(text: &str) -> Result<Decision, Refusal> {
    match text {
        "True" | "true" => Ok(Decision::of_bool(true)),
        "False" | "false" => Ok(Decision::of_bool(false)),
        _ => read_object(object_of_text(text)?),
    }
}

/// The one JSON object that a text is.
pub(crate) fn object_of_text(text: &str) -> Result<Map<String, Json>, Refusal> {
    match serde_json::from_str::<Returned>(text) {
        Ok(Returned::Object(fields)) => Ok(fields),
        Ok(Returned::Duplicate(key)) => {
            let message = format!("the returned text has the key `{}` twice", cut(&key, 64));
            Err((fault::RETURN_DUPLICATE_KEY, message))
        }
        Ok(Returned::Null) => {
            Err((fault::RETURN_NULL, "the JSON text `null` was returned".to_owned()))
        }
        Ok(Returned::Other(what)) => {
            Err((fault::RETURN_TYPE, format!("the JSON text of a {what} was returned")))
        }
        Err(error) => {
            let shown = cut(text, 80);
            let message = format!("the returned text is not JSON ({error}): `{shown}`");
            Err((fault::RETURN_TEXT, message))
        }
    }
}

fn read_object(mut fields: Map<String, Json>) -> Result<Decision, Refusal> {
    let outcome = outcome(fields.get("outcome"))?;
    let kind = kind(verified(&fields, outcome)?, fields.get("verdict"), outcome)?;
    let reason = text(&fields, "reason", fault::RETURN_REASON_TYPE)?;
    let detail = match outcome {
        Some(_) => text(&fields, "detail", fault::RETURN_DETAIL)?,
        None => "",
    };
    let (default_code, default_reason) = match kind {
        VerdictKind::Pass => ("ok", ""),
        VerdictKind::Inconclusive => {
            ("inconclusive", "the verifier could not tell and gave no reason")
        }
        VerdictKind::Revise | VerdictKind::Fail => match outcome {
            Some(_) => ("verify_failed", "the verifier gave no detail"),
            None => ("not_verified", "the verifier gave no reason"),
        },
    };
    let said = [detail, reason, default_reason].into_iter().find(|text| !text.is_empty());
    let mut decision = Decision::new(kind, default_code, said.unwrap_or_default());
    // Beside an outcome the reason may be one of the known words, as in `read_after_write`. Any other
    // is text: it may be the delegate's, and codes stand in events.
    if let Some(code) = outcome.and_then(|_| reason_code(reason)) {
        decision.code = code;
    }
    if let Some(code) = fields.get("code") {
        decision.code = word(code)
            .ok_or_else(|| (fault::RETURN_CODE, not("`code`", "a machine word", code)))?;
    }
    if let Some(criteria) = fields.get("criteria") {
        decision.criteria = words(criteria).ok_or_else(|| {
            (
                fault::RETURN_CRITERIA,
                not("`criteria`", "a list of at most 64 machine words", criteria),
            )
        })?;
    }
    decision.confidence_bp = match fields.get("confidence") {
        None | Some(Json::Null) => None,
        Some(value) => Some(basis_points(value).ok_or_else(|| {
            (fault::RETURN_CONFIDENCE, not("`confidence`", "a number from 0 to 1", value))
        })?),
    };
    if kind == VerdictKind::Pass {
        decision.output = fields.remove("output");
    }
    Ok(decision)
}

/// The three outcomes of seed 001. `fail` sends the delegate back, as `verified: False` does.
fn outcome(value: Option<&Json>) -> Result<Option<VerdictKind>, Refusal> {
    let Some(value) = value else { return Ok(None) };
    match value.as_str() {
        Some("pass") => Ok(Some(VerdictKind::Pass)),
        Some("fail") => Ok(Some(VerdictKind::Revise)),
        Some("inconclusive") => Ok(Some(VerdictKind::Inconclusive)),
        _ => {
            let message = not("`outcome`", "pass, fail or inconclusive", value);
            Err((fault::RETURN_OUTCOME, message))
        }
    }
}

fn verified(fields: &Map<String, Json>, outcome: Option<VerdictKind>) -> Result<bool, Refusal> {
    let passes = outcome.map(|outcome| outcome == VerdictKind::Pass);
    match (fields.get("verified"), passes) {
        (Some(Json::Bool(verified)), Some(passes)) if *verified != passes => {
            let said = if *verified { "True" } else { "False" };
            let message = format!("`verified` is {said} but `outcome` says otherwise");
            Err((fault::RETURN_CONTRADICTION, message))
        }
        (Some(Json::Bool(verified)), _) => Ok(*verified),
        (Some(other), _) => Err((fault::RETURN_VERIFIED_TYPE, not("`verified`", "a bool", other))),
        (None, Some(passes)) => Ok(passes),
        (None, None) => {
            let keys: Vec<&str> = fields.keys().map(String::as_str).take(8).collect();
            let keys = keys.join("`, `");
            let message =
                format!("no `verified` and no `outcome` among the keys returned: `{keys}`");
            Err((fault::RETURN_VERIFIED_MISSING, message))
        }
    }
}

fn text<'a>(
    fields: &'a Map<String, Json>,
    key: &str,
    code: &'static str,
) -> Result<&'a str, Refusal> {
    match fields.get(key) {
        None => Ok(""),
        Some(Json::String(text)) => Ok(text),
        Some(other) => Err((code, not(&format!("`{key}`"), "a string", other))),
    }
}

fn kind(
    verified: bool,
    verdict: Option<&Json>,
    outcome: Option<VerdictKind>,
) -> Result<VerdictKind, Refusal> {
    let Some(verdict) = verdict else {
        let plain = if verified { VerdictKind::Pass } else { VerdictKind::Revise };
        return Ok(outcome.unwrap_or(plain));
    };
    let kind = match verdict.as_str() {
        Some("pass") => VerdictKind::Pass,
        Some("revise") => VerdictKind::Revise,
        Some("fail") => VerdictKind::Fail,
        Some("inconclusive") => VerdictKind::Inconclusive,
        _ => {
            let message = not("`verdict`", "pass, revise, fail or inconclusive", verdict);
            return Err((fault::RETURN_VERDICT, message));
        }
    };
    // The outcome `fail` stands for both verdicts that are against the claim.
    let is_undecided = |kind| kind == VerdictKind::Inconclusive;
    let agrees = outcome.is_none_or(|outcome| is_undecided(outcome) == is_undecided(kind));
    if agrees && verified == (kind == VerdictKind::Pass) {
        return Ok(kind);
    }
    let said = outcome.map_or_else(
        || format!("`verified` is {}", if verified { "True" } else { "False" }),
        |_| "`outcome` says otherwise".to_owned(),
    );
    Err((fault::RETURN_CONTRADICTION, format!("{said} but `verdict` is {verdict}")))
}

fn word(value: &Json) -> Option<Code> {
    value.as_str().and_then(|text| text.parse().ok())
}

fn words(value: &Json) -> Option<Vec<Code>> {
    let list = value.as_array().filter(|list| list.len() <= MAX_CRITERIA)?;
    list.iter().map(word).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to 10 000 by the range check"
)]
fn basis_points(value: &Json) -> Option<u16> {
    let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share))?;
    Some((share * 10_000.0).round() as u16)
}

pub(crate) fn not(what: &str, expected: &str, got: &Json) -> String {
    format!("{what} must be {expected}, got `{}`", cut(&got.to_string(), 80))
}

/// The outermost JSON value, with an object's duplicate keys noticed rather than merged.
enum Returned {
    Object(Map<String, Json>),
    Duplicate(String),
    Null,
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Returned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReturnedVisitor)
    }
}

struct ReturnedVisitor;

impl<'de> Visitor<'de> for ReturnedVisitor {
    type Value = Returned;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Returned, A::Error> {
        let mut fields = Map::new();
        let mut duplicate = None;
        while let Some((key, value)) = access.next_entry::<String, Json>()? {
            if fields.contains_key(&key) {
                duplicate.get_or_insert(key.clone());
            }
            fields.insert(key, value);
        }
        Ok(duplicate.map_or(Returned::Object(fields), Returned::Duplicate))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut access: A) -> Result<Returned, A::Error> {
        while access.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(Returned::Other("list"))
    }

    fn visit_unit<E>(self) -> Result<Returned, E> {
        Ok(Returned::Null)
    }

    fn visit_str<E>(self, _: &str) -> Result<Returned, E> {
        Ok(Returned::Other("string"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Returned, E> {
        Ok(Returned::Other("number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Returned, E> {
        Ok(Returned::Other("number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Returned, E> {
        Ok(Returned::Other("number"))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Returned, E> {
        // `true` and `false` alone were taken before; with blanks around them they are refused.
        Err(E::custom(format!("blanks around `{value}`")))
    }
}
