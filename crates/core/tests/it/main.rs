//! Behaviour of the machine through its public face.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test that breaks should say so at once"
)]

mod accounting;
mod content_free;
mod escalation;
mod merge_table;
mod outcomes;
mod replay;
mod retry;
mod rig;
mod schedule;
mod stage_by_input;
mod timers;
mod trust;
