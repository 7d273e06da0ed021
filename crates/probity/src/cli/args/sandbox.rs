//! What commands are kept from.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::CliError;
use crate::request::{Reach, Sandbox, Sandboxing, rooted};

/// What commands are kept from.
#[derive(Debug, Clone, Args)]
pub struct SandboxArgs {
    /// Who is sandboxed, and how: checks, delegate, checks=best-effort, delegate=off... May be given
    /// more than once. `probity doctor` says what this machine can hold.
    /// [default: checks=guard,delegate=off]
    #[arg(long, value_name = "WHO[=HOW]", value_delimiter = ',')]
    pub sandbox: Vec<String>,
    /// What the sandboxed may reach over the network. [default: allow]
    #[arg(long, value_enum, value_name = "REACH")]
    pub network: Option<ReachArg>,
    /// A folder that the sandboxed may write to, beside the workspace. May be given more than once.
    #[arg(long, value_name = "DIR")]
    pub writable: Vec<PathBuf>,
}

/// See [`Reach`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReachArg {
    /// What the user may.
    Allow,
    /// Nothing, loopback included.
    Deny,
}

impl SandboxArgs {
    /// Nothing said.
    #[must_use]
    pub const fn none() -> Self {
        Self { sandbox: Vec::new(), network: None, writable: Vec::new() }
    }

    /// The part of a request that these make.
    ///
    /// # Errors
    /// [`CliError::Usage`] for a word that says nothing.
    pub(in crate::cli) fn request(&self) -> Result<Option<Sandbox>, CliError> {
        if self.sandbox.is_empty() && self.network.is_none() && self.writable.is_empty() {
            return Ok(None);
        }
        let here = std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_path_buf());
        let mut sandbox = Sandbox {
            network: self.network.map(|reach| match reach {
                ReachArg::Allow => Reach::Allow,
                ReachArg::Deny => Reach::Deny,
            }),
            writable: self.writable.iter().map(|path| rooted(path, &here)).collect(),
            ..Sandbox::default()
        };
        for word in &self.sandbox {
            let (who, how) = word.split_once('=').unwrap_or((word, "on"));
            let how: Result<Sandboxing, _> = serde_json::from_value(how.into());
            match (who, how) {
                ("checks", Ok(how)) => sandbox.checks = Some(how),
                ("delegate", Ok(how)) => sandbox.delegate = Some(how),
                _ => {
                    return Err(CliError::Usage(format!(
                        "--sandbox `{word}` must be checks or delegate, with =on, =best-effort, =guard \
                         or =off behind it"
                    )));
                }
            }
        }
        Ok(Some(sandbox))
    }
}
