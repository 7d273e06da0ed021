//! Artifacts written down: each key on a line of its own, its value as JSON, which YAML includes.

use std::fmt::Write as _;

use probity_policy::HookArtifact;
use serde_json::{Map, Value};

/// A file with these keys and this body.
pub(crate) fn file(keys: &Map<String, Value>, body: &str) -> String {
    let mut text = String::from("---\n");
    for (key, value) in keys {
        writeln!(text, "{key}: {}", ascii(&value.to_string())).unwrap();
    }
    text + "---\n" + body
}

/// A hook as a file: all its keys, the description as the body.
pub(crate) fn hook(hook: &HookArtifact) -> String {
    let Value::Object(mut keys) = serde_json::to_value(hook).unwrap() else { panic!("no map") };
    keys.remove("name");
    let body = keys.remove("description");
    file(&keys, body.as_ref().and_then(Value::as_str).unwrap_or_default())
}

/// The same hook with its script in a literal block, as people write it.
pub(crate) fn hook_with_block(hook: &HookArtifact) -> String {
    let Value::Object(mut keys) = serde_json::to_value(hook).unwrap() else { panic!("no map") };
    keys.remove("name");
    let body = keys.remove("description");
    keys.remove("script");
    let mut text = file(&keys, "");
    text.truncate(text.len() - "---\n".len());
    // The indentation is stated, so that a script may start with spaces; `+` keeps every line end.
    text.push_str("script: |2+\n");
    for line in hook.script.split_inclusive('\n') {
        text.push_str("  ");
        text.push_str(line);
    }
    assert!(hook.script.ends_with('\n'), "a literal block ends its last line");
    text + "---\n" + body.as_ref().and_then(Value::as_str).unwrap_or_default()
}

/// JSON text with everything that is not ASCII escaped, the way YAML spells it.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match u32::from(c) {
            0x20..=0x7e => text.push(c),
            code @ 0..=0xffff => write!(text, "\\u{code:04x}").unwrap(),
            code => write!(text, "\\U{code:08x}").unwrap(),
        }
    }
    text
}
