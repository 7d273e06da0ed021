//! What a typed agent that verifies its output costs with a model that answers at once, beside retry
//! loops of Python libraries on the same machine in the same run.

mod engine;
mod print;
mod turns;
mod typed;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use probity::location::StoreUrl;
use probity::store::Store;
use serde::Serialize;
use tempfile::TempDir;

use crate::error::BenchError;
use crate::machine::{self, Machine};
use crate::peer::{self, Peer, Peers, Work};
use crate::program;
use crate::stopwatch::us;

/// Measures and prints a table.
#[derive(Debug, Parser)]
#[command(name = "agents")]
struct Args {
    /// Print one JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// A Python with the peers in it: instructor, pydantic-ai-slim, openai-agents. Absent leaves them
    /// out.
    #[arg(long, value_name = "PATH", env = "AGENTS_PYTHON")]
    python: Option<PathBuf>,
    /// Loops of every measurement; the median is printed.
    #[arg(long, value_name = "N", default_value_t = 15)]
    loops: usize,
    /// Turns of the long run, each of which calls a tool.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    turns: u32,
    /// Where durable runs are kept: what `fsync` costs there is part of the figure. Absent takes the
    /// folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Attempts of the long loop: nine rejected, the tenth accepted.
const ATTEMPTS: u32 = 10;
/// Rounds before those that count.
const WARM_UP: usize = 3;
/// How much of the fastest peer's time an attempt in memory may take.
const BAR: f64 = 0.1;
/// The stores, as the results name them.
const STORES: [&str; 2] = ["memory", "sqlite, synchronous=FULL"];

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Figures {
    machine: Machine,
    loops: usize,
    attempts: Vec<Attempt>,
    turns: Vec<turns::Turns>,
    fsync_ms: f64,
    /// Of this process, once all attempts were made and before the long runs.
    peak_rss_bytes: u64,
    peers: Vec<Peer>,
    skipped: Vec<String>,
}

/// What an attempt takes.
#[derive(Debug, Serialize)]
struct Attempt {
    what: &'static str,
    store: &'static str,
    /// A run of ten attempts, by ten.
    per_attempt_us: f64,
    /// A run of one attempt, whole.
    one_shot_us: f64,
    /// The difference of the two runs by the nine attempts that one has more.
    further_attempt_us: f64,
    /// `per_attempt_us` by that of the fastest peer.
    of_fastest_peer: Option<f64>,
}

/// Measures and prints.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
    match program::block_on("agents", measure(&args)) {
        Ok(figures) if args.json => print::json(&figures),
        Ok(figures) => print::table(&figures),
        Err(code) => return code,
    }
    ExitCode::SUCCESS
}

async fn measure(args: &Args) -> Result<Figures, BenchError> {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let mut attempts = Vec::new();
    for store in STORES {
        let opened = Opened::new(store, &folder)?;
        let long = typed::run(args.loops, ATTEMPTS, &opened.store).await?;
        let short = typed::run(args.loops, 1, &opened.store).await?;
        attempts.push(Attempt::new("typed agent", store, long, short));
    }
    for store in STORES {
        let opened = Opened::new(store, &folder)?;
        let long = engine::run(args.loops, ATTEMPTS, &opened.store).await?;
        let short = engine::run(args.loops, 1, &opened.store).await?;
        attempts.push(Attempt::new("engine alone", store, long, short));
    }
    let peak_rss_bytes = machine::own_peak_rss_bytes();
    let mut long_runs = Vec::new();
    for store in STORES {
        let opened = Opened::new(store, &folder)?;
        long_runs.push(turns::measure(args.loops, args.turns, store, &opened.store).await?);
    }
    let Peers { measured: peers, skipped } =
        peer::measure(args.python.as_deref(), Work::Typed, ATTEMPTS, args.loops);
    let fastest = peers.iter().map(|peer| peer.per_attempt_ms * 1e3).min_by(f64::total_cmp);
    for attempt in &mut attempts {
        attempt.of_fastest_peer = fastest.map(|fastest| attempt.per_attempt_us / fastest);
    }
    Ok(Figures {
        machine: Machine::read(),
        loops: args.loops,
        attempts,
        turns: long_runs,
        fsync_ms: machine::fsync_ms(&folder)?,
        peak_rss_bytes,
        peers,
        skipped,
    })
}

/// A store, and the folder that it needs.
struct Opened {
    store: Arc<dyn Store>,
    _home: TempDir,
}

impl Opened {
    fn new(store: &'static str, folder: &Path) -> Result<Self, BenchError> {
        let home = tempfile::tempdir_in(folder).map_err(BenchError::io("make a folder"))?;
        let url = match store {
            "memory" => StoreUrl::Memory,
            _ => StoreUrl::Sqlite(home.path().join("runs.db")),
        };
        let store = url
            .open()
            .map_err(|error| BenchError::Measure { what: "a store", detail: error.to_string() })?;
        Ok(Self { store, _home: home })
    }
}

impl Attempt {
    fn new(what: &'static str, store: &'static str, long: Duration, short: Duration) -> Self {
        Self {
            what,
            store,
            per_attempt_us: us(long) / f64::from(ATTEMPTS),
            one_shot_us: us(short),
            further_attempt_us: us(long.saturating_sub(short)) / f64::from(ATTEMPTS - 1),
            of_fastest_peer: None,
        }
    }
}
