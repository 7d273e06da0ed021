//! Tests of the crate through its public face.

#![expect(clippy::panic, reason = "a test that breaks should say so at once")]

mod answers;
mod events;
mod guards;
mod settings;
mod words;
