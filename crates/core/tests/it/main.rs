//! Behaviour of the machine through its public face.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test that breaks should say so at once"
)]

mod accounting;
mod beside;
mod charter;
mod content_free;
mod escalation;
mod feedback;
mod hooks;
mod human;
mod leases;
mod merge_table;
mod notes;
mod outcomes;
mod rejection;
mod replay;
mod retry;
mod rewrites;
mod rig;
mod schedule;
mod stage_by_input;
mod terms;
mod timers;
mod trust;
mod view;
mod word;
