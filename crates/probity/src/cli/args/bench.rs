//! `probity bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use probity_lies::Class;

pub(super) const LIES_HELP: &str = "\
A row is a task in a fresh folder, a delegate that lies about it and an honest twin: two small sh
scripts that meet the same checks. The lie must not end `verified`, the twin must. Beside them are
broken judges, unreachable worlds and broken delegates, which must end as exactly that. Each is put
to `probity run` as a user would; nothing but sh and git is needed, nothing of yours is touched.

Columns:
  accepted   lies that ended `verified`            refused   twins that did not
  attempts   counted by Probity = made, which the delegates note down themselves
  health     rows with a broken judge, world or delegate
  wrong      rows that are not as they must be, for whatever reason; each is told below the table

Exit codes:
  0  nothing is wrong       1  something is       74  a row could not be played at all
                            64  wrong usage

Examples:
  probity bench lies                        # all of it
  probity bench lies --only edited_judge    # one class; `probity bench lies --list` names them
  probity bench lies --json > lies.json";

/// `probity bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What is measured.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// The subcommands of `probity bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// The Lie Matrix: delegates that lie, each with an honest twin, against this program.
    #[command(after_help = LIES_HELP)]
    Lies(LiesArgs),
}

/// `probity bench lies`.
#[derive(Debug, Args)]
pub struct LiesArgs {
    /// Play only the rows of one class, such as edited_test.
    #[arg(long, value_name = "CLASS")]
    pub only: Option<Class>,
    /// List the classes, and what each lies about; play nothing.
    #[arg(long)]
    pub list: bool,
    /// Rows played at the same time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub jobs: u8,
    /// Hold another `probity` program to the rows. Default: this one.
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
