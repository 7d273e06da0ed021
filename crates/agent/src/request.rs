//! What a run is opened with.

use probity_core::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a run is opened with, as its log keeps it: enough to tell one agent from another, and to take
/// the run up again with nothing but its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRequest {
    pub(crate) agent: String,
    pub(crate) task: String,
    pub(crate) instructions: String,
    pub(crate) model: String,
    pub(crate) tools: Value,
    pub(crate) output: Value,
    pub(crate) verifier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) depth: u32,
}

impl RunRequest {
    /// What differs between the agent of a recorded run and another of its name, in words.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        [
            ("instructions", self.instructions == other.instructions),
            ("model", self.model == other.model),
            ("tools", self.tools == other.tools),
            ("output", self.output == other.output),
            ("verifier", self.verifier == other.verifier),
            ("place below its parent", self.depth == other.depth),
        ]
        .into_iter()
        .filter_map(|(what, is_same)| (!is_same).then_some(what))
        .collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
