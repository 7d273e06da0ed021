//! Stock effects and the grammar in which they are written down.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world fails")]

mod agent;
mod bed;
mod changes_only;
mod citations;
mod command;
mod compare;
mod database;
mod dir;
mod expect;
mod external;
mod file;
mod git;
mod grammar;
mod http;
mod human;
mod invariant_check;
mod json;
mod method;
mod port;
mod process;
mod python;
mod read_after_write;
mod server;
mod sqlite;
mod target;
mod text;
