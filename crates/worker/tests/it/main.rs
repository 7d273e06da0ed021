//! One binary for all tests of this crate.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod crash;
mod drain;
mod failures;
mod family;
mod fleet;
mod hooked;
mod leases;
mod rig;
mod waits;
