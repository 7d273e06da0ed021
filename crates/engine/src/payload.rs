//! What hooks are shown, and what may stand differently in what they give back.

use probity_core::{Claim, Code, Fault, HookPoint};
use serde_json::{Map, Value, json};

/// The members of a payload that are the claim.
const CLAIM: [&str; 4] = ["response", "tool_calls", "tool_results", "output"];

/// Who did what with what, as text for a blob: names, old and new values of the members that differ.
pub(crate) fn delta(
    hook: &Code,
    event: &str,
    from: &Map<String, Value>,
    to: &Map<String, Value>,
) -> Value {
    let changed: Map<String, Value> = from
        .keys()
        .chain(to.keys())
        .filter(|key| from.get(*key) != to.get(*key))
        .map(|key| (key.clone(), json!({ "from": from.get(key), "to": to.get(key) })))
        .collect();
    json!({ "hook": hook.as_str(), "event": event, "changed": changed })
}

/// The members that hold a claim, put into a payload.
pub(crate) fn with_claim(payload: &mut Map<String, Value>, claim: &Claim) {
    if let Ok(Value::Object(members)) = serde_json::to_value(claim) {
        payload.extend(members);
    }
}

/// The claim that a modified payload holds.
///
/// # Errors
/// A fault if something else than the claim was modified, or the claim's members are of a wrong type.
pub(crate) fn claim(
    event: &str,
    from: &Map<String, Value>,
    to: &Map<String, Value>,
) -> Result<Claim, Fault> {
    only(event, &CLAIM, from, to)?;
    let members = CLAIM.iter().filter_map(|key| Some(((*key).to_owned(), to.get(*key)?.clone())));
    serde_json::from_value(Value::Object(members.collect())).map_err(|error| {
        Fault::new("hook_modify_type", format!("a hook at `{event}` made no claim of it: {error}"))
    })
}

/// The text that a hook put in the place of the one it saw.
///
/// # Errors
/// A fault if something else was modified, or it is no text.
pub(crate) fn text(
    point: HookPoint,
    from: &Map<String, Value>,
    to: &Map<String, Value>,
) -> Result<String, Fault> {
    let key = match point {
        HookPoint::DelegationPre => "task",
        HookPoint::AttemptStart | HookPoint::AttemptEnd | HookPoint::DelegationPost => "prompt",
    };
    only(point.as_str(), &[key], from, to)?;
    match to.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        _ => Err(Fault::new(
            "hook_modify_type",
            format!("a hook at `{}` may put a text in the place of `{key}`", point.as_str()),
        )),
    }
}

/// # Errors
/// A fault that names the first member that may not be modified and was.
fn only(
    event: &str,
    allowed: &[&str],
    from: &Map<String, Value>,
    to: &Map<String, Value>,
) -> Result<(), Fault> {
    let differs = |key: &&String| from.get(*key) != to.get(*key);
    let is_allowed = |key: &&String| allowed.contains(&key.as_str());
    let mut keys = from.keys().chain(to.keys());
    match keys.find(|key| differs(key) && !is_allowed(key)) {
        None => Ok(()),
        Some(key) => Err(Fault::new(
            "hook_modify_field",
            format!(
                "a hook at `{event}` modified `{key}`; it may modify {} and nothing else",
                allowed.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
            ),
        )),
    }
}
