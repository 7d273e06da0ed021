//! What a request may not ask to be handed on.

use probity_sandbox::OWN_SECRETS;
use serde_json::Value;

use super::PrepareError;
use crate::Request;

/// Members of a request that name environment variables: of checks, of servers of tools, of chat models,
/// wherever one stands in another.
const NAMING: [&str; 3] = ["env", "env_keep", "key_env"];

/// Refuses a request that would have a check, a server of tools or the endpoint of a model be given a
/// secret of Probity's own.
///
/// # Errors
/// [`PrepareError::OwnSecret`].
pub(super) fn refuse(request: &Request) -> Result<(), PrepareError> {
    let value = serde_json::to_value(request).map_err(PrepareError::Record)?;
    named(&value, false).map_or(Ok(()), |name| Err(PrepareError::OwnSecret { name }))
}

fn named(value: &Value, is_naming: bool) -> Option<&'static str> {
    match value {
        Value::String(text) if is_naming => OWN_SECRETS.into_iter().find(|name| text == name),
        Value::Array(items) => items.iter().find_map(|item| named(item, is_naming)),
        Value::Object(members) => {
            members.iter().find_map(|(key, value)| named(value, NAMING.contains(&key.as_str())))
        }
        _ => None,
    }
}
