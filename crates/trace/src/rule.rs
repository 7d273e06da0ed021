//! Every rule of a trace audit.

use probity_report::Rule;

use crate::{
    answer, claim, evidence, identity, lifecycle, plan, provenance, read, seal, spec, tool,
};

/// The checks of a trace audit, in the order of the report.
pub const CHECKS: [&str; 13] = [
    "json",
    "canonical",
    "content_ids",
    "seal",
    "lifecycle",
    "plan",
    "tools",
    "evidence",
    "claims",
    "answer",
    "insufficiency",
    "policy",
    "provenance",
];

/// Every rule, in the order of `docs/traces.md`.
#[must_use]
pub fn rules() -> Vec<&'static Rule> {
    [
        read::RULES,
        identity::RULES,
        spec::RULES,
        seal::RULES,
        lifecycle::RULES,
        plan::RULES,
        tool::RULES,
        evidence::RULES,
        claim::RULES,
        answer::RULES,
        provenance::RULES,
    ]
    .concat()
}
