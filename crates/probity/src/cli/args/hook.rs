//! `probity hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const FIRE_HELP: &str = "\
Exit codes:
  0  every hook allows (or its condition does not match)
  1  at least one blocks
  2  none blocks, and at least one could not reach what it looks at
  4  at least one broke

Without --payload, a hook is shown the members that a run would show it, empty.";

/// `probity hook`.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// What to do with hooks.
    #[command(subcommand)]
    pub command: HookCommand,
}

/// The subcommands of `probity hook`.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Call the project's hooks of an event with a payload, and print what each answers. No run is
    /// opened and nothing is recorded.
    #[command(after_help = FIRE_HELP)]
    Fire(HookFireArgs),
}

/// `probity hook fire`.
#[derive(Debug, Args)]
pub struct HookFireArgs {
    /// The event: delegation.pre, attempt.start, tool.pre, tool.post, delegation.post_verify,
    /// attempt.end, delegation.post, or custom.NAME.
    pub event: String,
    /// What the hooks are shown: a file with a JSON object. `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
    /// A profile whose hooks are called too.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The project. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
