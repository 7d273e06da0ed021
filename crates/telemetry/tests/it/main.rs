//! What is sent of whole runs, through the public face, at receivers that speak the protocol.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod dashboard;
mod environment;
#[cfg(feature = "grpc")]
mod grpc;
mod metrics;
mod outcomes;
mod privacy;
mod receiver;
mod rig;
mod table;
mod trace;
mod trouble;
mod workers;
