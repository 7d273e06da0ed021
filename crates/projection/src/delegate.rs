//! What kind of delegate a request is for.

use probity_core::Code;
use serde_json::{Map, Value};

/// The keys of a request that bring a delegate.
const BRINGS: [&str; 3] = ["command", "acp", "chat"];
/// Nobody can tell.
const UNKNOWN: &str = "unknown";

/// By the request's own word, else by what it brings. A legal machine word in any case.
#[must_use]
pub fn delegate_of(request: &[u8]) -> String {
    let read: Option<Map<String, Value>> = serde_json::from_slice(request).ok();
    let Some(members) = read else { return UNKNOWN.to_owned() };
    match members.get("job").and_then(Value::as_str) {
        None => of_members(&members),
        // A critic's look at what a worker of a workflow left.
        Some("verify") => "critic".to_owned(),
        Some(_) => match members.get("request") {
            Some(Value::Object(members)) => of_members(members),
            _ => UNKNOWN.to_owned(),
        },
    }
}

fn of_members(members: &Map<String, Value>) -> String {
    let said = members.get("kind").and_then(Value::as_str);
    if let Some(said) = said.filter(|said| said.parse::<Code>().is_ok()) {
        return said.to_owned();
    }
    let brings = BRINGS.into_iter().find(|key| match members.get(*key) {
        None | Some(Value::Null) => false,
        Some(Value::Array(words)) => !words.is_empty(),
        Some(_) => true,
    });
    brings.unwrap_or(UNKNOWN).to_owned()
}
