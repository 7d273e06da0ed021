//! The verdict of bijux-canon-reason 0.3.8 on a run directory, gaps included.

use probity_report::{Draft, Reading, SubjectKind, VerificationReport};

use crate::RunFiles;

/// The ten checks, under the names that system gives them.
pub const CHECKS: [&str; 10] = [
    "core_invariants",
    "tool_linkage",
    "claim_justifications",
    "derived_claim_grounding",
    "reasoning_trace",
    "insufficient_reasoning",
    "finalize_present",
    "required_steps",
    "evidence_hashes",
    "support_spans",
];

/// Audits one run directory as that system's `verify` does.
#[must_use]
pub fn audit(_files: &dyn RunFiles, source: &str) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::Trace, source, &CHECKS);
    draft.reading = Reading::Compat;
    draft.finish()
}
