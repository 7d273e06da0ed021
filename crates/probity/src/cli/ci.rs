//! What a job of a CI system is told of a run: a summary, a JUnit report, annotations, a report for
//! GitLab. All of it repeats the verdict; none of it makes one.

mod annotation;
mod gitlab;
mod host;
mod junit;
mod markdown;
mod place;
mod report_file;
mod sheet;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_core::RunId;
use probity_engine::{Clock as _, SystemClock};
use probity_store::Store;

use self::host::GitHub;
use self::place::Places;
use self::sheet::Sheet;
use super::args::CiArgs;
use super::{CliError, error, present};
use crate::Request;
use crate::own_store::leave_out_file;

/// What is to be told, to whom.
pub(super) struct Ci {
    summary: Option<PathBuf>,
    junit: Option<PathBuf>,
    gitlab: Option<PathBuf>,
    github: Option<GitHub>,
    begun_ms: u64,
    json: bool,
    driven: Option<Driven>,
}

/// The run that is reported.
struct Driven {
    store: Arc<dyn Store>,
    run: RunId,
    places: Places,
}

/// A report that could not be written.
struct Unwritten {
    what: &'static str,
    path: PathBuf,
    why: io::Error,
}

impl Ci {
    /// Begins to report: until the run has ended, the reports say that it has not.
    pub(super) fn begin(args: &CiArgs, json: bool) -> Self {
        let is_github = host::is_github();
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let of_job = || host::summary_file().filter(|_| args.ci && is_github);
        let ci = Self {
            summary: args.ci_summary.as_ref().map(absolute).or_else(of_job),
            junit: args.junit.as_ref().map(absolute),
            gitlab: args.gitlab_report.as_ref().map(absolute),
            github: (args.ci && is_github).then(|| GitHub::stop_commands(json)),
            begun_ms: SystemClock.now_ms(),
            json,
            driven: None,
        };
        if !json {
            offer(args, &ci, is_github);
        }
        // Whatever was there is about another run. It must not be read as this one's, also if this
        // process is killed.
        ci.warn(&ci.write_reports(&Sheet::pending(ci.begun_ms)));
        ci
    }

    /// Has the snapshots of a run leave out the reports that are written into its workspace.
    ///
    /// # Errors
    /// [`CliError::Usage`] for a file in the workspace whose name no pattern can name.
    pub(super) fn leave_out(&self, request: &mut Request) -> Result<(), CliError> {
        let files = [&self.summary, &self.junit, &self.gitlab];
        for file in files.into_iter().flatten() {
            leave_out_file(request, file).map_err(|error| CliError::Usage(error.to_string()))?;
        }
        Ok(())
    }

    /// Names the run that is reported.
    pub(super) fn drives(&mut self, store: Arc<dyn Store>, run: &RunId, workspace: Option<&Path>) {
        let places = Places::of(workspace.unwrap_or_else(|| Path::new(".")));
        self.driven = Some(Driven { store, run: run.clone(), places });
    }

    /// Writes the reports, and gives back the exit code that was decided without them.
    ///
    /// # Errors
    /// The error that the run ended with.
    pub(super) async fn conclude(self, ended: Result<u8, CliError>) -> Result<u8, CliError> {
        if !self.reports() {
            return ended;
        }
        let sheet = self.sheet(&ended).await;
        let mut unwritten = self.write_reports(&sheet);
        if let Some(path) = &self.summary
            && let Err(why) = report_file::append(path, &markdown::summary(&sheet))
        {
            unwritten.push(Unwritten { what: "summary", path: path.clone(), why });
        }
        self.warn(&unwritten);
        let Some(github) = &self.github else { return ended };
        let code = match ended {
            Ok(code) => code,
            // Told here, where nothing in it can be a command.
            Err(error) => {
                let code = error.exit_code();
                error::report(&error, self.json, code);
                code
            }
        };
        github.say(&annotation::commands(&sheet, &unwritten));
        Ok(code)
    }

    fn reports(&self) -> bool {
        self.github.is_some()
            || self.summary.is_some()
            || self.junit.is_some()
            || self.gitlab.is_some()
    }

    /// What the run came to. A run that cannot be read is told as one that did not end well.
    async fn sheet(&self, ended: &Result<u8, CliError>) -> Sheet {
        let run = self.driven.as_ref().map(|driven| &driven.run);
        match (ended, &self.driven) {
            (Ok(_), Some(driven)) => {
                let read = Sheet::read(driven.store.as_ref(), &driven.run, &driven.places).await;
                read.unwrap_or_else(|error| Sheet::stopped(run, &error.into(), self.begun_ms))
            }
            (Ok(_), None) => Sheet::pending(self.begun_ms),
            (Err(error), _) => Sheet::stopped(run, error, self.begun_ms),
        }
    }

    /// Writes the files that are replaced as a whole.
    fn write_reports(&self, sheet: &Sheet) -> Vec<Unwritten> {
        let texts = [
            ("JUnit report", &self.junit, junit::document as fn(&Sheet) -> String),
            ("GitLab report", &self.gitlab, gitlab::document),
        ];
        let mut unwritten = Vec::new();
        for (what, path, text) in texts {
            let Some(path) = path else { continue };
            if let Err(why) = report_file::replace(path, &text(sheet)) {
                unwritten.push(Unwritten { what, path: path.clone(), why });
            }
        }
        unwritten
    }

    fn warn(&self, unwritten: &[Unwritten]) {
        unwritten.iter().for_each(|it| present::warn(&it.to_string()));
    }
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, path, why } = self;
        let path = path.display();
        write!(
            f,
            "the {what} `{path}` could not be written: {why}; the exit code is that of the run"
        )
    }
}

/// Says what there is for a job, where nobody asked, or where there is nobody to tell.
fn offer(args: &CiArgs, ci: &Ci, is_github: bool) {
    if !ci.reports() && (is_github || host::is_gitlab()) {
        present::note(
            "note: this is a CI job; --ci tells it what came of the run, --junit FILE writes a test report",
        );
    } else if args.ci && !ci.reports() {
        present::note(
            "note: --ci finds no GitHub job here; give --ci-summary, --junit or --gitlab-report a file",
        );
    }
}
