//! Behaviour of citations through the public face.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code; a panic is how a test fails")]

mod answer;
mod cited;
mod escape;
mod piece;
