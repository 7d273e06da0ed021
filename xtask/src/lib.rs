//! The jobs of this repository, as functions, so that they can be tested.

pub mod bench;
mod book;
mod command;
mod dist;
mod finding;
mod fuzz;
pub mod instructions;
mod mutants;
mod nats;
pub mod rule;
mod source;
mod tidy;
mod tree;

pub use book::{book, pages};
pub use command::{XtaskError, ci, test};
pub use dist::{Dist, DistError};
pub use finding::Finding;
pub use fuzz::{compile, fuzz};
pub use mutants::mutants;
pub use source::Source;
pub use tidy::tidy;
pub use tree::Tree;
