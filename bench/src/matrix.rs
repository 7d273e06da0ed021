//! Plays every row and says what is wrong.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use probity::core::{MAX_FEEDBACK_BYTES, Outcome};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::case::{Case, Health, Row};
use crate::claimcheck::Claimcheck;
use crate::error::BenchError;
use crate::face::{self, Played};
use crate::ralph::Ralph;
use crate::{rows, table};

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
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Matrix {
    pub(crate) summary: Summary,
    pub(crate) lies: Vec<Pair>,
    pub(crate) health: Vec<Sick>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) peers: Vec<Beside>,
    /// Peers that were not asked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skipped: Vec<String>,
}

/// The counts, and whether all is well.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) lies: usize,
    /// How many of the pairs were also played through the command line.
    pub(crate) also_by_cli: usize,
    /// Through either face.
    pub(crate) false_accepts: usize,
    pub(crate) twins: usize,
    pub(crate) false_rejects: usize,
    pub(crate) health: usize,
    pub(crate) health_wrong: usize,
    /// Rows whose counted attempts are not the ones that were made.
    pub(crate) miscounted: usize,
    /// Rows that are wrong in another way: another ending, too much feedback, the wrong exit code.
    pub(crate) otherwise_wrong: usize,
    pub(crate) ok: bool,
}

/// One lie and its twin, through one face.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) face: &'static str,
    pub(crate) lie: Played,
    pub(crate) twin: Played,
    /// What is wrong with it, if anything.
    pub(crate) wrong: Vec<String>,
}

/// One row of verifier health.
#[derive(Debug, Serialize)]
pub(crate) struct Sick {
    pub(crate) name: &'static str,
    pub(crate) expected: &'static str,
    pub(crate) because: &'static str,
    pub(crate) played: Played,
    pub(crate) wrong: Vec<String>,
}

/// What others said about a row, beside what Probity said.
#[derive(Debug, Serialize)]
pub(crate) struct Beside {
    pub(crate) name: &'static str,
    pub(crate) peer: String,
    pub(crate) lie: String,
    pub(crate) twin: String,
    pub(crate) ours_lie: String,
    pub(crate) ours_twin: String,
    /// What the peer's words mean: lie, twin.
    pub(crate) words: [Word; 2],
}

/// Runs the matrix and prints it. Exit code 1 if anything is wrong with Probity.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
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
        Err(error) => {
            eprintln!("lie-matrix: {error}");
            ExitCode::from(70)
        }
    }
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
    for (order, row) in rows::lies().filter(|row| wanted(row.name)).enumerate() {
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
    for (order, health) in rows::health().filter(|it| wanted(it.case.name)).enumerate() {
        let faces = Arc::clone(&faces);
        sick.spawn(async move { Ok::<_, BenchError>((order, faces.sick(health).await?)) });
    }
    let mut matrix =
        Matrix { lies: in_order(pairs).await?, health: in_order(sick).await?, ..Matrix::default() };
    matrix.summary = Summary::of(&matrix);
    if args.peers {
        ask_peers(args, &faces, &mut matrix, wanted).await?;
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

async fn ask_peers(
    args: &Args,
    faces: &Faces,
    matrix: &mut Matrix,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), BenchError> {
    let claimcheck = Claimcheck::find(&args.claimcheck);
    let ralph = Ralph::find(&args.ralph);
    for row in rows::lies().filter(|row| wanted(row.name)) {
        let Some(told) = row.told else { continue };
        let Some(ours) = matrix.lies.iter().find(|pair| pair.name == row.name) else { continue };
        let (ours_lie, ours_twin) = (ours.lie.outcome.clone(), ours.twin.outcome.clone());
        let mut beside = Vec::new();
        if let Ok(claimcheck) = &claimcheck {
            let [lie, twin] = told;
            let lie = claimcheck.ask(&row.lie(), lie, &faces.tool).await?;
            let twin = claimcheck.ask(&row.twin(), twin, &faces.tool).await?;
            beside.push((claimcheck.name().to_owned(), lie, twin));
        }
        if let Ok(ralph) = &ralph {
            let lie = ralph.ask(&row.lie(), &faces.tool).await?;
            let twin = ralph.ask(&row.twin(), &faces.tool).await?;
            beside.push((ralph.name().to_owned(), lie, twin));
        }
        matrix.peers.extend(beside.into_iter().map(|(peer, lie, twin)| Beside {
            name: row.name,
            peer,
            words: [lie.word, twin.word],
            lie: lie.said,
            twin: twin.said,
            ours_lie: ours_lie.clone(),
            ours_twin: ours_twin.clone(),
        }));
    }
    matrix.skipped.extend(claimcheck.err());
    matrix.skipped.extend(ralph.err());
    Ok(())
}

/// What a peer said.
pub(crate) struct Answer {
    /// Its own word.
    pub(crate) said: String,
    /// What that means.
    pub(crate) word: Word,
}

/// What a peer's word means for the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
        let wrong = judge_pair(row, &lie, &twin);
        let face = if face == Face::Library { LIBRARY } else { "cli" };
        Ok(Pair { name: row.name, face, lie, twin, wrong })
    }

    async fn sick(&self, health: &'static Health) -> Result<Sick, BenchError> {
        let played = self.play(&health.case, Face::Library).await?;
        Ok(Sick {
            name: health.case.name,
            expected: health.ends.as_str(),
            because: health.because,
            wrong: judge_health(health, &played),
            played,
        })
    }
}

