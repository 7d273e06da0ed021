//! The programs, built for release: one link for all of them, and a name for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::BenchError;

/// What `bench/src/bin/all.rs` answers to.
const NAMES: [&str; 9] = [
    "agents",
    "chaos",
    "episodes",
    "figures",
    "instructions",
    "lie-matrix",
    "streams",
    "traces",
    "workers",
];

/// A folder with all programs and `probity` beside them. `named` is one with `probity` and `all`, built
/// before; without it they are built.
///
/// # Errors
/// They cannot be built, or not be linked.
pub(crate) fn programs(root: &Path, named: Option<&Path>) -> Result<PathBuf, BenchError> {
    let from = match named {
        Some(folder) => folder.to_path_buf(),
        None => build(root)?,
    };
    let folder = root.join("target/bench/programs");
    fs::create_dir_all(&folder).map_err(|error| BenchError::io(&folder, error))?;
    link(&from.join("probity"), &folder.join("probity"))?;
    for name in NAMES {
        link(&from.join("all"), &folder.join(name))?;
    }
    Ok(folder)
}

fn build(root: &Path) -> Result<PathBuf, BenchError> {
    let words = ["build", "--release", "-p", "probity", "--bin", "probity", "-p", "probity-bench"];
    let words = [words.as_slice(), &["--bin", "all"]].concat();
    eprintln!("xtask: cargo {}", words.join(" "));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    match cargo.args(words).current_dir(root).status() {
        Ok(status) if status.success() => {}
        _ => return Err(BenchError::Build),
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    Ok(target.unwrap_or_else(|| root.join("target")).join("release"))
}

/// A hard link, or a copy where that is another disk. A symbolic link would not do: a program that asks
/// for its own path is told where it leads.
fn link(from: &Path, to: &Path) -> Result<(), BenchError> {
    // A program that runs from there, for another one of these, would lose its name.
    if is_same(from, to) {
        return Ok(());
    }
    if let Err(error) = fs::remove_file(to)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(BenchError::io(to, error));
    }
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(_) => fs::copy(from, to).map(drop).map_err(|error| BenchError::io(from, error)),
    }
}

#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.dev() == other.dev() && one.ino() == other.ino(),
        _ => false,
    }
}

#[cfg(not(unix))]
const fn is_same(_one: &Path, _other: &Path) -> bool {
    false
}
