//! Names and ids of calls, in letters that servers take back.
//!
//! A model may call a tool by a name that no tool can have, and its call stays in the conversation;
//! ids may come from another provider. A server that refuses one refuses all that follows.

use std::borrow::Cow;
use std::fmt::Write;

use probity_chat::ToolSpec;

/// The name of a tool that was called.
pub(crate) fn of_tool(name: &str) -> Cow<'_, str> {
    if ToolSpec::is_name(name) {
        return Cow::Borrowed(name);
    }
    let letters = name
        .chars()
        .take(ToolSpec::MAX_NAME_CHARS)
        .map(|c| if ToolSpec::may_name(c) { c } else { '_' });
    let name: String = letters.collect();
    Cow::Owned(if name.is_empty() { "_".to_owned() } else { name })
}

/// The id of a call, for Anthropic. Different ids stay different.
pub(crate) fn of_call(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().all(ToolSpec::may_name) {
        return Cow::Borrowed(id);
    }
    let mut spelled = "id-".to_owned();
    for byte in id.bytes() {
        // Writing to a string cannot fail.
        let _ = write!(spelled, "{byte:02x}");
    }
    Cow::Owned(spelled)
}
