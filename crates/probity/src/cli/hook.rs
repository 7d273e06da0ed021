//! `probity hook`: the project's hooks, tried without a run.

mod fire;

use super::CliError;
use super::args::{HookArgs, HookCommand};
use crate::location::Programs;

/// Tries hooks.
///
/// # Errors
/// [`CliError`] if there is nothing to try, or it may not be run.
pub(super) async fn hook(args: &HookArgs, programs: &Programs) -> Result<u8, CliError> {
    match &args.command {
        HookCommand::Fire(args) => fire::fire(args, programs).await,
    }
}
