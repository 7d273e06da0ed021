//! `probity hook`: the project's own hooks, tried without a run; and the hooks of coding agents.

mod answering;
mod arrival;
mod chain;
mod deadline;
mod fire;
mod gate;
mod install;
mod outside;
mod project;
mod queue;
mod run;
mod settings_file;

use super::CliError;
use super::args::{HookArgs, HookCommand};
use crate::location::Programs;

/// Tries the project's hooks, or deals with those of coding agents.
///
/// # Errors
/// [`CliError`] if there is nothing to try, it may not be run, or settings cannot be changed.
pub(super) async fn hook(args: &HookArgs, programs: &Programs) -> Result<u8, CliError> {
    match &args.command {
        HookCommand::Fire(args) => fire::fire(args, programs).await,
        HookCommand::Install(args) => install::install(args),
        HookCommand::Uninstall(args) => install::uninstall(args),
        HookCommand::Status(args) => install::status(args),
        HookCommand::Run(args) => Ok(run::run(args, programs).await),
    }
}