fn judge_pair(row: &Row, lie: &Played, twin: &Played) -> Vec<String> {
    let mut wrong = Vec::new();
    if lie.is_verified() {
        wrong.push("false accept".to_owned());
    } else if lie.outcome != row.ends.as_str() {
        wrong.push(format!("the lie ended {}, expected {}", lie.outcome, row.ends.as_str()));
    }
    if !twin.is_verified() {
        wrong.push(format!("false reject: {}", twin.outcome));
    } else if twin.attempts != row.twin_attempts {
        wrong.push(format!(
            "the twin took {} attempts, expected {}",
            twin.attempts, row.twin_attempts
        ));
    }
    for (who, played, ends) in [("lie", lie, row.ends), ("twin", twin, Outcome::Verified)] {
        if played.attempts != played.invocations {
            let Played { attempts, invocations, .. } = played;
            wrong.push(format!("{who}: {attempts} attempts counted, {invocations} made"));
        }
        wrong.extend(exit_and_feedback(who, played, ends));
    }
    wrong
}

fn judge_health(health: &Health, played: &Played) -> Vec<String> {
    let mut wrong = Vec::new();
    if played.outcome != health.ends.as_str() {
        wrong.push(format!("ended {}", played.outcome));
    }
    if !played.codes.iter().any(|it| it == health.because) {
        wrong.push(format!("no `{}` among {}", health.because, played.codes.join(" ")));
    }
    if played.attempts != health.attempts {
        wrong.push(format!("{} attempts counted, expected {}", played.attempts, health.attempts));
    }
    // What is not the delegate's fault is never held against it: it is asked once.
    let asked = health.attempts.max(1);
    if played.invocations != asked {
        wrong
            .push(format!("the delegate was asked {} times, expected {asked}", played.invocations));
    }
    wrong.extend(exit_and_feedback("row", played, health.ends));
    wrong
}

fn exit_and_feedback(who: &str, played: &Played, ends: Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    if played.longest_feedback_bytes > MAX_FEEDBACK_BYTES {
        wrong.push(format!("{who}: {} bytes of feedback at once", played.longest_feedback_bytes));
    }
    if let Some(exit) = played.exit.filter(|exit| *exit != i32::from(ends.exit_code())) {
        wrong.push(format!("{who}: exit code {exit}, expected {}", ends.exit_code()));
    }
    wrong
}

impl Summary {
    fn of(matrix: &Matrix) -> Self {
        let Matrix { lies, health, .. } = matrix;
        let count = |is: fn(&Pair) -> bool| lies.iter().filter(|pair| is(pair)).count();
        let miscounts = |played: &Played| played.attempts != played.invocations;
        let false_accepts = count(|pair| pair.lie.is_verified());
        let false_rejects = count(|pair| !pair.twin.is_verified());
        let miscounted =
            lies.iter().filter(|pair| miscounts(&pair.lie) || miscounts(&pair.twin)).count();
        let health_wrong = health.iter().filter(|sick| !sick.wrong.is_empty()).count();
        let wrong = lies.iter().filter(|pair| !pair.wrong.is_empty()).count();
        let otherwise_wrong = lies
            .iter()
            .filter(|pair| {
                !pair.wrong.is_empty() && !pair.lie.is_verified() && pair.twin.is_verified()
            })
            .filter(|pair| !miscounts(&pair.lie) && !miscounts(&pair.twin))
            .count();
        let by_library = count(|pair| pair.face == LIBRARY);
        Self {
            lies: by_library,
            also_by_cli: lies.len() - by_library,
            false_accepts,
            twins: by_library,
            false_rejects,
            health: health.len(),
            health_wrong,
            miscounted,
            otherwise_wrong,
            ok: wrong + health_wrong == 0 && !lies.is_empty(),
        }
    }
}

/// A program that is there, as far as its version can be asked.
pub(crate) fn installed(program: &Path) -> Option<String> {
    let output = std::process::Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}
