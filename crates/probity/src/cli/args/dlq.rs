//! `probity dlq`.

use clap::{Args, Subcommand};

use super::StoreArgs;

/// `probity dlq`.
#[derive(Debug, Args)]
pub struct DlqArgs {
    /// What to do with the dead letters.
    #[command(subcommand)]
    pub command: DlqCommand,
}

/// The subcommands of `probity dlq`.
#[derive(Debug, Subcommand)]
pub enum DlqCommand {
    /// All of them, with the reason in one word.
    List {
        /// How many at most.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON array instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Why one is one, in words.
    Show {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Have workers try again.
    Retry(DlqWhich),
    /// Forget the letter. The run stays as it is, and no worker looks at it; `probity run --resume` and
    /// `probity resume` still do.
    Drop(DlqWhich),
}

/// Which dead letters.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct DlqWhich {
    /// The run.
    #[arg(group = "which")]
    pub run: Option<String>,
    /// All of them.
    #[arg(long, group = "which", requires = "yes")]
    pub all: bool,
    /// Really all of them.
    #[arg(long, requires = "all")]
    pub yes: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
