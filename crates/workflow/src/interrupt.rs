//! What a run asks somebody (`suspend-request.schema.json` of openwop v1).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A wait for somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// The wait, unique in its run.
    pub id: String,
    /// For what.
    pub kind: InterruptKind,
    /// `run:node:count`: the same when the node comes here again.
    pub key: String,
    /// When nobody is waited for any more, in milliseconds after it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The JSON Schema of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_schema: Option<Value>,
    /// What the kind asks for.
    pub data: Map<String, Value>,
}

/// For what a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptKind {
    /// Somebody is to let something through.
    Approval,
    /// Questions are to be answered.
    Clarification,
    /// A decision is held that is not sure enough.
    LowConfidence,
    /// Something outside is to happen.
    ExternalEvent,
}
