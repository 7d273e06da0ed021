//! `probity episode`: documents held against their own bytes, and the episodes of runs.

mod export;
mod run;
mod text;
mod verify;

pub(super) use self::verify::held_against;
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
        EpisodeCommand::Show { run, store, json } => export::show(run, store, *json).await,
        EpisodeCommand::Export { run, out, receipt, store } => {
            export::export(run, out.as_deref(), receipt.as_deref(), store).await
        }
    }
}
