//! The format from outside: published vectors, the oracle, damage, the museum.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code; a panic is how a test fails")]

mod candidate;
mod canonical;
mod chain;
mod damage;
mod key;
mod ledger;
mod museum;
mod reader;
mod sample;
mod submission;
mod version;

use std::path::PathBuf;

/// The folder with vectors and samples that ship with the format document.
fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/records").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(testdata(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
