//! One JSON document, read once and strictly: keys stay unique, numbers keep their spelling.
//!
//! A tree of borrowed text, because an audit reads a document, hashes it and forgets it. Members of
//! an object are kept in the order of their keys, which is the order that canonical forms ask for.

mod node;
mod read;
mod write;

pub(crate) use node::{Member, Node};
pub(crate) use probity_report::pointer;
pub(crate) use read::{Reader, Unreadable, read, tell_repeated};
pub(crate) use write::{Without, jcs, sorted};

/// The most bytes of one episode, drift signal, envelope or pack.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// The most bytes of one text that holds an array of documents.
pub const MAX_LIST_BYTES: usize = 1 << 30;

/// The most values in one document: arrays, objects and everything in them.
pub const MAX_DOCUMENT_VALUES: usize = 1_000_000;

/// The deepest nesting of arrays and objects in a document.
pub const MAX_DOCUMENT_DEPTH: usize = 64;
