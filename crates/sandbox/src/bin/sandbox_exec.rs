//! The sandbox helper by itself. Started by the library, not by hand. Understands the product's
//! `sandbox-exec` in front, so that a prefix can be tested.

use std::process::ExitCode;

fn main() -> ExitCode {
    let prefixed = std::env::args_os().nth(1).is_some_and(|word| word == "sandbox-exec");
    probity_sandbox::exec_main(std::env::args_os().skip(if prefixed { 2 } else { 1 }))
}
