//! `probity hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use probity_harness::{Scope, Tool, Unchecked};

use super::StoreArgs;
use crate::request::Millis;

const FIRE_HELP: &str = "\
Exit codes:
  0  every hook allows (or its condition does not match)
  1  at least one blocks
  2  none blocks, and at least one could not reach what it looks at
  4  at least one broke

Without --payload, a hook is shown the members that a run would show it, empty.";

const INSTALL_HELP: &str = "\
Two commands set a project up:
  probity init && probity trust
  probity hook install claude-code

From then on the agent is held until the project's checks pass, at most as often as the project's
max_verify_retries says. What it was told, and what came of it, is in probity log list.";

const RUN_HELP: &str = "\
Coding agents call this; see `probity hook install`. The event is read from standard input, the answer
is written as the tool expects it, and it comes before --deadline, whatever the checks do.";

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
    /// Have a coding agent ask for the project's checks before it may stop.
    #[command(after_help = INSTALL_HELP)]
    Install(HookInstallArgs),
    /// Take that out of the agent's settings again; everything else stays as it is.
    Uninstall(HookUninstallArgs),
    /// Say for each coding agent whether it asks. Exit 1 if none does, or one was changed by hand.
    Status(HookStatusArgs),
    /// Answer an event of a coding agent.
    #[command(after_help = RUN_HELP)]
    Run(HookRunArgs),
}

/// Whose settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum HookScopeArg {
    /// The project's, for everybody who works on it.
    #[default]
    Project,
    /// Yours in this project; Claude Code only.
    Local,
    /// Yours everywhere.
    User,
}

impl From<HookScopeArg> for Scope {
    fn from(scope: HookScopeArg) -> Self {
        match scope {
            HookScopeArg::Project => Self::Project,
            HookScopeArg::Local => Self::Local,
            HookScopeArg::User => Self::User,
        }
    }
}

/// How the agent finds probity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HookProgramArg {
    /// As `probity`, on PATH.
    Name,
    /// By the absolute path of this program.
    Absolute,
}

/// What becomes of a claim that could not be checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum HookUncheckedArg {
    /// The agent is held, as often as a refused claim would hold it.
    #[default]
    Block,
    /// The agent may stop, and the user is told that nothing was verified.
    Note,
}

impl From<HookUncheckedArg> for Unchecked {
    fn from(arg: HookUncheckedArg) -> Self {
        match arg {
            HookUncheckedArg::Block => Self::Block,
            HookUncheckedArg::Note => Self::Note,
        }
    }
}

/// Where settings are.
#[derive(Debug, Args)]
pub struct HookPlaceArgs {
    /// Whose settings.
    #[arg(long, value_enum, default_value_t)]
    pub scope: HookScopeArg,
    /// The project. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `probity hook install`.
#[derive(Debug, Args)]
pub struct HookInstallArgs {
    /// The agent: claude-code, codex or gemini.
    pub tool: Tool,
    /// Where settings are.
    #[command(flatten)]
    pub place: HookPlaceArgs,
    /// How the agent finds probity. Default: by name in the project's settings, by path in yours.
    #[arg(long, value_enum)]
    pub program: Option<HookProgramArg>,
    /// By when a claim is answered, 1s to 58m; the agent waits a little longer. Default: 5m.
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Millis>,
    /// What becomes of a claim that could not be checked.
    #[arg(long, value_enum, default_value_t)]
    pub unchecked: HookUncheckedArg,
    /// Also keep the agent's own tools from writing the checks and these settings.
    #[arg(long)]
    pub guard: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// Show what would change; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity hook uninstall`.
#[derive(Debug, Args)]
pub struct HookUninstallArgs {
    /// The agent: claude-code, codex or gemini.
    pub tool: Tool,
    /// Where settings are.
    #[command(flatten)]
    pub place: HookPlaceArgs,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// Show what would change; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity hook status`.
#[derive(Debug, Args)]
pub struct HookStatusArgs {
    /// One agent only.
    pub tool: Option<Tool>,
    /// The project. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print one JSON list instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity hook run`.
#[derive(Debug, Clone, Args)]
pub struct HookRunArgs {
    /// The agent: claude-code, codex or gemini.
    pub tool: Tool,
    /// The event it was installed for; the agent says itself which one it is.
    pub event: Option<String>,
    /// By when a claim is answered, 1s to 58m. Default: 5m.
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Millis>,
    /// What becomes of a claim that could not be checked.
    #[arg(long, value_enum, default_value_t)]
    pub unchecked: HookUncheckedArg,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
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
