//! What rows must be, and that the player sees what is wrong.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code; a panic is how a test fails"
)]

mod player;
mod rows;
