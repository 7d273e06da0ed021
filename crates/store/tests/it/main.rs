//! The suite on the memory provider, and what the contracts say without one.

mod batch;
mod faults;
mod memory;
mod queue;
