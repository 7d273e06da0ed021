//! Who checks what a worker left, and how: `metadata.probity.verifiers.<node>` of a definition, for its
//! nodes that dispatch or run a sub-workflow.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A critic and its rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifierSpec {
    /// The critic: 3 to 256 characters.
    pub agent_id: String,
    /// The checks, in the grammar of a request's `checks`; at least one.
    pub checks: Vec<Value>,
    /// How long it may take, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// What the supervisor does about `fail`, and about a critic that broke.
    #[serde(default)]
    pub on_fail: OnFail,
    /// Lets a critic check its own work. Otherwise such a verdict is not asked for, and nothing is taken
    /// over.
    #[serde(default)]
    pub allow_self_verification: bool,
    /// Verdicts to give in turn instead of checking: only in definitions named `conformance-*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mock_verdicts: Vec<MockVerdict>,
}

/// A verdict that is given without looking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MockVerdict {
    /// `pass`.
    Pass,
    /// `fail`.
    Fail,
    /// `revise`.
    Revise,
    /// The critic breaks.
    Fault,
    /// The critic never answers.
    Hang,
}

/// What comes after a verdict that let nothing through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFail {
    /// Somebody is asked.
    #[default]
    AskUser,
    /// The worker is asked again.
    Again,
    /// The run ends, saying that its criteria are not met.
    GiveUp,
}

const fn timeout_ms() -> u64 {
    60_000
}
