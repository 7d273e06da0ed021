//! The `probity` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity::cli::main()
}
