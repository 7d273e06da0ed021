//! The name of a call to a model by what it asks (RFC 0041): the same question has the same name on every
//! host.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The recipe, in the spelling of the discovery document.
pub const RECIPE: &str = "spec-rfc-0041";
/// What of a call is no part of its question: how it is carried, for whom, under which name.
const LEFT_OUT: [&str; 10] = [
    "stream",
    "metadata",
    "user",
    "id",
    "runId",
    "nodeId",
    "requestId",
    "traceId",
    "timeoutMs",
    "recipe",
];

/// The name of a call: 64 hex digits. `None` if it has no `provider`, no `model` or no `messages`, or a
/// number that JSON readers do not agree about.
#[must_use]
pub fn cache_key(call: &Value) -> Option<String> {
    let members = call.as_object()?;
    for name in ["provider", "model"] {
        members.get(name)?.as_str().filter(|text| !text.is_empty())?;
    }
    members.get("messages")?.as_array()?;
    let kept: Map<String, Value> = members
        .iter()
        .filter(|(name, value)| !LEFT_OUT.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let text = probity_record::canonical::jcs(&Value::Object(kept)).ok()?;
    Some(hex::encode(Sha256::digest(text)))
}
