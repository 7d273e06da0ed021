//! Every parser that reads a stranger's bytes, as a function that must neither panic nor accept what
//! was changed.
//!
//! `cargo xtask fuzz TARGET` runs one under libFuzzer. What it found worth keeping is in
//! `fuzz/corpus/TARGET`, and a test replays all of it.

mod log;
mod target;

pub use target::Target;
