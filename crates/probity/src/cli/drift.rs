//! `probity drift`: signals that runs and documents depart from their envelopes, and how often.

use super::CliError;
use super::args::DriftArgs;
use crate::location::Programs;

/// Lists or shows drift.
///
/// # Errors
/// [`CliError`] if an input cannot be used.
pub(super) async fn drift(_: &DriftArgs, _: &Programs) -> Result<u8, CliError> {
    Err(CliError::Usage("not built".to_owned()))
}
