//! `streams`: events to many readers, beside a server that does nothing else; and the same while the host is
//! killed. See `bench/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_bench::answer_as_program().unwrap_or_else(probity_bench::streams::main)
}
