//! Definitions that conformance suites run: those of the kit, from the same files. Only with the seams.

use probity_workflow::{Definition, DefinitionError};

macro_rules! fixture {
    ($id:literal) => {
        ($id, include_str!(concat!("../../../testdata/openwop/", $id, ".json")))
    };
}

/// Every fixture, sorted: its name and its definition.
const FIXTURES: [(&str, &str); 42] = [
    fixture!("conformance-agent-low-confidence"),
    fixture!("conformance-agent-reasoning"),
    fixture!("conformance-approval"),
    fixture!("conformance-cancellable"),
    fixture!("conformance-cap-breach"),
    fixture!("conformance-child-failure"),
    fixture!("conformance-clarification"),
    fixture!("conformance-delay"),
    fixture!("conformance-dispatch-loop"),
    fixture!("conformance-endless"),
    fixture!("conformance-failure"),
    fixture!("conformance-fan-out"),
    fixture!("conformance-idempotent"),
    fixture!("conformance-identity"),
    fixture!("conformance-long-child"),
    fixture!("conformance-mapping"),
    fixture!("conformance-multi-agent-confidence-escalation"),
    fixture!("conformance-multi-agent-handoff"),
    fixture!("conformance-multi-agent-handoff-child"),
    fixture!("conformance-multi-node"),
    fixture!("conformance-noop"),
    fixture!("conformance-orchestrator-dispatch"),
    fixture!("conformance-orchestrator-low-confidence"),
    fixture!("conformance-orchestrator-terminate"),
    fixture!("conformance-phase4-replay-divergence"),
    fixture!("conformance-run-duration-breach"),
    fixture!("conformance-sub"),
    fixture!("conformance-sub-approval"),
    fixture!("conformance-sub-attested"),
    fixture!("conformance-sub-failure"),
    fixture!("conformance-verifier-again"),
    fixture!("conformance-verifier-child"),
    fixture!("conformance-verifier-contradiction"),
    fixture!("conformance-verifier-fail"),
    fixture!("conformance-verifier-fault"),
    fixture!("conformance-verifier-give-up"),
    fixture!("conformance-verifier-hang"),
    fixture!("conformance-verifier-pass"),
    fixture!("conformance-verifier-revise"),
    fixture!("conformance-verifier-revise-forever"),
    fixture!("conformance-verifier-second"),
    fixture!("conformance-verifier-self"),
];

/// Every fixture.
pub(crate) fn definitions() -> impl Iterator<Item = Result<Definition, DefinitionError>> {
    FIXTURES
        .iter()
        .map(|(_, text)| Definition::parse(&serde_json::from_str(text).unwrap_or_default()))
}

/// The names of all fixtures, sorted.
pub(crate) fn names() -> Vec<&'static str> {
    FIXTURES.iter().map(|(id, _)| *id).collect()
}
