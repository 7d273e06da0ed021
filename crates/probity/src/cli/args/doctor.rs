//! `probity doctor`.

use clap::Args;

use super::StoreArgs;

pub(super) const DOCTOR_HELP: &str = "\
Nothing is created and nothing is changed. Each line is ok, warn or fail, with a code that `probity
explain` knows. Exit codes: 0, or 1 if a line says fail.";

/// `probity doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
