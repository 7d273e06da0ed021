//! Hooks and profiles, as text and as values.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics fails")]

mod event;
mod front_matter;
mod hook;
mod hook_list;
mod mutation;
mod mutation_nested;
mod profile;
mod property;
mod written;
