//! The id of a trace, recomputed in one pass.
//!
//! It is the SHA-256 of one canonical object: the header without `id` and `record`, and `events`,
//! the list of all events. That text is never built: every event stands in its line already.

use sha2::{Digest as _, Sha256};

use crate::identity;
use crate::tape::Value;

/// The header's members before `events`, and behind it.
const BEFORE: [&str; 1] = ["canonicalization_version"];
const BEHIND: [&str; 6] = [
    "fingerprint_algo",
    "metadata",
    "plan_id",
    "runtime_protocol_version",
    "schema_version",
    "spec_id",
];

/// An id in the making.
#[derive(Debug, Clone)]
pub(super) struct TraceId {
    sha256: Sha256,
    /// What stands behind the events.
    behind: String,
    is_first: bool,
}

impl TraceId {
    /// The id of a trace with this header; `None` if a member is missing.
    pub(super) fn begin(header: Value) -> Option<Self> {
        let mut sha256 = Sha256::new();
        sha256.update("{");
        for key in BEFORE {
            let value = identity::canonical(header.get(key)?);
            sha256.update(format!("\"{key}\":{value},"));
        }
        sha256.update("\"events\":[");
        let mut behind = "]".to_owned();
        for key in BEHIND {
            let value = identity::canonical(header.get(key)?);
            behind.push_str(&format!(",\"{key}\":{value}"));
        }
        behind.push('}');
        Some(Self { sha256, behind, is_first: true })
    }

    /// Adds the value of `event` of the next record.
    pub(super) fn add(&mut self, event: Value, is_canonical: bool) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.sha256.update(",");
        }
        match is_canonical {
            true => self.sha256.update(event.raw()),
            false => self.sha256.update(identity::canonical(event)),
        }
    }

    /// The id.
    pub(super) fn finish(mut self) -> String {
        self.sha256.update(self.behind);
        format!("trace_v1_{}", hex::encode(self.sha256.finalize()))
    }
}
