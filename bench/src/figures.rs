//! What an attempt, a script and a start cost, beside other tools on the same machine in the same
//! run.

mod attempt;
mod print;
mod script;
mod start;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use crate::error::BenchError;
use crate::machine::{self, Machine};
use crate::peer::{self, Peer, Peers, Work};
use crate::program;

pub(crate) use script::SOURCE as SCRIPT;

/// Measures and prints a table.
#[derive(Debug, Parser)]
#[command(name = "figures")]
struct Args {
    /// Print one JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// The `probity` binary; absent takes the one beside this program.
    #[arg(long, value_name = "PATH")]
    probity: Option<PathBuf>,
    /// A Python with the peers in it: instructor, pydantic-ai-slim, openai-agents. Absent leaves them
    /// out.
    #[arg(long, value_name = "PATH", env = "FIGURES_PYTHON")]
    python: Option<PathBuf>,
    /// Loops of every measurement; the median is printed.
    #[arg(long, value_name = "N", default_value_t = 15)]
    loops: usize,
    /// Where durable runs are kept: what `fsync` costs there is part of the figure. Absent takes the
    /// folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Attempts of the long loop: nine rejected, the tenth accepted.
const ATTEMPTS: u32 = 10;
/// Files of the workspace, all in the snapshots of before and after.
const FILES: u32 = 10;

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Figures {
    machine: Machine,
    attempts: Vec<attempt::Attempt>,
    fsync_ms: f64,
    script: script::Scripts,
    start: start::Start,
    peers: Vec<Peer>,
    skipped: Vec<String>,
}

/// Measures and prints.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
    match program::block_on("figures", measure(&args)) {
        Ok(figures) if args.json => print::json(&figures),
        Ok(figures) => print::table(&figures, args.loops),
        Err(code) => return code,
    }
    ExitCode::SUCCESS
}

async fn measure(args: &Args) -> Result<Figures, BenchError> {
    let this = std::env::current_exe().map_err(BenchError::io("find this program"))?;
    let probity = args.probity.clone().unwrap_or_else(|| this.with_file_name("probity"));
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let attempts = attempt::measure(args.loops, &folder, &this).await?;
    let Peers { measured: peers, skipped } =
        peer::measure(args.python.as_deref(), Work::File, ATTEMPTS, args.loops);
    Ok(Figures {
        machine: Machine::read(),
        attempts,
        fsync_ms: machine::fsync_ms(&folder)?,
        script: script::measure(&this).await?,
        start: start::measure(&probity, &folder, args.loops)?,
        peers,
        skipped,
    })
}
