//! Envelopes, packs, decisions, and what they come to for one run.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics fails"
)]

mod compile;
mod decision;
mod document;
mod envelope;
mod legacy;
mod mutation;
mod mutation_huge;
mod pack;
mod reference;
mod sample;
mod sorted_json;
