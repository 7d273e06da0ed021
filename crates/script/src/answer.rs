//! What a hook gave back: allow, block or modify.

use probity_core::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use starlark::values::{Heap, Value};

use crate::fault::{self, cut};
use crate::returned::{MAX_REASON_BYTES, Refusal, not, object_of_text, object_of_value};
use crate::session::Session;

/// A hook's answer to an event (seed 000: allow, block or modify).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// Its `when` is False: `handle` was not called.
    NotApplicable,
    /// Go on.
    Allow,
    /// Do not go on.
    Block {
        /// Text for the delegate, at most 4 KiB.
        reason: String,
    },
    /// Go on with this payload in place of the one the hook saw.
    Modify {
        /// The payload: what the hook saw, with the top-level keys it gave in place of those.
        payload: Map<String, Json>,
    },
    /// The hook did not come to an answer, and is not to blame for that.
    Inconclusive {
        /// `hook_unreachable` where ground truth did not answer, `hook_busy` where no worker was
        /// free to run the hook.
        code: Code,
        /// What did not answer, at most 4 KiB.
        reason: String,
    },
}

/// What a block without a reason says.
const STOCK_REASON: &str = "a hook blocked the result and gave no reason";

/// Reads the return value of `handle`.
pub(crate) fn read<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Result<HookAnswer, Refusal>> {
    let fields = match value.unpack_str() {
        Some(text) => {
            session.fits(text.len())?;
            object_of_text(text)
        }
        None => object_of_value(value, heap, session)?,
    };
    Ok(fields.and_then(read_object))
}

fn read_object(mut fields: Map<String, Json>) -> Result<HookAnswer, Refusal> {
    let reason = match fields.get("reason") {
        None => STOCK_REASON,
        Some(Json::String(reason)) if reason.is_empty() => STOCK_REASON,
        Some(Json::String(reason)) => reason,
        Some(other) => return Err((fault::RETURN_REASON_TYPE, not("`reason`", "a string", other))),
    };
    let action = fields.get("action").unwrap_or(&Json::Null);
    match action.as_str() {
        Some("allow") => Ok(HookAnswer::Allow),
        Some("block") => Ok(HookAnswer::Block { reason: cut(reason, MAX_REASON_BYTES) }),
        Some("modify") => match fields.remove("payload") {
            Some(Json::Object(payload)) => Ok(HookAnswer::Modify { payload }),
            other => {
                let got = other.unwrap_or(Json::Null);
                Err((fault::RETURN_PAYLOAD, not("`payload`", "an object", &got)))
            }
        },
        _ => Err((fault::RETURN_ACTION, not("`action`", "allow, block or modify", action))),
    }
}
