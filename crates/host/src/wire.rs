//! Runs in the words of a wire.

pub mod v1;
pub(crate) mod verdict;
