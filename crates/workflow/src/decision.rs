//! What a supervisor may decide (`orchestrator-decision.schema.json` of openwop v1).

use serde::{Deserialize, Serialize};

/// A supervisor's decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Decision {
    /// Work is handed to workers, one after the other.
    NextWorker {
        /// Their definitions; at least one.
        next_worker_ids: Vec<String>,
        /// How sure it is, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<f64>,
    },
    /// Somebody is asked.
    AskUser {
        /// What.
        prompt: String,
    },
    /// The run ends.
    Terminate {
        /// Why, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How sure it is, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<f64>,
        /// Why, as a record: with any that is not met the run gave up. An empty list says nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        success_criteria: Option<Vec<Criterion>>,
    },
}

/// One stated condition of success (RFC 0090 §C).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Which.
    pub key: String,
    /// Whether the supervisor judged it satisfied.
    pub met: bool,
}
