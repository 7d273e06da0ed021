//! The binary that is packed: for which machines, of which version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DistError, cargo, output, run};
use crate::command::host;

/// What the binary is for: what was named, or musl where it can be built, or this machine.
///
/// # Errors
/// The compiler does not say what it builds for.
pub(super) fn target(root: &Path, named: Option<&str>) -> Result<String, DistError> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let host = host(root)?;
    let musl = host.replace("-gnu", "-musl");
    if has_target(root, &musl)? {
        return Ok(musl);
    }
    eprintln!(
        "xtask: no static binary: `{musl}` is not installed (rustup target add {musl}, and a musl-gcc); \
         packing for {host}"
    );
    Ok(host)
}

/// Builds for release.
///
/// # Errors
/// It does not build.
pub(super) fn build(root: &Path, target: &str) -> Result<PathBuf, DistError> {
    let words = ["build", "--release", "--locked", "-p", "probity", "--bin", "probity", "--target"];
    run(Command::new(cargo()).current_dir(root).args(words).arg(target))?;
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    Ok(folder.join(target).join("release/probity"))
}

/// The version that a binary says it has.
///
/// # Errors
/// It does not run here, or is something else.
pub(super) fn version(binary: &Path) -> Result<String, DistError> {
    let said = output(Command::new(binary).arg("--version"))?;
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let version = said.strip_prefix("probity ").map(str::to_owned);
    version.filter(|version| version.chars().all(is_of_version)).ok_or(DistError::Version { said })
}

/// The oldest glibc that a binary runs with; none where it asks for no version of it.
///
/// # Errors
/// The file cannot be read.
pub(super) fn glibc(binary: &Path) -> Result<Option<String>, DistError> {
    const MARK: &[u8] = b"GLIBC_2.";
    let bytes = fs::read(binary).map_err(|error| DistError::io(binary, error))?;
    let minors = bytes.windows(MARK.len() + 2).filter_map(|window| {
        let digits = window.strip_prefix(MARK)?;
        let digits: String =
            digits.iter().map(|byte| char::from(*byte)).take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    Ok(minors.max().map(|minor| format!("2.{minor}")))
}

fn has_target(root: &Path, target: &str) -> Result<bool, DistError> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = output(Command::new(rustc).args(["--print", "sysroot"]).current_dir(root))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&said).trim());
    Ok(sysroot.join("lib/rustlib").join(target).join("lib").is_dir())
}

fn is_of_version(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')
}
