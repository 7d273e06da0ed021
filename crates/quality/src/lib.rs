//! How much a check would miss.
//!
//! A mutation is one change of the world that should make a claim untrue. The [`Operator`]s are functions of
//! bytes and a seed: [`changes`] lists what can be done to a file, [`Change::edit`] does it, [`pick`] chooses.
//! [`Tree`] is the private copy that they are done to. [`CheckQuality`] is what came of it.
//!
//! Nothing here runs a check, and nothing knows what a check is: that is the caller's.

mod change;
mod code;
mod content;
mod database;
mod document;
mod draw;
mod file_kind;
mod operator;
mod pick;
mod score;
mod suggestion;
mod tree;

pub use change::{Cannot, Change, MAX_CONTENT_BYTES, Mutant, Role, changes};
pub use draw::Draw;
pub use file_kind::{FileKind, looks_like_test};
pub use operator::Operator;
pub use pick::pick;
pub use score::{CheckQuality, Fate, Miss, State, Tried};
pub use suggestion::{Asked, suggestion};
pub use tree::{Bounds, LeftOut, Tree, TreeError, remove_folder};
