//! What `run` and `verify` share: the checks, where they look, how the result is shown.

use std::path::PathBuf;

use clap::Args;

use super::SandboxArgs;

/// The checks of a run.
#[derive(Debug, Clone, Args)]
pub struct CheckingArgs {
    /// A check: KIND:TARGET[,key=value]... May be given more than once.
    #[arg(long, value_name = "CHECK")]
    pub expect: Vec<String>,
    /// A Starlark verifier with `def run(result)`. May be given more than once.
    #[arg(long, value_name = "FILE")]
    pub verify: Vec<PathBuf>,
    /// An entry of `args` in the verifier. JSON if it parses as JSON, else text.
    #[arg(long = "verify-arg", value_name = "KEY=VALUE")]
    pub verify_arg: Vec<String>,
    /// A host that checks may ask over HTTP: example.com, *.example.com, 127.0.0.1:8080.
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// A host or address range that may be private: db.internal, 10.0.0.0/8.
    #[arg(long = "allow-private", value_name = "HOST")]
    pub allow_private: Vec<String>,
    /// A glob that the snapshot of the workspace leaves out, beside the built-in ones.
    #[arg(long, value_name = "GLOB")]
    pub ignore: Vec<String>,
    /// A glob of files that the delegate may change although a check names them.
    #[arg(long = "may-change", value_name = "GLOB")]
    pub may_change: Vec<String>,
    /// Where the work is done and checked. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// What commands are kept from.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// Exit 0 even if nothing checked the claim.
    #[arg(long)]
    pub allow_unverified: bool,
    /// Leave the project's `.probity` out: its configuration, hooks, profiles and envelopes.
    #[arg(long)]
    pub no_project: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

impl CheckingArgs {
    /// No checks; prints as told.
    #[must_use]
    pub const fn printing(json: bool) -> Self {
        Self {
            expect: Vec::new(),
            verify: Vec::new(),
            verify_arg: Vec::new(),
            allow_host: Vec::new(),
            allow_private: Vec::new(),
            ignore: Vec::new(),
            may_change: Vec::new(),
            workspace: None,
            sandbox: SandboxArgs::none(),
            allow_unverified: false,
            no_project: false,
            json,
        }
    }
}
