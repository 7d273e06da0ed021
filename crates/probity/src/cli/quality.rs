//! `probity quality`: how much would the checks miss?

mod text;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use probity_core::Claim;
use probity_quality::{State, TreeError};
use serde::Serialize;

use super::args::QualityArgs;
use super::log::{open_existing, resolve_run};
use super::present::{self, Style};
use super::run::{cancel_on_signal, checking_request, with_project};
use super::source::refuse_irregular;
use super::verify::read_claim;
use super::{CliError, EXIT_INTERRUPTED};
use crate::freshness::changed_by;
use crate::location::Programs;
use crate::quality::{Options, Quality, QualityError, Witness, quality as tried};
use crate::{Recorded, Request};

/// The claim, where nobody makes another.
const DONE: &str = "Done.";
/// A check misses more than was asked for.
const EXIT_MISSES: u8 = 1;
/// Nothing was scored.
const EXIT_UNSCORED: u8 = 4;
/// How often the live line moves.
const TICK: Duration = Duration::from_millis(120);

/// Tries the checks on copies of the workspace, each with one thing changed.
///
/// # Errors
/// [`CliError`] if the checks cannot be set up, or the copies not be made.
pub(super) async fn quality(args: &QualityArgs, programs: &Programs) -> Result<u8, CliError> {
    if args.checking.allow_unverified {
        let why = "--allow-unverified is about a verdict, and this command gives none";
        return Err(CliError::Usage(why.to_owned()));
    }
    let cancel = cancel_on_signal();
    let (request, changed) = asked(args).await?;
    let options = Options {
        seed: args.seed,
        max_mutants: usize::try_from(args.max_mutants).unwrap_or(usize::MAX),
        jobs: usize::try_from(args.jobs).unwrap_or(1),
        timeout: args.timeout,
        only: args.check.clone(),
        files: args.files.clone(),
        changed,
        claim: match &args.result {
            Some(path) => read_claim(path)?,
            None => Claim::text(DONE),
        },
        now_s: seconds(),
    };
    let face = Face::new(args.checking.json);
    let quality = match tried(&request, &options, programs, &face, &cancel).await {
        Err(QualityError::Tree(TreeError::Cancelled)) => {
            face.finish();
            present::note("interrupted; the copies are gone, and nothing is scored");
            return Ok(EXIT_INTERRUPTED);
        }
        tried => tried?,
    };
    face.finish();
    let printed = Printed::of(&quality, args.max_missed);
    match args.checking.json {
        true => present::json(&printed)?,
        false => {
            quality.warnings.iter().for_each(|warning| present::warn(warning));
            present::print(printed.text(Style::of_stdout()).as_bytes())?;
        }
    }
    Ok(printed.exit_code())
}

/// The request, with the project's part, and the paths that its run changed.
async fn asked(args: &QualityArgs) -> Result<(Request, Vec<String>), CliError> {
    let Some(run) = &args.run else {
        let mut request = with_project(checking_request(&args.checking)?, &args.checking)?;
        for path in &mut request.verify_files {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
            refuse_irregular(path)?;
        }
        return Ok((request, Vec::new()));
    };
    let store = open_existing(&args.store).await?;
    let run = resolve_run(store.as_ref(), run).await?;
    let recorded = Recorded::read(store.as_ref(), &run).await?;
    let changed = changed_by(store.as_ref(), &recorded).await?;
    let mut request = recorded.request;
    if let Some(workspace) = &args.checking.workspace {
        request.workspace =
            Some(std::path::absolute(workspace).unwrap_or_else(|_| workspace.clone()));
    }
    request.ignore.extend(args.checking.ignore.iter().cloned());
    Ok((request, changed))
}

/// What is printed, and what the process comes to.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    quality: &'a Quality,
    /// Checks that were scored.
    scored: usize,
    /// The bound that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_missed_percent: Option<u32>,
    /// Checks that miss more.
    over: Vec<&'a str>,
    /// Checks that could have been tried and were not scored.
    unscored: Vec<&'a str>,
}

impl<'a> Printed<'a> {
    fn of(quality: &'a Quality, max_missed_percent: Option<u32>) -> Self {
        let checks = || quality.checks.iter();
        let is_over = |percent: u32| {
            checks()
                .filter(move |check| check.misses_more_than(percent) == Some(true))
                .map(|check| check.id.as_str())
                .collect()
        };
        let is_scored = |state: State| state == State::Scored;
        let unscored = checks().filter(|it| !is_scored(it.state) && it.state != State::NotTried);
        Self {
            quality,
            scored: checks().filter(|check| is_scored(check.state)).count(),
            max_missed_percent,
            over: max_missed_percent.map(is_over).unwrap_or_default(),
            unscored: unscored.map(|check| check.id.as_str()).collect(),
        }
    }

    fn exit_code(&self) -> u8 {
        let is_strict = self.max_missed_percent.is_some();
        if !self.over.is_empty() {
            EXIT_MISSES
        } else if self.scored == 0 || (is_strict && !self.unscored.is_empty()) {
            EXIT_UNSCORED
        } else {
            0
        }
    }
}

/// One live line on a terminal, one line for each check elsewhere.
enum Face {
    Quiet,
    Lines(Mutex<String>),
    Live(ProgressBar),
}

impl Face {
    fn new(json: bool) -> Self {
        if !io::stderr().is_terminal() {
            return if json { Self::Quiet } else { Self::Lines(Mutex::default()) };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Self::Live(bar)
    }

    fn finish(&self) {
        if let Self::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Witness for Face {
    fn trying(&self, check: &str, number: usize, of: usize, what: &str) {
        let what = present::line(what);
        match self {
            Self::Quiet => {}
            Self::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if *last != check {
                    let _ = writeln!(io::stderr(), "{check}: tried as things are, then changed");
                    check.clone_into(&mut last);
                }
            }
            Self::Live(bar) if of == 0 => bar.set_message(format!("{check}: {what}")),
            Self::Live(bar) => bar.set_message(format!("{check} {number}/{of}: {what}")),
        }
    }
}

impl From<QualityError> for CliError {
    fn from(error: QualityError) -> Self {
        match error {
            QualityError::Prepare(error) => error.into(),
            QualityError::Engine(error) => error.into(),
            QualityError::Io { what, source } => Self::Io { what, source },
            QualityError::NoCheck { .. } | QualityError::Pattern(_) => {
                Self::Usage(error.to_string())
            }
            QualityError::Tree(error) => Self::Copy(error),
        }
    }
}

fn seconds() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(0)
}
