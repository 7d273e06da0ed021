//! `chaos`: workers and servers are killed, and the logs show that nothing came of it. See
//! `bench/README.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_bench::answer_as_program().unwrap_or_else(probity_bench::chaos::main)
}
