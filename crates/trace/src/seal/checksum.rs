//! The checksum over plan, evidence and runtime that header and run metadata carry.

use sha2::{Digest as _, Sha256};

use crate::identity::quoted;

/// A checksum in the making: the evidence comes first, and is hashed as it is registered.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    sha256: Sha256,
    is_first: bool,
}

impl Default for Checksum {
    fn default() -> Self {
        Self { sha256: Sha256::new_with_prefix("{\"evidence_order\":["), is_first: true }
    }
}

impl Checksum {
    /// Adds the id of the evidence that is registered next.
    pub(crate) fn add(&mut self, evidence_id: &str) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.sha256.update(",");
        }
        self.sha256.update(quoted(evidence_id));
    }

    /// The checksum, with the canonical texts of the plan and of the runtime.
    pub(super) fn finish(mut self, plan: &str, runtime: &str) -> String {
        for piece in ["],\"plan\":", plan, ",\"runtime_descriptor\":", runtime, "}"] {
            self.sha256.update(piece);
        }
        hex::encode(self.sha256.finalize())
    }
}
