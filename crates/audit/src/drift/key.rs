//! What makes two signals the same.

use serde::{Deserialize, Serialize};

use super::DriftType;

/// The key under which signals are counted as one, and the rule by which it was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The key.
    pub key: String,
    /// The rule: [`Fingerprint::VERSION`] for keys of this system.
    pub version: String,
}

impl Fingerprint {
    /// The rule of [`Fingerprint::new`].
    pub const VERSION: &'static str = "2";

    /// `<decision type>::<drift type>::<parts>`. Parts are closed words and names of verifiers:
    /// never names of runs, nothing measured, so that the same fault of two episodes is one.
    #[must_use]
    pub fn new(decision_type: &str, drift_type: DriftType, parts: &[&str]) -> Self {
        let mut key = format!("{decision_type}::{}", drift_type.as_str());
        for part in parts {
            key.push_str("::");
            key.push_str(part);
        }
        Self { key, version: Self::VERSION.to_owned() }
    }

    /// The key of a verification that did not pass: `<decision type>::verify::<method>::<reason>`.
    #[must_use]
    pub fn verify(decision_type: &str, method: &str, reason: &str) -> Self {
        Self::new(decision_type, DriftType::Verify, &[method, reason])
    }
}
