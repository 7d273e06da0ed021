//! `probity submit`, `worker`, `watch`, `cancel`, `steer`, `resume`.

use clap::Args;
use probity_core::WorkerId;
use probity_store::Pool;

use super::{AnswerWords, RequestArgs, StoreArgs};
use crate::request::Millis;

pub(super) const SUBMIT_HELP: &str = "\
The run is executed by a worker, which may be another process or another machine. Paths are made
absolute here; the workspace and every file that the request names must be there where the worker
runs. Keys of chat models are read by the worker, from its environment. The checks are those of
`probity run --help`.

With --host URL a host takes the run (probity serve), with the key in PROBITY_API_KEY. Every path is
then one of the host, below its workspace root, and the host applies the project that is there.

Examples:
  export PROBITY_STORE=sqlite:/var/lib/probity/runs.db
  probity submit \"fix the tests\" --expect 'command:cargo test,timeout=10m' -- claude -p
  probity submit --request nightly.yaml --pool gpu --after 10m
  probity submit --request nightly.yaml --wait        # exits as probity run does
  probity submit \"fix the tests\" --host https://probity.example --workspace checkout \\
      --expect 'command:cargo test' --wait -- claude -p
  probity worker                                      # in another terminal";

pub(super) const WORKER_HELP: &str = "\
A worker does what the requests of the store say: whoever may write to the store may have it run
commands as this user. See docs/fleet.md.

The first Ctrl-C or SIGTERM drains: nothing new is taken, runs in hand may end within the drain
timeout. The second lets go of them at once: others take them up when their leases end. The third
ends the process.

Exit codes: 0; 1 if a run became a dead letter (probity dlq list); 64 wrong usage.

Examples:
  probity worker --store sqlite:/var/lib/probity/runs.db
  probity worker --store nats://queue.example:4222 --pool gpu --concurrency 2
  probity worker --once                               # until nothing is due, such as in CI";

pub(super) const WATCH_HELP: &str = "\
Ctrl-C ends the watching, not the run. A run that waits for somebody ends it, too, with code 7.
Exit codes are those of the outcome; 74 for a dead letter (probity dlq show RUN), 75 if the time was
over first, 130 after Ctrl-C. A workflow run exits 0 only if its
goal was reached: it completed, no criterion is unmet, and nothing that was kept out is missing.

With --host, the log is proved while it is followed, and a connection
that breaks is made again behind the last record.";

pub(super) const RESUME_HELP: &str = "\
Nothing is driven here: a worker must run, with access to the same store and workspace. To drive a
run in this process: probity run --resume RUN.

Examples:
  probity resume 0198c0de                             # look at it again; revives a dead letter
  probity resume 0198c0de --by Ada --approve          # answer a human check
  probity resume 0198c0de --by Ada --continue 2       # an escalated run: two more attempts
  probity resume 0198c0de --by Ada --wake '{\"ok\": true}' --about deploy-window";

/// `probity submit`.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// What is asked for.
    #[command(flatten)]
    pub request: RequestArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Ask the host at this URL (`probity serve`) in the place of a store, with the key in PROBITY_API_KEY.
    #[arg(long, value_name = "URL")]
    pub host: Option<String>,
    /// With --host: submitting again under the same key changes nothing. Default: one is drawn.
    #[arg(long, value_name = "KEY", requires = "host")]
    pub idempotency_key: Option<String>,
    /// The workers that may take it. Key `pool` of a request file. [default: default]
    #[arg(long, value_name = "NAME")]
    pub pool: Option<Pool>,
    /// Not before this time is over, such as 10m.
    #[arg(long, value_name = "TIME", value_parser = Millis::long)]
    pub after: Option<Millis>,
    /// Watch it to its end, as `probity watch` does.
    #[arg(long)]
    pub wait: bool,
    /// Stop waiting after this time; the run goes on.
    #[arg(long, value_name = "TIME", value_parser = Millis::long, requires = "wait")]
    pub wait_timeout: Option<Millis>,
}

