//! Scripts through the public face: in a worker, and in the process.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected should stop at once"
)]

mod context;
mod docs;
mod examples;
mod faults;
mod globals;
mod hooks;
mod hostile;
mod latency;
mod polling;
mod pool;
mod returns;
mod seeds;
mod support;
mod tools;
mod worker;
mod writes;
