//! The conductor through its public face.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod begin;
mod cast;
mod crash;
mod damage;
mod delegations;
mod flaky;
mod fleet;
mod fork;
mod hostile;
mod many;
mod rig;
mod shelves;
mod team;
