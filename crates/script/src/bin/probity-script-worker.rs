//! The script worker as a program of its own.

fn main() -> std::process::ExitCode {
    probity_script::worker_main()
}
