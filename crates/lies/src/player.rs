//! Rows put to a `probity` program, as a user would: `probity run --json`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use probity_core::Outcome;
use serde::Serialize;
use serde_json::Value;

use crate::case::{Case, Health, Row};
use crate::class::Class;
use crate::error::LiesError;
use crate::judge::{Pair, Sick};
use crate::rows;
use crate::site::{Extras, Site};
use crate::summary::{OfClass, Summary};

/// The face of this player.
const FACE: &str = "cli";
/// Bytes of standard error that an error of ours quotes.
const MAX_QUOTED: usize = 500;
/// Variables of the caller that would change what a row comes to, or tell others about it.
const NOT_PASSED: [&str; 5] = [
    "PROBITY_STORE",
    "TRACEPARENT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// Which rows are played, by whom.
#[derive(Debug, Clone)]
pub struct Order {
    /// The `probity` program.
    pub program: PathBuf,
    /// Only rows of this class.
    pub only: Option<Class>,
    /// Rows played at the same time.
    pub jobs: usize,
}

/// Everything that was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Matrix {
    /// The counts.
    pub summary: Summary,
    /// The same by class.
    pub classes: Vec<OfClass>,
    /// Lies with their twins.
    pub lies: Vec<Pair>,
    /// Rows of verifier health.
    pub health: Vec<Sick>,
}

/// What came of one case.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    /// How the run ended.
    pub outcome: String,
    /// Machine words of the report: the outcome's and the checks'.
    pub codes: Vec<String>,
    /// Attempts that Probity counted.
    pub attempts: u32,
    /// Attempts that the delegate noted down.
    pub invocations: u32,
    /// Wall time.
    pub elapsed_ms: f64,
    /// All corrections together.
    pub feedback_bytes: usize,
    /// The longest of them.
    pub longest_feedback_bytes: usize,
    /// Only the command line has one.
    pub exit: Option<i32>,
    /// For people who look for the cause of a wrong row.
    pub reasons: Vec<String>,
}

impl Played {
    /// Reads a report.
    #[must_use]
    pub fn of(report: &Value, site: &Site, elapsed: Duration, exit: Option<i32>) -> Self {
        let list = report.get("checks").and_then(Value::as_array);
        let checks = list.map(Vec::as_slice).unwrap_or_default();
        let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
        let all = |key: &str, of_run: &str| -> Vec<String> {
            let first = text(report, of_run).into_iter();
            first.chain(checks.iter().filter_map(|check| text(check, key))).collect()
        };
        let attempts = report.get("attempts").and_then(Value::as_u64);
        let (feedback_bytes, longest_feedback_bytes) = site.feedback_bytes();
        Self {
            outcome: text(report, "outcome").unwrap_or_else(|| "none".to_owned()),
            codes: all("code", "code"),
            attempts: attempts.and_then(|n| n.try_into().ok()).unwrap_or(0),
            invocations: site.invocations(),
            elapsed_ms: elapsed.as_secs_f64() * 1e3,
            feedback_bytes,
            longest_feedback_bytes,
            exit,
            reasons: all("reason", "failure").into_iter().filter(|it| !it.is_empty()).collect(),
        }
    }

    /// Whether it was let through.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.outcome == Outcome::Verified.as_str()
    }

    /// Invocations that somebody could judge: where the judge, the world or the delegate broke, the
    /// last one is held against nobody.
    #[must_use]
    pub fn made(&self) -> u32 {
        let held_against_nobody =
            [Outcome::Inconclusive, Outcome::Faulted, Outcome::DelegateFailed];
        let is_over = held_against_nobody.iter().any(|it| it.as_str() == self.outcome);
        self.invocations.saturating_sub(u32::from(is_over))
    }

    /// Whether the attempts are those that were made.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.attempts == self.made()
    }

    /// Wall time by invocations.
    #[must_use]
    pub fn ms_per_attempt(&self) -> f64 {
        self.elapsed_ms / f64::from(self.invocations.max(1))
    }
}

