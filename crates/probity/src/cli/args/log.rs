//! `probity log`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use probity_core::{Code, Outcome};

use super::StoreArgs;
use crate::request::Millis;

/// `probity log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// What to do with the logs.
    #[command(subcommand)]
    pub command: LogCommand,
}

/// The subcommands of `probity log`.
#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// The newest runs.
    List(ListArgs),
    /// What a run came to.
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
    /// Follow a run's events until it is sealed.
    Tail {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print records as they are stored.
        #[arg(long)]
        json: bool,
    },
    /// Answer a run that waits for a human, and drive it on.
    Answer(AnswerArgs),
    /// Fill a local index: an SQLite file with a row per run and per verdict, for questions over many
    /// runs. It can be deleted at any time.
    Index(IndexArgs),
    /// Send what a run's log says to the receiver of traces that `OTEL_EXPORTER_OTLP_ENDPOINT` names:
    /// the same trace as whoever drove it sent.
    ExportOtel {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Write a run's records, one JSON object a line, to standard output.
    Export {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// `probity log answer`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("answer").required(true).multiple(false))]
pub struct AnswerArgs {
    /// The run.
    pub run: String,
    /// Who answers.
    #[arg(long, value_name = "NAME")]
    pub by: String,
    /// What the answer is.
    #[command(flatten)]
    pub words: AnswerWords,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Exit 0 even if nothing checked the claim.
    #[arg(long)]
    pub allow_unverified: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// What a human says to a run that waits: exactly one of these, where one is wanted.
#[derive(Debug, Args)]
pub struct AnswerWords {
    /// The claim that the answer is about, as the run names it; refused if another one waits by then.
    /// Without it, the one that waits now. For a `human` check.
    #[arg(long, value_name = "SUBMISSION")]
    pub claim: Option<String>,
    /// The task is done. For a run that waits on a `human` check.
    #[arg(long, group = "answer")]
    pub approve: bool,
    /// It is not; the delegate is told why and tries again. For a `human` check.
    #[arg(long, value_name = "REASON", group = "answer")]
    pub revise: Option<String>,
    /// It is not, and the run ends. A reason is kept for a `human` check only.
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "", group = "answer")]
    pub reject: Option<String>,
    /// Accept the result as it is. For an escalated run; its outcome stays what it was.
    #[arg(long, group = "answer")]
    pub waive: bool,
    /// Allow N more attempts. For an escalated run.
    #[arg(long = "continue", value_name = "N", group = "answer")]
    pub attempts: Option<u32>,
}

/// `probity log list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// How many at most.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
    /// Read from an index that `probity log index` filled, not from the store.
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Runs with this outcome; `escalated` while they wait for somebody.
    #[arg(long, value_name = "OUTCOME", requires = "index", value_parser = outcome)]
    pub outcome: Option<Outcome>,
    /// Runs that ended with this code, or of which a verdict carries it.
    #[arg(long, value_name = "CODE", requires = "index")]
    pub code: Option<Code>,
    /// Runs that were opened this long ago at most, such as 24h.
    #[arg(long, value_name = "TIME", value_parser = Millis::long, requires = "index")]
    pub since: Option<Millis>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON array instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity log index`.
#[derive(Debug, Args)]
pub struct IndexArgs {
    /// The index: an SQLite file. Made where there is none.
    pub file: PathBuf,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Go on filling it until interrupted.
    #[arg(long)]
    pub follow: bool,
    /// Empty it first.
    #[arg(long)]
    pub rebuild: bool,
    /// Print one JSON object instead of text.
    #[arg(long, conflicts_with = "follow")]
    pub json: bool,
}

fn outcome(text: &str) -> Result<Outcome, String> {
    Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == text).ok_or_else(|| {
        let words: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
        format!("the outcomes are {}", words.join(", "))
    })
}
