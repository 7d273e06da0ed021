//! One thing that happened in a run.

use serde::Serialize;
use serde_json::{Map, Value};

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The place of its record in the log.
    pub sequence: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What it is, in one word.
    pub kind: &'static str,
    /// Numbers, closed words, checked names and digests.
    pub facts: Map<String, Value>,
    /// What was said. Content: empty where none is told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
    /// What was observed. Content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Value>,
}

/// What somebody said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Text {
    /// What it is: `task`, `response`, `reason` and so on.
    pub label: &'static str,
    /// The words, cut where there are many.
    pub text: String,
    /// Whether they are.
    pub is_cut: bool,
    /// Digest of the whole, as the log names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Step {
    pub(super) fn new(sequence: u64, at_ms: u64, kind: &'static str) -> Self {
        let (facts, texts, evidence) = (Map::new(), Vec::new(), Vec::new());
        Self { sequence, at_ms, kind, facts, texts, evidence }
    }

    /// Adds a fact.
    pub(super) fn telling(mut self, name: &str, value: impl Serialize) -> Self {
        self.put(name, value);
        self
    }

    pub(super) fn put(&mut self, name: &str, value: impl Serialize) {
        // What cannot be written as JSON is no fact.
        if let Ok(value) = serde_json::to_value(value) {
            self.facts.insert(name.to_owned(), value);
        }
    }
}
