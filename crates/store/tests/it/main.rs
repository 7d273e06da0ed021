//! The suite on the memory provider, and what the contracts say without one.

#![expect(clippy::unwrap_used, reason = "test code; a panic is how a test fails")]

mod batch;
mod faults;
mod memory;
mod queue;
