//! What the operator reviewed of a chat model, against what a caller says of it.

use std::collections::BTreeSet;

use super::ProjectError;
use crate::Request;
use crate::request::{Chat, OF_ENDPOINT};

/// Tools and servers of the operator's chat model were reviewed: nobody puts another one in the place
/// of one of them, nor adds to them where the model is the operator's.
///
/// # Errors
/// [`ProjectError::ToolTaken`] or [`ProjectError::ChatKey`].
pub(super) fn keep_tools(operator: &Request, caller: &Request) -> Result<(), ProjectError> {
    let (Some(operators), Some(callers)) = (&operator.chat, &caller.chat) else { return Ok(()) };
    let names = |chat: &Chat| -> BTreeSet<String> {
        chat.tools.iter().map(|tool| tool.name.clone()).chain(chat.mcp.keys().cloned()).collect()
    };
    let (taken, given) = (names(operators), names(callers));
    if let Some(name) = taken.intersection(&given).next() {
        return Err(ProjectError::ToolTaken { name: name.clone() });
    }
    if !caller.brings_delegate() {
        let is_kept = |key: &String| OF_ENDPOINT.contains(&key.as_str());
        if let Some(key) = callers.keys().into_iter().find(is_kept) {
            return Err(ProjectError::ChatKey { key });
        }
    }
    Ok(())
}
