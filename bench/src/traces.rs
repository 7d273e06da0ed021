//! What auditing a reasoning trace costs, beside the verifier of the Python system whose traces they
//! are, and beside a program that only hashes and parses the same bytes.

mod floor;
mod print;
mod write;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use serde::Serialize;

use crate::cost::{self, Cost, Ended};
use crate::error::BenchError;
use crate::machine::Machine;
use crate::matrix::installed;
use write::Size;

/// Audits run directories and prints a table.
#[derive(Debug, Parser)]
#[command(name = "traces")]
struct Args {
    /// Print one JSON object in place of the table, with every single run.
    #[arg(long)]
    json: bool,
    /// The `probity` binary; absent takes the one beside this program.
    #[arg(long, value_name = "PATH")]
    probity: Option<PathBuf>,
    /// The `bijux-canon-reason` program. Absent leaves it out.
    #[arg(long, value_name = "PATH", env = "TRACES_PYTHON_VERIFIER")]
    python: Option<PathBuf>,
    /// Pairs of steps of the runs that are written; each has nine events, and six more.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "11,111,1111,11111")]
    pairs: Vec<u64>,
    /// Runs that the Python system wrote itself, to be measured as well.
    #[arg(long, value_name = "DIR")]
    run: Vec<PathBuf>,
    /// Also a trace of at least so many megabytes, without the Python verifier: once with long
    /// evidence, once with short.
    #[arg(long, value_name = "MB")]
    big: Option<u64>,
    /// Runs of every measurement; the one with the middle CPU time is printed.
    #[arg(long, value_name = "N", default_value_t = 5)]
    loops: usize,
    /// Where runs are written. Absent takes the folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Hash and parse the files of a run, and do nothing else: what the others are held against.
    #[arg(long, value_name = "DIR", hide = true)]
    floor: Option<PathBuf>,
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Traces {
    machine: Machine,
    probity: String,
    peer: Option<String>,
    loops: usize,
    rows: Vec<Row>,
    skipped: Vec<String>,
}

/// One run directory.
#[derive(Debug, Serialize)]
struct Row {
    what: String,
    size: Size,
    ours: Audit,
    ours_on_one_thread: Audit,
    floor: Audit,
    python: Option<Audit>,
}

/// One command on it.
#[derive(Debug, Clone, Serialize)]
struct Audit {
    /// The run with the middle CPU time.
    cost: Cost,
    runs: Vec<Cost>,
}

/// The programs that are measured.
struct Programs {
    probity: PathBuf,
    python: Option<PathBuf>,
    this: PathBuf,
}

/// Measures and prints.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.floor {
        Some(folder) => floor::walk(folder).map(|sum| println!("{sum}")),
        None => measure(&args).map(|traces| match args.json {
            true => print::json(&traces),
            false => print::table(&traces),
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("traces: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<Traces, BenchError> {
    let this = std::env::current_exe().map_err(BenchError::io("find this program"))?;
    let probity = args.probity.clone().unwrap_or_else(|| this.with_file_name("probity"));
    let probity = std::path::absolute(probity).map_err(BenchError::io("find a program"))?;
    let version = installed(&probity).ok_or_else(|| BenchError::Measure {
        what: "probity",
        detail: format!("`{}` does not start; name it with --probity", probity.display()),
    })?;
    let mut skipped = Vec::new();
    if args.python.is_none() {
        skipped.push("bijux-canon-reason: no --python given".to_owned());
    }
    let python = args.python.as_deref().map(std::path::absolute).transpose();
    let python = python.map_err(BenchError::io("find a program"))?;
    let programs = Programs { probity, python, this };
    let machine = Machine::read();
    let mut rows = Vec::new();
    for &pairs in &args.pairs {
        let home = home(args)?;
        let run = home.path().join("run");
        write::pairs(&run, pairs)?;
        rows.push(programs.row(&format!("{pairs} pairs"), &run, home.path(), args.loops, true)?);
    }
    for run in &args.run {
        let home = home(args)?;
        let run = std::path::absolute(run).map_err(BenchError::io("find a run"))?;
        let name = write::constraints(&run)?;
        rows.push(programs.row(&name, &run, home.path(), args.loops, true)?);
    }
    for text_bytes in args.big.iter().flat_map(|_| [64 << 10, 75]) {
        let home = home(args)?;
        let run = home.path().join("run");
        write::big(&run, args.big.unwrap_or_default(), text_bytes)?;
        let name = format!("evidence of {text_bytes} bytes");
        rows.push(programs.row(&name, &run, home.path(), args.loops, false)?);
    }
    let peer = programs.python.as_ref().and_then(|path| path.file_name());
    let peer = peer.map(|name| name.to_string_lossy().into_owned());
    Ok(Traces { machine, probity: version, peer, loops: args.loops, rows, skipped })
}

fn home(args: &Args) -> Result<tempfile::TempDir, BenchError> {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    tempfile::Builder::new()
        .prefix("traces-")
        .tempdir_in(folder)
        .map_err(BenchError::io("make a folder"))
}

impl Programs {
    /// Every command in turn, and again: load that comes and goes hits all of them.
    fn row(
        &self,
        what: &str,
        run: &Path,
        home: &Path,
        loops: usize,
        is_peer_measured: bool,
    ) -> Result<Row, BenchError> {
        let (mut ours, mut single, mut floor, mut python) = (vec![], vec![], vec![], vec![]);
        for _ in 0..loops.max(1) {
            ours.push(accepted("probity", cost::run(&mut self.ours(run, "2"), home)?, 0)?);
            single.push(accepted("probity", cost::run(&mut self.ours(run, "1"), home)?, 0)?);
            floor.push(accepted("the floor", cost::run(&mut self.floor(run), home)?, 0)?);
            if let Some(program) = self.python.as_deref().filter(|_| is_peer_measured) {
                let ended = cost::run(&mut verifier(program, run), home)?;
                python.push(accepted("bijux-canon-reason", ended, 0)?);
                // It leaves its report in the run, where ours would have to tell it.
                let left = run.join("verify.verify.json");
                std::fs::remove_file(left).map_err(BenchError::io("remove its report"))?;
            }
        }
        Ok(Row {
            what: what.to_owned(),
            size: Size::of(run)?,
            ours: Audit::of(ours),
            ours_on_one_thread: Audit::of(single),
            floor: Audit::of(floor),
            python: (!python.is_empty()).then(|| Audit::of(python)),
        })
    }

    fn ours(&self, run: &Path, threads: &str) -> Command {
        let mut command = Command::new(&self.probity);
        command.arg("audit").arg(run).args(["--quiet", "--threads", threads]);
        command
    }

    fn floor(&self, run: &Path) -> Command {
        let mut command = Command::new(&self.this);
        command.arg("--floor").arg(run);
        command
    }
}

fn verifier(program: &Path, run: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("verify").arg("--fail-on-verify");
    command.arg("--trace").arg(run.join("trace.jsonl"));
    command.arg("--plan").arg(run.join("plan.json"));
    command
}

/// A program that did not accept the run did other work than is compared.
fn accepted(what: &'static str, ended: Ended, exit: i32) -> Result<Cost, BenchError> {
    match ended.exit == Some(exit) {
        true => Ok(ended.cost),
        false => Err(BenchError::Measure {
            what,
            detail: format!("ended with {:?}: {}", ended.exit, ended.said),
        }),
    }
}

impl Audit {
    fn of(runs: Vec<Cost>) -> Self {
        Self { cost: Cost::middle(&runs), runs }
    }
}
