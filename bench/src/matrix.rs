//! Plays every row and says what is wrong.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use probity_lies::{Case, Health, OfClass, Pair, Played, Row, Sick, Summary};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::beside::{self, Beside, Where};
use crate::error::BenchError;
use crate::face;
use crate::{record, table};

/// Scripted delegates that lie, each with an honest twin, against Probity.
#[derive(Debug, Parser)]
#[command(name = "lie-matrix")]
pub struct Args {
    /// Print one JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// Play only rows whose name holds this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Rows played at the same time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// The `probity` binary for the rows that also go through the command line; absent takes the
    /// same code inside this program.
    #[arg(long, value_name = "PATH")]
    probity: Option<PathBuf>,
    /// Also ask other tools about the rows that they can be asked about.
    #[arg(long)]
    peers: bool,
    /// The `claimcheck` program of claimcheck-receipts.
    #[arg(long, value_name = "PATH", env = "LIE_MATRIX_CLAIMCHECK", default_value = "claimcheck")]
    claimcheck: PathBuf,
    /// The `ralph` program of ralph-cli.
    #[arg(long, value_name = "PATH", env = "LIE_MATRIX_RALPH", default_value = "ralph")]
    ralph: PathBuf,
    /// A Python with the libraries whose retry loops are asked.
    #[arg(long, value_name = "PATH", env = "LIE_MATRIX_PYTHON")]
    python: Option<PathBuf>,
    /// Write what everyone said to this file, one line for each row.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print the table of a record in Markdown, and play nothing.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Matrix {
    pub(crate) summary: Summary,
    pub(crate) classes: Vec<OfClass>,
    pub(crate) lies: Vec<Pair>,
    pub(crate) health: Vec<Sick>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) peers: Vec<Beside>,
    /// Peers that were not asked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skipped: Vec<String>,
}

/// Runs the matrix and prints it. Exit code 1 if anything is wrong with Probity.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(record) = &args.table {
        return match record::table(record) {
            Ok(table) => {
                print!("{table}");
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        };
    }
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(BenchError::io("start the runtime"))
        .and_then(|runtime| runtime.block_on(run(&args)));
    match result {
        Ok(matrix) => {
            if args.json {
                table::print_json(&matrix);
            } else {
                table::print(&matrix);
            }
            if matrix.summary.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &BenchError) -> ExitCode {
    eprintln!("lie-matrix: {error}");
    ExitCode::from(70)
}

async fn run(args: &Args) -> Result<Matrix, BenchError> {
    let tool = std::env::current_exe().map_err(BenchError::io("find this program"))?;
    let links = tempfile::tempdir().map_err(BenchError::io("make a folder"))?;
    let probity = match &args.probity {
        Some(path) => path.clone(),
        None => {
            let link = links.path().join("probity");
            std::os::unix::fs::symlink(&tool, &link)
                .map_err(BenchError::io("link this program"))?;
            link
        }
    };
    let wanted = |name: &str| args.only.as_deref().is_none_or(|text| name.contains(text));
    let faces = Arc::new(Faces { tool, probity, turns: Semaphore::new(args.jobs.max(1)) });
    let mut pairs = JoinSet::new();
    for (order, row) in probity_lies::lies().filter(|row| wanted(row.name)).enumerate() {
        for face in [Face::Library, Face::CommandLine] {
            if face == Face::Library || row.cli {
                let faces = Arc::clone(&faces);
                pairs.spawn(
                    async move { Ok::<_, BenchError>((order, faces.pair(row, face).await?)) },
                );
            }
        }
    }
    let mut sick = JoinSet::new();
    for (order, health) in probity_lies::health().filter(|it| wanted(it.case.name)).enumerate() {
        let faces = Arc::clone(&faces);
        sick.spawn(async move { Ok::<_, BenchError>((order, faces.sick(health).await?)) });
    }
    let mut matrix =
        Matrix { lies: in_order(pairs).await?, health: in_order(sick).await?, ..Matrix::default() };
    matrix.summary = Summary::of(&matrix.lies, &matrix.health, LIBRARY);
    matrix.classes = OfClass::all(&matrix.lies, &matrix.health);
    if args.peers {
        let at = Where {
            claimcheck: &args.claimcheck,
            ralph: &args.ralph,
            python: args.python.as_deref(),
            tool: faces.tool.clone(),
            jobs: args.jobs,
        };
        (matrix.peers, matrix.skipped) = beside::ask(&at, &matrix.lies).await?;
    }
    if let Some(path) = &args.record {
        record::write(&matrix, path)?;
    }
    Ok(matrix)
}

async fn in_order<T: 'static>(
    mut set: JoinSet<Result<(usize, T), BenchError>>,
) -> Result<Vec<T>, BenchError> {
    let mut all = Vec::new();
    while let Some(joined) = set.join_next().await {
        let done = joined
            .map_err(|error| BenchError::Measure { what: "a row", detail: error.to_string() })?;
        all.push(done?);
    }
    all.sort_by_key(|(order, _)| *order);
    Ok(all.into_iter().map(|(_, it)| it).collect())
}

/// What a peer said.
pub(crate) struct Answer {
    /// Its own word.
    pub(crate) said: String,
    /// What that means.
    pub(crate) word: Word,
}

/// What a peer's word means for the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// It is done.
    Done,
    /// It is not, or not shown to be.
    NotDone,
    /// The peer says nothing about it.
    Nothing,
}

const LIBRARY: &str = "library";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Face {
    Library,
    CommandLine,
}

struct Faces {
    tool: PathBuf,
    probity: PathBuf,
    turns: Semaphore,
}

impl Faces {
    async fn play(&self, case: &Case, face: Face) -> Result<Played, BenchError> {
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        match face {
            Face::Library => face::library(case, &self.tool).await,
            Face::CommandLine => face::command_line(case, &self.probity, &self.tool).await,
        }
    }

    async fn pair(&self, row: &'static Row, face: Face) -> Result<Pair, BenchError> {
        let lie = self.play(&row.lie(), face).await?;
        let twin = self.play(&row.twin(), face).await?;
        let face = if face == Face::Library { LIBRARY } else { "cli" };
        Ok(Pair::of(row, face, lie, twin))
    }

    async fn sick(&self, health: &'static Health) -> Result<Sick, BenchError> {
        Ok(Sick::of(health, self.play(&health.case, Face::Library).await?))
    }
}

/// A program that is there, as far as its version can be asked.
pub(crate) fn installed(program: &Path) -> Option<String> {
    let output = std::process::Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}
