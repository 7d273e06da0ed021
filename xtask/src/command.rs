//! Running cargo.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a job did not end well.
#[derive(Debug)]
pub enum XtaskError {
    /// A command could not be started.
    Start {
        /// The command line.
        command: String,
        /// Why not.
        error: io::Error,
    },
    /// A command ended with a failure; it has said why.
    Failed {
        /// The command line.
        command: String,
    },
    /// A tool that only some jobs need is not there.
    Missing {
        /// The cargo subcommand.
        subcommand: &'static str,
    },
    /// `cargo metadata` printed something else than expected.
    Metadata {
        /// What is missing.
        error: serde_json::Error,
    },
    /// The repository could not be read.
    Read {
        /// Why not.
        error: io::Error,
    },
    /// Nothing was packed.
    Dist(crate::DistError),
    /// There are no benchmarks.
    Bench(crate::bench::BenchError),
    /// Nothing was counted, or a hot path got longer.
    Instructions(crate::instructions::InstructionsError),
    /// Tidy has findings; they were printed.
    Untidy {
        /// How many.
        count: usize,
    },
}

impl std::fmt::Display for XtaskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start { command, error } => {
                write!(f, "`{command}` could not be started: {error}")
            }
            Self::Failed { command } => write!(f, "`{command}` failed"),
            Self::Missing { subcommand } => {
                write!(f, "install it with `cargo install cargo-{subcommand} --locked`, then again")
            }
            Self::Metadata { error } => write!(f, "cargo metadata could not be read: {error}"),
            Self::Read { error } => write!(f, "the repository could not be read: {error}"),
            Self::Dist(error) => write!(f, "{error}"),
            Self::Bench(error) => write!(f, "{error}"),
            Self::Instructions(error) => write!(f, "{error}"),
            Self::Untidy { count } => write!(f, "{count} findings"),
        }
    }
}

impl std::error::Error for XtaskError {}

/// Documentation tests, then every test of the workspace, so that the last thing printed is the
/// summary of all tests. `rest` is handed to nextest. Installs cargo-nextest and fetches a NATS server
/// where they are missing.
///
/// # Errors
/// [`XtaskError`] when something cannot be started or fails.
pub fn test(root: &Path, rest: &[&str]) -> Result<(), XtaskError> {
    if !is_installed(root, "nextest") {
        eprintln!("xtask: installing cargo-nextest (once)");
        cargo(root, &["install", "cargo-nextest", "--locked"])?;
    }
    // The tests look for it where it is put, unless the environment or the path has one.
    crate::nats::server(root)?;
    cargo(root, &["test", "--quiet", "--workspace", "--doc"])?;
    let mut args = vec!["nextest", "run", "--workspace"];
    args.extend(rest);
    cargo(root, &args)
}

/// Everything that must hold before a change goes in.
///
/// # Errors
/// [`XtaskError`] of the first job that fails.
pub fn ci(root: &Path) -> Result<(), XtaskError> {
    cargo(root, &["fmt", "--all", "--check"])?;
    cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    cargo(root, &["doc", "--quiet", "--workspace", "--no-deps"])?;
    let findings = crate::tidy(root)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        return Err(XtaskError::Untidy { count: findings.len() });
    }
    if is_installed(root, "deny") {
        cargo(root, &["deny", "--all-features", "check"])?;
    } else {
        eprintln!("xtask: cargo-deny is not installed, licences and advisories were not checked");
    }
    test(root, &[])
}

/// The triple of this machine.
///
/// # Errors
/// The compiler cannot be asked.
pub(crate) fn host(root: &Path) -> Result<String, XtaskError> {
    let command = "rustc -vV".to_owned();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .current_dir(root)
        .output()
        .map_err(|error| XtaskError::Start { command: command.clone(), error })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or(XtaskError::Failed { command })
}

/// What `cargo metadata` says about the members.
///
/// # Errors
/// Cargo cannot be run or fails.
pub(crate) fn metadata(root: &Path) -> Result<Vec<u8>, XtaskError> {
    let args = ["metadata", "--format-version", "1", "--no-deps"];
    let command = format!("cargo {}", args.join(" "));
    let output = Command::new(cargo_path())
        .args(args)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| XtaskError::Start { command: command.clone(), error })?;
    if output.status.success() { Ok(output.stdout) } else { Err(XtaskError::Failed { command }) }
}

/// Runs cargo at the root of the repository.
///
/// # Errors
/// It cannot be started, or fails.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Result<(), XtaskError> {
    let command = format!("cargo {}", args.join(" "));
    eprintln!("xtask: {command}");
    let status = Command::new(cargo_path())
        .args(args)
        .current_dir(root)
        .env("RUSTDOCFLAGS", "-D warnings")
        .status()
        .map_err(|error| XtaskError::Start { command: command.clone(), error })?;
    if status.success() { Ok(()) } else { Err(XtaskError::Failed { command }) }
}

/// Whether cargo has this subcommand.
pub(crate) fn is_installed(root: &Path, subcommand: &str) -> bool {
    Command::new(cargo_path())
        .args([subcommand, "--version"])
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The cargo that runs this, so that toolchains do not mix.
pub(crate) fn cargo_path() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
