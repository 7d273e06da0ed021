//! Keys that a profile shares with requests.

use probity_core::{MAX_ATTEMPTS, MAX_CHECK_MS};
use serde_json::{Map, Value};

use crate::artifact::error::ArtifactError;
use crate::artifact::front_matter::MAX_ARTIFACT_BYTES;
use crate::artifact::keys::{Item, Keys, MAX_ITEM_BYTES, MAX_ITEMS};

/// The keys, besides `command`, `resume` and `format`.
pub(super) const KEYS: [&str; 14] = [
    "on_delegate_error",
    "attempt_timeout",
    "timeout",
    "max_verify_retries",
    "max_tokens",
    "max_tool_calls",
    "red_first",
    "on_fail",
    "on_exhausted",
    "allow_hosts",
    "expect",
    "verify",
    "verify_files",
    "verify_args",
];

/// Keys of a request that a profile may not set.
pub(super) const REQUEST_ONLY: [&str; 9] = [
    "parent_id",
    "task",
    "workspace",
    "verify_timeout",
    "counting",
    "allow_private",
    "ignore",
    "sealed",
    "may_change",
];

/// What stands under those keys, verbatim, once each value was looked at.
pub(super) fn read(keys: &Keys) -> Result<Map<String, Value>, ArtifactError> {
    let mut request = Map::new();
    for key in KEYS {
        if let Some(item) = keys.get(key) {
            check(key, &item)?;
            request.insert(key.to_owned(), item.value.clone());
        }
    }
    Ok(request)
}

fn check(key: &str, item: &Item<'_>) -> Result<(), ArtifactError> {
    match key {
        "on_delegate_error" => item.word(&["fail", "claim"]).map(drop),
        "red_first" => item.word(&["warn", "require", "off"]).map(drop),
        "on_fail" | "on_exhausted" => item.word(&["reject", "escalate"]).map(drop),
        "attempt_timeout" | "timeout" => item.millis(MAX_CHECK_MS).map(drop),
        "max_verify_retries" => item.integer(0..=i64::from(MAX_ATTEMPTS) - 1).map(drop),
        "max_tokens" | "max_tool_calls" => item.count().map(drop),
        "allow_hosts" => each(item, |host| host.text(MAX_ITEM_BYTES).map(drop)),
        "expect" => each(item, expectation),
        "verify" => match item.value {
            Value::String(_) => source(item),
            Value::Array(_) => each(item, source),
            _ => Err(item.wrong("the source of a verifier, or a list of them")),
        },
        "verify_files" => each(item, project_path),
        _ => item.map().map(drop),
    }
}

fn each(
    item: &Item<'_>,
    check: impl Fn(&Item<'_>) -> Result<(), ArtifactError>,
) -> Result<(), ArtifactError> {
    item.list(MAX_ITEMS)?.iter().try_for_each(check)
}

fn source(item: &Item<'_>) -> Result<(), ArtifactError> {
    item.text(MAX_ARTIFACT_BYTES).map(drop)
}

/// A check: text or a map. What it says is for the verifiers to judge.
fn expectation(item: &Item<'_>) -> Result<(), ArtifactError> {
    match item.value {
        Value::String(_) => item.text(MAX_ITEM_BYTES).map(drop),
        Value::Object(keys) if !keys.is_empty() => Ok(()),
        _ => Err(item.wrong("a check: text such as `file:out.txt,created`, or a map")),
    }
}

/// A path inside the project's folder.
pub(super) fn project_path(item: &Item<'_>) -> Result<(), ArtifactError> {
    let path = item.text(MAX_ITEM_BYTES)?;
    let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leaves {
        return Err(item.wrong("a path inside the project's folder, relative to it"));
    }
    Ok(())
}
