//! Every parser that reads a stranger's bytes, and the machines that decide, as functions that must
//! neither panic nor accept what they must refuse.
//!
//! `cargo xtask fuzz TARGET` runs one under libFuzzer. What it found worth keeping is in
//! `fuzz/corpus/TARGET`, and a test replays all of it. `fuzz/README.md` says what each asserts.

mod seed;
mod tape;
mod target;

pub use target::Target;
