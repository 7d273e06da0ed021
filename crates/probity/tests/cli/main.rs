//! The `probity` command as its users see it: the built binary in temporary folders.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod world;

mod check;
mod decision;
mod explain;
mod gate;
mod help;
mod init;
mod interrupt;
mod json;
mod log;
mod pipe;
mod recheck;
mod replaced;
mod trust;
mod verify;
