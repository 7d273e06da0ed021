//! `instructions`: cases whose instructions are counted. See `bench/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_bench::answer_as_program().unwrap_or_else(probity_bench::instructions::main)
}
