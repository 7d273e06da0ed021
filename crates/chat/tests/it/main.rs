//! The chat delegate, against a model that plays a part and is strict about the protocol.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code; a panic is how a test fails"
)]

mod budget;
mod calls;
mod crash;
mod flat;
mod output;
mod park;
mod retry;
mod stage;
mod steering;
mod tools;
mod turns;
