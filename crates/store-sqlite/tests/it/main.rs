//! The conformance suite on a file, and what only a file can do: survive.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code; a panic is how a test fails")]

mod brief;
mod child;
mod conformance;
mod cost;
mod crash;
mod faults;
mod file;
mod files;
mod group;
mod measure;
mod packs;
mod processes;
mod queue;
mod upgrade;
