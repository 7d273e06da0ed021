//! What auditing many episodes costs, beside the commands of the Python system whose episodes they
//! are.

mod generate;
mod print;
mod task;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use tempfile::TempDir;

use self::generate::Written;
use self::task::{Answer, Task};
use crate::cost::Cost;
use crate::error::BenchError;
use crate::machine::Machine;
use crate::matrix::installed;

pub(crate) use self::generate::one;

/// Audits many episodes and prints a table.
#[derive(Debug, Parser)]
#[command(name = "episodes")]
struct Args {
    /// Print one JSON object in place of the table, with every single run.
    #[arg(long)]
    json: bool,
    /// The `probity` binary; absent takes the one beside this program.
    #[arg(long, value_name = "PATH")]
    probity: Option<PathBuf>,
    /// The `coherence` program of deepsigma. Absent leaves it out.
    #[arg(long, value_name = "PATH", env = "EPISODES_COHERENCE")]
    coherence: Option<PathBuf>,
    /// Episodes that both sides audit.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// Files of this many lines show whether memory stays flat.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1000,10000,100000")]
    lines: Vec<u64>,
    /// Runs of every measurement; the one with the middle CPU time is printed.
    #[arg(long, value_name = "N", default_value_t = 5)]
    loops: usize,
    /// Where episodes are written. Absent takes the folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Episodes of the small set with one that was changed.
const FEW: u64 = 10;

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Episodes {
    machine: Machine,
    probity: String,
    peer: Option<String>,
    episodes: u64,
    bytes: u64,
    loops: usize,
    ours: Vec<Audit>,
    peers: Vec<Audit>,
    lines: Vec<Lines>,
    /// What each says of a few episodes of which one was changed after it was sealed.
    changed: Vec<Changed>,
    skipped: Vec<String>,
}

/// One command on all episodes.
#[derive(Debug, Serialize)]
struct Audit {
    what: &'static str,
    /// The run with the middle CPU time.
    cost: Cost,
    /// The CPU time of all peers' commands together by that of this one.
    ratio: Option<f64>,
    runs: Vec<Cost>,
}

/// A file of lines.
#[derive(Debug, Serialize)]
struct Lines {
    lines: u64,
    bytes: u64,
    cost: Cost,
}

/// An answer to the changed episode.
#[derive(Debug, Serialize)]
struct Changed {
    what: &'static str,
    exit: Option<i32>,
    said: String,
}

/// Measures and prints.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
    match measure(&args) {
        Ok(episodes) if args.json => print::json(&episodes),
        Ok(episodes) => print::table(&episodes),
        Err(error) => {
            eprintln!("episodes: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(args: &Args) -> Result<Episodes, BenchError> {
    let this = std::env::current_exe().map_err(BenchError::io("find this program"))?;
    let probity = args.probity.clone().unwrap_or_else(|| this.with_file_name("probity"));
    let probity = absolute(&probity)?;
    let version = installed(&probity).ok_or_else(|| BenchError::Measure {
        what: "probity",
        detail: format!("`{}` does not start; name it with --probity", probity.display()),
    })?;
    let mut skipped = Vec::new();
    let (coherence, peer) = coherence(args, &mut skipped)?;
    let machine = Machine::read();
    let (_home, written) = write(args, args.episodes, None)?;
    let ours = Task::ours(&probity);
    let peers = coherence.as_deref().map(Task::peers).unwrap_or_default();
    let mut ours = run(&ours, &written, args.loops)?;
    let peers = run(&peers, &written, args.loops)?;
    let sum: f64 = peers.iter().map(|peer| peer.cost.cpu_s()).sum();
    for audit in ours.iter_mut().filter(|_| !peers.is_empty()) {
        audit.ratio = Some(sum / audit.cost.cpu_s());
    }
    Ok(Episodes {
        machine,
        probity: version,
        peer,
        episodes: args.episodes,
        bytes: written.bytes,
        loops: args.loops,
        ours,
        peers,
        lines: lines(args, &probity)?,
        changed: changed(args, &probity, coherence.as_deref())?,
        skipped,
    })
}

/// The peer's program and its version, or a line on why it is left out.
fn coherence(
    args: &Args,
    skipped: &mut Vec<String>,
) -> Result<(Option<PathBuf>, Option<String>), BenchError> {
    let Some(program) = &args.coherence else {
        skipped.push("deepsigma: no --coherence given".to_owned());
        return Ok((None, None));
    };
    let program = absolute(program)?;
    let version = installed(&program);
    if version.is_none() {
        skipped.push(format!("deepsigma: `{}` does not start", program.display()));
    }
    Ok((version.is_some().then_some(program), version))
}

/// Programs are started in another folder. The name itself is kept: a virtual environment knows its
/// Python by it.
fn absolute(program: &Path) -> Result<PathBuf, BenchError> {
    std::path::absolute(program).map_err(BenchError::io("find a program"))
}

fn write(args: &Args, count: u64, changed: Option<u64>) -> Result<(TempDir, Written), BenchError> {
    let home = home(args)?;
    let written = generate::write(home.path(), count, changed)?;
    Ok((home, written))
}

fn home(args: &Args) -> Result<TempDir, BenchError> {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    tempfile::Builder::new()
        .prefix("episodes-")
        .tempdir_in(folder)
        .map_err(BenchError::io("make a folder"))
}

/// Every task in turn, and again: load that comes and goes hits all of them.
fn run(tasks: &[Task], written: &Written, loops: usize) -> Result<Vec<Audit>, BenchError> {
    let mut runs = vec![Vec::new(); tasks.len()];
    for _ in 0..loops.max(1) {
        for (task, runs) in tasks.iter().zip(&mut runs) {
            runs.push(task.run(written)?.accepted(task, written.count)?);
        }
    }
    let audit = |(task, runs): (&Task, Vec<Cost>)| Audit {
        what: task.what,
        cost: Cost::middle(&runs),
        ratio: None,
        runs,
    };
    Ok(tasks.iter().zip(runs).map(audit).collect())
}

fn lines(args: &Args, probity: &Path) -> Result<Vec<Lines>, BenchError> {
    let task = Task::lines(probity);
    let mut all = Vec::new();
    for &lines in &args.lines {
        // The envelope is the same for any number of episodes.
        let (_home, few) = write(args, 1, None)?;
        let bytes = generate::lines(&few.lines, lines)?;
        let many = Written { count: lines, bytes, ..few };
        let cost = task.run(&many)?.accepted(&task, lines)?;
        all.push(Lines { lines, bytes, cost });
    }
    Ok(all)
}

fn changed(
    args: &Args,
    probity: &Path,
    coherence: Option<&Path>,
) -> Result<Vec<Changed>, BenchError> {
    let (_home, written) = write(args, FEW, Some(FEW / 2))?;
    let mut all = Vec::new();
    for task in Task::ours(probity) {
        let answer = task.run(&written)?;
        // A program that does not look is not measured.
        answer.rejected_one(&task, FEW)?;
        all.push(answer.told(task.what));
    }
    for task in coherence.map(Task::peers).unwrap_or_default() {
        all.push(task.run(&written)?.told(task.what));
    }
    Ok(all)
}

impl Answer {
    fn told(self, what: &'static str) -> Changed {
        let last = self.said.lines().last().unwrap_or_default().to_owned();
        Changed { what, exit: self.exit, said: last }
    }
}
