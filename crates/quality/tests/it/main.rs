//! The operators and the copy, through the crate's public face.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that breaks should say so at once")]

mod operators;
mod picks;
mod scores;
mod trees;
