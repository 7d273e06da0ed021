//! The sandbox helper for this crate's tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_sandbox::exec_main(std::env::args_os().skip(2))
}
