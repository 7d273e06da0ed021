//! `probity drift`.

use clap::{Args, Subcommand};

use super::StoreArgs;
use crate::request::Millis;

/// `probity drift`.
#[derive(Debug, Args)]
pub struct DriftArgs {
    /// What to do with drift.
    #[command(subcommand)]
    pub command: DriftCommand,
}

/// The subcommands of `probity drift`.
#[derive(Debug, Subcommand)]
pub enum DriftCommand {
    /// The newest signals: of the sealed runs in the store, or of files.
    List {
        /// Files and folders with drift signals or episodes, as for `episode verify`. Default: the
        /// runs in the store.
        #[arg(value_name = "PATH")]
        paths: Vec<String>,
        /// How many at most.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Signals of one fingerprint that are at most this far apart belong together.
        #[arg(long, value_name = "TIME", default_value = "24h")]
        window: Millis,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON array instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Every signal of one fingerprint, or of one run.
    Show {
        /// The fingerprint, or the run.
        #[arg(value_name = "FINGERPRINT|RUN")]
        which: String,
        /// Signals of one fingerprint that are at most this far apart belong together.
        #[arg(long, value_name = "TIME", default_value = "24h")]
        window: Millis,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON array instead of text.
        #[arg(long)]
        json: bool,
    },
}
