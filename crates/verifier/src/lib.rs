//! Reads ground truth and returns a verdict or a fault.

mod context;
pub mod snapshot;
mod verifier;

pub use context::CheckContext;
pub use verifier::Verifier;
