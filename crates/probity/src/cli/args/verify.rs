//! `probity verify`.

use std::path::PathBuf;

use clap::Args;

use super::{CheckingArgs, CiArgs, StoreArgs};

/// `probity verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The claim: a JSON file with `response`, `tool_calls`, `tool_results`, or a text file that is
    /// the response. `-` reads standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "staged")]
    pub result: Option<PathBuf>,
    /// Check what is staged in Git, in a copy of it: the work tree is neither read nor touched.
    #[arg(long)]
    pub staged: bool,
    /// The task that the claim is about.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub task: String,
    /// The checks.
    #[command(flatten)]
    pub checking: CheckingArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// What the job is told that this is part of.
    #[command(flatten)]
    pub reports: CiArgs,
}
