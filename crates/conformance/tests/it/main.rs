//! The kit against a host that is honest, one that lies in one thing, and ones that mean harm.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that does not hold what it states shall stop, and so shall the host that it needs"
)]

mod engine;
mod fixture;
mod hook;
mod host;
mod hostile;
mod invariants;
mod lie;
mod lying;
mod pages;
mod report;
mod seed;
mod turn;
