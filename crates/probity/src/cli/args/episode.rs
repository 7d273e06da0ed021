//! `probity episode`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StoreArgs;

const VERIFY_HELP: &str = "\
Exit codes:
  0  every document is accepted
  1  at least one is rejected
  64 something could not be read, there was no document, or an envelope or pack is wrong

A run's id in the place of a path audits that run: its chain of records, and its episode under the
envelope that it ran under.";

/// `probity episode`.
#[derive(Debug, Args)]
pub struct EpisodeArgs {
    /// What to do with episodes.
    #[command(subcommand)]
    pub command: EpisodeCommand,
}

/// The subcommands of `probity episode`.
#[derive(Debug, Subcommand)]
pub enum EpisodeCommand {
    /// Audit episodes, drift signals, envelopes and packs by their bytes alone.
    #[command(after_help = VERIFY_HELP)]
    Verify(EpisodeVerifyArgs),
    /// Print the episode of a sealed run that made a decision.
    Show {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print the episode as one line of JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the episode of a sealed run, byte for byte what its seal covers.
    Export {
        /// The run.
        run: String,
        /// Where to write it. Default: standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Where to write the receipt, a digest over the whole episode. Keep it elsewhere.
        #[arg(long, value_name = "FILE")]
        receipt: Option<PathBuf>,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// `probity episode verify`.
#[derive(Debug, Args)]
pub struct EpisodeVerifyArgs {
    /// Files (.json, .jsonl), folders, `-` for lines on standard input, or a run.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// The envelope of a decision type. May be given more than once. Default: the project's.
    #[arg(long, value_name = "FILE")]
    pub envelope: Vec<PathBuf>,
    /// A policy pack. May be given more than once. Default: the project's.
    #[arg(long, value_name = "FILE")]
    pub pack: Vec<PathBuf>,
    /// The receipt of the one episode that is named.
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// Print the summary only.
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON object per document and a last one with the summary.
    #[arg(long)]
    pub json: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}