/// `probity worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// A pool to take runs from. May be given more than once. [default: default]
    #[arg(long, value_name = "NAME")]
    pub pool: Vec<Pool>,
    /// Runs in hand at most.
    #[arg(long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub concurrency: u16,
    /// The worker's name, unique among those that live at a time. Default: host, process, a number.
    #[arg(long, value_name = "ID")]
    pub name: Option<WorkerId>,
    /// How long a lease lasts without a sign of life: after a crash, others wait that long. For a SQLite
    /// store, 1s to 10m; that of a NATS store stands in its URL. [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub lease: Option<Millis>,
    /// How long runs in hand may go on once the worker is drained: 1ms lets go of them at once.
    #[arg(long, value_name = "TIME", value_parser = Millis::long, default_value = "30s")]
    pub drain_timeout: Millis,
    /// Deliveries in a row without progress that make a run a dead letter.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_failures: u32,
    /// End when nothing is in hand and nothing was due for the time of --idle.
    #[arg(long)]
    pub once: bool,
    /// How long nothing must be due for --once to end.
    #[arg(long, value_name = "TIME", default_value = "2s", requires = "once")]
    pub idle: Millis,
    /// Print what happens as JSON, one object a line, named by `event`: started, leased, rested, failed,
    /// buried, lease_lost, store_trouble, swept, ended.
    #[arg(long)]
    pub json: bool,
}

/// `probity watch`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct WatchArgs {
    /// The run.
    #[arg(group = "which")]
    pub run: Option<String>,
    /// Every run of the store that has not ended, and every new one; until Ctrl-C.
    #[arg(long, group = "which")]
    pub all: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Ask the host at this URL (`probity serve`) in the place of a store, with the key in PROBITY_API_KEY.
    #[arg(long, value_name = "URL")]
    pub host: Option<String>,
    /// Stop watching after this time; the run goes on.
    #[arg(long, value_name = "TIME", value_parser = Millis::long)]
    pub timeout: Option<Millis>,
    /// Exit 0 even if nothing checked the claim.
    #[arg(long)]
    pub allow_unverified: bool,
    /// Print one JSON object at the end; with --all, records as they are stored.
    #[arg(long)]
    pub json: bool,
}

/// `probity cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The run.
    pub run: String,
    /// Who wants it. With --host, whoever the key belongs to does.
    #[arg(long, value_name = "NAME", required_unless_present = "host", conflicts_with = "host")]
    pub by: Option<String>,
    /// Why.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    /// Watch it to its end.
    #[arg(long)]
    pub wait: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Ask the host at this URL (`probity serve`) in the place of a store, with the key in PROBITY_API_KEY.
    #[arg(long, value_name = "URL")]
    pub host: Option<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity steer`.
#[derive(Debug, Args)]
pub struct SteerArgs {
    /// The run.
    pub run: String,
    /// What the delegate is to heed; - reads it from standard input. 64 KiB at most.
    pub text: String,
    /// Who says it. With --host, whoever the key belongs to does.
    #[arg(long, value_name = "NAME", required_unless_present = "host", conflicts_with = "host")]
    pub by: Option<String>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Ask the host at this URL (`probity serve`) in the place of a store, with the key in PROBITY_API_KEY.
    #[arg(long, value_name = "URL")]
    pub host: Option<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity resume`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("answer").multiple(false).requires("by"))]
pub struct ResumeArgs {
    /// The run.
    pub run: String,
    /// Who answers.
    #[arg(long, value_name = "NAME", requires = "answer")]
    pub by: Option<String>,
    /// What the answer is.
    #[command(flatten)]
    pub words: AnswerWords,
    /// Answer an escalated run as `probity run --resume` does: reject, waive, or a number of further
    /// attempts.
    #[arg(long = "answer", value_name = "ANSWER", group = "answer")]
    pub decision: Option<String>,
    /// The answer that the delegate waits for, as JSON.
    #[arg(long, value_name = "JSON", group = "answer", requires = "about")]
    pub wake: Option<String>,
    /// What the delegate waits for, as the run names it.
    #[arg(long, value_name = "KEY", requires = "wake")]
    pub about: Option<String>,
    /// Watch it to its end, as `probity watch` does.
    #[arg(long)]
    pub wait: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Exit 0 even if nothing checked the claim.
    #[arg(long, requires = "wait")]
    pub allow_unverified: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
