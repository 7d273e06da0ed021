//! Replies of models, in a few words.

use probity_chat::{Call, FINAL_OUTPUT, ModelReply};
use serde_json::Value;

/// A call of a tool. An empty `id` is filled in by who answers with it, by the number of the
/// model's call, so that it is new in every answer and the same in every run of a test.
#[must_use]
pub fn call(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Call {
    Call { id: id.into(), name: name.into(), arguments: arguments.to_string() }
}

/// A reply that hands in the output of a typed agent.
#[must_use]
pub fn final_output(output: Value) -> ModelReply {
    ModelReply::calls([call("", FINAL_OUTPUT, output)])
}

/// The reply with an id for every call that has none.
pub(crate) fn with_ids(mut reply: ModelReply, number: u32) -> ModelReply {
    for (place, call) in reply.tool_calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_{number}_{place}");
        }
    }
    reply
}
