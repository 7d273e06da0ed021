//! `probity drift`.

use clap::{Args, Subcommand};
use probity_verifier::spec::parse_long_duration_ms;

use super::StoreArgs;

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
        #[arg(long = "window", value_name = "TIME", default_value = "1d", value_parser = window)]
        window_ms: u64,
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
        #[arg(long = "window", value_name = "TIME", default_value = "1d", value_parser = window)]
        window_ms: u64,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON array instead of text.
        #[arg(long)]
        json: bool,
    },
}

fn window(text: &str) -> Result<u64, String> {
    parse_long_duration_ms(text).ok_or_else(|| {
        "write a whole number with a unit, such as `90s`, `30m`, `12h`, `7d`; at most `30d`"
            .to_owned()
    })
}
