//! `probity quality`.

use std::path::PathBuf;

use clap::Args;

use super::{CheckingArgs, StoreArgs};
use crate::request::Millis;

pub(super) const QUALITY_HELP: &str = "\
Every check is run on private copies of the workspace, each with one thing changed that should make the
claim untrue: a file deleted, emptied, cut, another value, another operator. What still passes is a miss.
The workspace itself is never written to. What a check runs in a copy runs as you: see docs/quality.md.

Exit codes:
  0    at least one check was scored, and none misses more than --max-missed
  1    a check misses more than --max-missed
  4    nothing could be scored; with --max-missed: a check that could be tried was not scored
  64   wrong usage or configuration
  74   the copies could not be made
  130  interrupted; the copies are gone

Examples:
  probity quality                                            # the checks of this project
  probity quality --expect 'command:cargo test' --files 'src/**' --max-mutants 40
  probity quality --run last --check file_out.txt            # the checks of a run, and what it changed
  probity quality --max-missed 20 --json                     # for a CI job";

/// `probity quality`.
#[derive(Debug, Args)]
#[command(mut_arg("allow_unverified", |arg| arg.hide(true)))]
pub struct QualityArgs {
    /// Try the checks of this run in place of the project's; what it changed is changed for checks that
    /// run a program. `last` is the newest.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "expect", "verify", "verify_arg", "allow_host", "allow_private", "may_change", "no_project",
    ])]
    pub run: Option<String>,
    /// Try this check only. May be given more than once.
    #[arg(long, value_name = "NAME")]
    pub check: Vec<String>,
    /// Change files that match, for checks that run a program. Default: what the check names, or else code,
    /// data and tests.
    #[arg(long, value_name = "GLOB")]
    pub files: Vec<String>,
    /// Mutants of one check, at most.
    #[arg(long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_mutants: u32,
    /// What chance follows from: equal seeds and workspaces give equal mutants.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Copies that are worked in at the same time. With checks that share a port or a database, 1.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=8))]
    pub jobs: u32,
    /// The most that a check is given for one mutant, such as 30s. Default: its own time.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Millis>,
    /// Exit 1 if a check misses more than this many of 100 mutants.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub max_missed: Option<u32>,
    /// The claim, as `probity verify` takes it. Default: "Done."
    #[arg(long, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// The checks.
    #[command(flatten)]
    pub checking: CheckingArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}
