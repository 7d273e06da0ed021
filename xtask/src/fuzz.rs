//! Coverage-guided fuzzing, on the stable compiler.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::XtaskError;
use crate::command::cargo_path;

/// What tells libFuzzer which edges were taken; without a sanitizer, which safe code can do without.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The longest input, in bytes.
const MAX_LEN: &str = "-max_len=131072";
/// The longest input that is kept, in bytes: what is committed stays small.
const MAX_KEPT_LEN: &str = "-max_len=8192";

/// Fuzzes one target for so many seconds, or with `all` every one in turn, from its seeds and the corpus
/// in `fuzz/corpus/TARGET`. What reaches new code is kept in `target/fuzz/work/TARGET`; as few small
/// inputs as cover most of it go into the corpus. A crash is left in `fuzz/artifacts/TARGET`.
///
/// # Errors
/// [`XtaskError`] when the fuzzer cannot be built, or finds a crash. With `all`, of the first that does.
pub fn fuzz(root: &Path, target: &str, seconds: &str) -> Result<(), XtaskError> {
    build(root)?;
    if target != "all" {
        return run(root, target, seconds);
    }
    let read = |error| XtaskError::Read { error };
    let entries = std::fs::read_dir(root.join("fuzz/corpus")).map_err(read)?;
    let names: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.file_name())).collect();
    let mut names = names.map_err(read)?;
    names.sort();
    names.iter().try_for_each(|name| run(root, &name.to_string_lossy(), seconds))
}

fn run(root: &Path, target: &str, seconds: &str) -> Result<(), XtaskError> {
    let kept = root.join("fuzz/corpus").join(target);
    let artifacts = root.join("fuzz/artifacts").join(target);
    let [work, seeds] = ["work", "seeds"].map(|it| root.join("target/fuzz").join(it).join(target));
    for folder in [&kept, &artifacts, &work, &seeds] {
        std::fs::create_dir_all(folder).map_err(|error| XtaskError::Read { error })?;
    }
    let seconds = format!("-max_total_time={seconds}");
    let crashes = format!("-artifact_prefix={}/", artifacts.display());
    let bounds = ["-timeout=10", "-rss_limit_mb=2048", MAX_LEN, "-print_final_stats=1"];
    let options = [&[seconds.as_str(), &crashes], bounds.as_slice()].concat();
    fuzzer(root, target, &[&work, &kept, &seeds], &options)?;
    fuzzer(root, target, &[&kept, &seeds, &work], &["-set_cover_merge=1", MAX_KEPT_LEN])
}

/// Builds the fuzzer beside everything else: only the crates of the workspace are instrumented, by this
/// very program in the place of the compiler, so nothing that they stand on is built twice.
fn build(root: &Path) -> Result<(), XtaskError> {
    let wrapper = std::env::current_exe().map_err(|error| XtaskError::Read { error })?;
    let mut command = Command::new(cargo_path());
    command
        // Of the whole workspace, so that features, and with them how numbers are read, are those of
        // the program.
        .args([
            "build",
            "-q",
            "--workspace",
            "--bin",
            "fuzz",
            "--features",
            "probity-fuzz/libfuzzer",
        ])
        .args(["--config", "profile.dev.opt-level=1"])
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(root);
    status(command, "cargo build --bin fuzz".to_owned())
}

fn fuzzer(
    root: &Path,
    target: &str,
    folders: &[&PathBuf],
    options: &[&str],
) -> Result<(), XtaskError> {
    let mut command = Command::new(root.join("target/debug/fuzz"));
    let seeds = root.join("target/fuzz/seeds").join(target);
    command.args(folders).args(options).current_dir(root);
    command.env("PROBITY_FUZZ_TARGET", target).env("PROBITY_FUZZ_SEEDS", seeds);
    status(command, format!("fuzz {target}"))
}

/// Stands between cargo and the compiler: `words` are its command line. What is built for the fuzzer is
/// instrumented; what runs while building is not.
///
/// # Errors
/// [`XtaskError`] where the compiler cannot be started, or fails.
pub fn compile(words: &[String]) -> Result<(), XtaskError> {
    let Some((compiler, rest)) = words.split_first() else {
        return Err(XtaskError::Failed { command: "rustc".to_owned() });
    };
    let is_helper = |word: &String| word == "build_script_build" || word == "proc-macro";
    let is_covered = rest.iter().any(|word| word == "--crate-name") && !rest.iter().any(is_helper);
    let mut command = Command::new(compiler);
    command.args(rest).args(COVERAGE.iter().filter(|_| is_covered));
    status(command, "rustc".to_owned())
}

fn status(mut command: Command, text: String) -> Result<(), XtaskError> {
    let status =
        command.status().map_err(|error| XtaskError::Start { command: text.clone(), error })?;
    if status.success() { Ok(()) } else { Err(XtaskError::Failed { command: text }) }
}
