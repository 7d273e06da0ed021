//! The sandbox helper by itself, for this crate's tests and for trying a check by hand. The product
//! dispatches to `exec_main` from its own binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity_sandbox::exec_main(std::env::args_os().skip(1))
}
