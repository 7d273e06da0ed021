//! One binary for all tests of this crate.

mod crash;
mod drain;
mod failures;
mod family;
mod fleet;
mod hooked;
mod leases;
mod rig;
mod waits;
