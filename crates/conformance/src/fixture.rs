//! The workflows that scenarios run. They are the kit's own; a host may seed them from here. The files stand
//! outside of the crate, since our own host seeds the same ones and neither crate may use the other.

/// Every fixture: its id, and its definition as JSON.
#[must_use]
pub const fn fixtures() -> &'static [(&'static str, &'static str)] {
    &FIXTURES
}

/// The definition of a fixture.
pub(crate) fn definition(id: &str) -> Option<&'static str> {
    FIXTURES.iter().find(|(name, _)| *name == id).map(|(_, json)| *json)
}

macro_rules! fixture {
    ($id:literal) => {
        ($id, include_str!(concat!("../../../testdata/openwop/", $id, ".json")))
    };
}

/// Every fixture: its id, and its definition as JSON.
pub const FIXTURES: [(&str, &str); 42] = [
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
