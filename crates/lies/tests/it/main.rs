//! What rows must be, and that the player sees what is wrong.

#![expect(clippy::unwrap_used, reason = "test code; a panic is how a test fails")]

mod player;
mod rows;
