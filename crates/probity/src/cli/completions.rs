//! `probity completions`.

use clap::CommandFactory as _;

use super::args::{Cli, CompletionsArgs};
use super::{CliError, present};
use crate::location::Programs;

/// Prints the completions of a shell.
///
/// # Errors
/// [`CliError::Io`] if standard output cannot be written.
pub(super) async fn completions(args: &CompletionsArgs, _: &Programs) -> Result<u8, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "probity", &mut script);
    present::print(&script)?;
    Ok(0)
}
