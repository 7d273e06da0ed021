//! `all`: every program of the bench in one, so that one link makes them all. It is the one whose name
//! its file has, so `cargo xtask bench` gives it a hard link for each.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = probity_bench::answer_as_program() {
        return code;
    }
    // Not by the word that it was started with: programs start themselves as `/proc/self/exe`.
    let path = std::env::current_exe().unwrap_or_default();
    match path.file_name().and_then(|name| name.to_str()) {
        Some("figures") => probity_bench::figures::main(),
        Some("agents") => probity_bench::agents::main(),
        Some("episodes") => probity_bench::episodes::main(),
        Some("traces") => probity_bench::traces::main(),
        Some("streams") => probity_bench::streams::main(),
        Some("workers") => probity_bench::fleet::main(),
        Some("chaos") => probity_bench::chaos::main(),
        Some("lie-matrix") => probity_bench::matrix::main(),
        Some("instructions") => probity_bench::instructions::main(),
        _ => {
            eprintln!("all: link this file under the name of a program of the bench");
            ExitCode::from(64)
        }
    }
}
