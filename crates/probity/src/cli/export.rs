//! `probity export`: a run as one file that anyone can check.

use super::CliError;
use super::args::ExportArgs;
use crate::location::Programs;

/// Writes a bundle.
///
/// # Errors
/// [`CliError`] if there is no such run, or its bundle cannot be written.
pub(super) async fn export(_args: &ExportArgs, _: &Programs) -> Result<u8, CliError> {
    Err(CliError::Usage("not yet".to_owned()))
}
