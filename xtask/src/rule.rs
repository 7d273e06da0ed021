//! One file per kind of rule; each is a function from text to findings.

pub mod book;
pub mod budget;
pub mod code;
pub mod edge;
pub mod link;
pub mod name;
pub mod panic;
pub mod purity;
pub mod shown;
pub mod word;
