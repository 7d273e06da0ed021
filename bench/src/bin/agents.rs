//! `agents`: what a typed agent that verifies its output costs. See `bench/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_bench::answer_as_program().unwrap_or_else(probity_bench::agents::main)
}
