//! The Lie Matrix, and the figures beside those of other tools.
//!
//! Each is a program; this library is what they share. See `README.md` of this folder for what
//! each number means.

pub mod agents;
mod beside;
pub mod chaos;
mod claimcheck;
mod cluster;
mod cost;
pub mod episodes;
mod error;
mod face;
pub mod figures;
pub mod fleet;
pub mod instructions;
mod loops;
mod machine;
pub mod matrix;
mod peer;
mod program;
mod ralph;
mod record;
mod service;
mod shell;
mod stopwatch;
pub mod streams;
mod table;
mod tool;
pub mod traces;

pub use program::answer_as_program;
