//! What the delegate says it did.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::MAX_RECORDED;

/// A delegate's answer. The JSON shape is that of seed 000's `delegation.Result`, except that the
/// two lists are always present, so a verifier script can index them without a guard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The final text of the turn.
    #[serde(default)]
    pub response: String,
    /// Tool calls of this turn, in the order they were made.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// Results of those calls, in the order they came back.
    #[serde(default)]
    pub tool_results: Vec<ToolResult>,
    /// The validated output of a typed agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

impl Claim {
    /// A claim that is only text.
    #[must_use]
    pub fn text(response: impl Into<String>) -> Self {
        Self { response: response.into(), ..Self::default() }
    }
}

/// A tool call as the delegate reported it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; text that is not JSON is kept as a JSON string.
    #[serde(default)]
    pub arguments: Value,
}

/// What came back from a tool call, as the delegate reported it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that this answers.
    pub call_id: String,
    /// The tool's name; empty where the delegate does not repeat it.
    #[serde(default)]
    pub name: String,
    /// The result as text.
    #[serde(default)]
    pub content: String,
    /// Whether the tool said it failed.
    #[serde(default)]
    pub is_error: bool,
}

/// What an attempt spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Model tokens, in and out.
    pub tokens: u64,
    /// Tool calls made.
    pub tool_calls: u64,
}

impl Usage {
    /// The sum; it stays at [`MAX_RECORDED`] rather than wraps.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tokens: sum(self.tokens, other.tokens),
            tool_calls: sum(self.tool_calls, other.tool_calls),
        }
    }
}

const fn sum(one: u64, other: u64) -> u64 {
    let sum = one.saturating_add(other);
    if sum < MAX_RECORDED { sum } else { MAX_RECORDED }
}
