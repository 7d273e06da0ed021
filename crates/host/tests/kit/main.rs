//! The host held to the conformance kit: as it is, and with one rule of verification off at a time.

#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that does not hold what it states shall stop"
)]

mod broken;
mod canary;
mod fixtures;
mod own;
mod seams;
mod served;
mod shapes;
