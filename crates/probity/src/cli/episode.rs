//! `probity episode`: documents held against their own bytes, and the episodes of runs.

mod text;
mod verify;

use super::CliError;
use super::args::{EpisodeArgs, EpisodeCommand};
use crate::location::Programs;

/// Audits, shows or exports episodes.
///
/// # Errors
/// [`CliError`] if an input cannot be used.
pub(super) async fn episode(args: &EpisodeArgs, _: &Programs) -> Result<u8, CliError> {
    match &args.command {
        EpisodeCommand::Verify(args) => verify::verify(args).await,
        EpisodeCommand::Show { .. } | EpisodeCommand::Export { .. } => {
            Err(CliError::Usage("not built".to_owned()))
        }
    }
}
