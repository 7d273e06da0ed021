//! Tests of the crate through its public face.

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