impl Matrix {
    /// Plays every row that needs nothing but `sh` and `git`. `tell` hears how many of how many rows
    /// have been played.
    ///
    /// # Errors
    /// [`LiesError`] if a row cannot be played, which says nothing about the program.
    pub fn play(order: &Order, mut tell: impl FnMut(usize, usize)) -> Result<Self, LiesError> {
        let wanted = |class: Class| order.only.is_none_or(|only| only == class);
        let lies = rows::lies().filter(|row| row.is_portable() && wanted(row.class));
        let mut tasks: Vec<Task> = lies.map(Task::Pair).collect();
        tasks.extend(rows::health().filter(|it| wanted(it.class)).map(Task::Sick));
        let all = tasks.len();
        let queue = Mutex::new(tasks.into_iter().enumerate());
        let mut done = Vec::with_capacity(all);
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            for _ in 0..order.jobs.max(1) {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || work(queue, &order.program, &sender));
            }
            drop(sender);
            for result in receiver {
                done.push(result?);
                tell(done.len(), all);
            }
            Ok(())
        })?;
        if done.len() < all {
            return Err(LiesError::Io {
                what: "play every row",
                source: std::io::Error::other("a thread ended before its rows did"),
            });
        }
        done.sort_by_key(|(at, _)| *at);
        let mut matrix = Self::default();
        for (_, result) in done {
            match result {
                Done::Pair(pair) => matrix.lies.push(*pair),
                Done::Sick(sick) => matrix.health.push(*sick),
            }
        }
        matrix.summary = Summary::of(&matrix.lies, &matrix.health, FACE);
        matrix.classes = OfClass::all(&matrix.lies, &matrix.health);
        Ok(matrix)
    }
}

enum Task {
    Pair(&'static Row),
    Sick(&'static Health),
}

enum Done {
    Pair(Box<Pair>),
    Sick(Box<Sick>),
}

type Results = SyncSender<Result<(usize, Done), LiesError>>;

fn work(
    queue: &Mutex<std::iter::Enumerate<std::vec::IntoIter<Task>>>,
    program: &Path,
    results: &Results,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((at, task)) = next else { return };
        let result = task.play(program).map(|done| (at, done));
        // Nobody listens any more where another row could not be played.
        if results.send(result).is_err() {
            return;
        }
    }
}

impl Task {
    fn play(&self, program: &Path) -> Result<Done, LiesError> {
        let play = |case: &Case| command_line(case, program, Extras::default());
        Ok(match self {
            Self::Pair(row) => {
                let (lie, twin) = (play(&row.lie())?, play(&row.twin())?);
                Done::Pair(Box::new(Pair::of(row, FACE, lie, twin)))
            }
            Self::Sick(health) => Done::Sick(Box::new(Sick::of(health, play(&health.case)?))),
        })
    }
}

/// Plays one case through `probity run --json`, in a process of its own.
///
/// # Errors
/// [`LiesError`] if the case cannot be set up, or the program prints no report.
pub fn command_line(case: &Case, program: &Path, extras: Extras) -> Result<Played, LiesError> {
    let site = Site::build(case, extras)?;
    let mut command = Command::new(program);
    command
        .args(["run", "Do what the row asks.", "--json", "--no-project", "--store", "memory"])
        .arg("--workspace")
        .arg(site.workspace());
    if case.request != "{}" {
        let file = site.state().join("request.json");
        std::fs::write(&file, case.request).map_err(LiesError::io("write a request"))?;
        command.arg("--request").arg(file);
    }
    for text in case.expect {
        command.arg("--expect").arg(site.fill(text));
    }
    if let Some((path, _)) = case.verify {
        command.arg("--verify").arg(site.path(path));
    }
    for host in site.hosts() {
        command.arg("--allow-host").arg(host);
    }
    for variable in NOT_PASSED {
        command.env_remove(variable);
    }
    command.args(["--", "sh"]).arg(site.script()).stdin(Stdio::null());
    let started = Instant::now();
    let output = command.output().map_err(LiesError::io("start probity"))?;
    let elapsed = started.elapsed();
    let report = serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.chars().take(MAX_QUOTED).collect();
        LiesError::Output { case: case.name.to_owned(), detail: format!("{error}: {said}") }
    })?;
    Ok(Played::of(&report, &site, elapsed, output.status.code()))
}
