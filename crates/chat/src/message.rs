//! What is said in a conversation, in a form that no provider owns.

use serde::{Deserialize, Serialize};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// Who the model is to be.
    System {
        /// The text.
        content: String,
    },
    /// What the model is told.
    User {
        /// The text.
        content: String,
    },
    /// What the model said.
    Assistant {
        /// Its text; empty where it only called tools.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        content: String,
        /// The tools that it called, in its order. Each is answered by one [`Message::Tool`] before
        /// the model is asked again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call>,
    },
    /// The answer to one call.
    Tool {
        /// The call that it answers.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The result as text.
        content: String,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A call of a tool, as the model made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The id of the call: the provider's, unless that does not name the call in the whole run, is
    /// longer than 40 bytes or holds `#` or anything but visible ASCII.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, to the byte as the model gave them: meant to be a JSON object, and sometimes
    /// not JSON at all.
    pub arguments: String,
}
