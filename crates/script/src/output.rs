//! What the functions of a tool gave back: the result of a call, and the opinion on one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use starlark::values::{Heap, Value};

use crate::data;
use crate::fault::{self, cut};
use crate::returned::{MAX_REASON_BYTES, Refusal, not, object_of_text, object_of_value};
use crate::session::Session;

/// What a call of a tool came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptToolOutput {
    /// What `run` returned as JSON, or the error as text.
    pub content: Json,
    /// The call failed, and the model is to be told.
    pub is_error: bool,
}

/// What a tool's `verify` says where it gives no reason.
const STOCK_REASON: &str = "the tool's own check rejects the result and gave no reason";

impl ScriptToolOutput {
    pub(crate) fn error(message: &str) -> Self {
        Self { content: cut(message, MAX_REASON_BYTES).into(), is_error: true }
    }
}

/// Reads the return value of `run`: any value that has a JSON form. An object with a text in
/// `error` is an error; where it has nothing else, the text is.
pub(crate) fn read<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<ScriptToolOutput> {
    let content = data::to_json(value, heap, session)?;
    let Json::Object(fields) = &content else {
        return Ok(ScriptToolOutput { content, is_error: false });
    };
    match fields.get("error") {
        Some(Json::String(error)) if !error.is_empty() && fields.len() == 1 => {
            Ok(ScriptToolOutput { content: error.as_str().into(), is_error: true })
        }
        Some(Json::String(error)) if !error.is_empty() => {
            Ok(ScriptToolOutput { content, is_error: true })
        }
        _ => Ok(ScriptToolOutput { content, is_error: false }),
    }
}

/// Why a result is not good enough, if it is not.
pub(crate) type Assertion = Result<(), String>;

/// Reads the return value of a tool's `verify`.
pub(crate) fn read_assertion<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Result<Assertion, Refusal>> {
    if value.is_none() {
        return Ok(Ok(Ok(())));
    }
    if let Some(is_good) = value.unpack_bool() {
        return Ok(Ok(of_bool(is_good, "")));
    }
    if let Some(text) = value.unpack_str() {
        session.fits(text.len())?;
        return Ok(read_text(text));
    }
    Ok(object_of_value(value, heap, session)?.and_then(|fields| read_object(&fields)))
}

fn of_bool(is_good: bool, reason: &str) -> Assertion {
    match reason {
        _ if is_good => Ok(()),
        "" => Err(STOCK_REASON.to_owned()),
        reason => Err(cut(reason, MAX_REASON_BYTES)),
    }
}

fn read_text(text: &str) -> Result<Assertion, Refusal> {
    match text {
        "True" | "true" => Ok(Ok(())),
        "False" | "false" => Ok(of_bool(false, "")),
        "null" => Err((fault::RETURN_NULL, "the JSON text `null` was returned".to_owned())),
        _ if text.trim().is_empty() => {
            let message = "an empty text is neither a reason nor True".to_owned();
            Err((fault::RETURN_TEXT, message))
        }
        _ if text.starts_with('{') => read_object(&object_of_text(text)?),
        _ => Ok(of_bool(false, text)),
    }
}

fn read_object(fields: &Map<String, Json>) -> Result<Assertion, Refusal> {
    let reason = match fields.get("reason") {
        None => "",
        Some(Json::String(reason)) => reason,
        Some(other) => return Err((fault::RETURN_REASON_TYPE, not("`reason`", "a string", other))),
    };
    match fields.get("ok").or_else(|| fields.get("verified")) {
        Some(Json::Bool(is_good)) => Ok(of_bool(*is_good, reason)),
        Some(other) => Err((fault::RETURN_VERIFIED_TYPE, not("`ok`", "a bool", other))),
        None => {
            let message = "no `ok` among the keys returned".to_owned();
            Err((fault::RETURN_VERIFIED_MISSING, message))
        }
    }
}
