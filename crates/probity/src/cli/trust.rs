//! `probity trust`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use probity_core::Digest;
use serde::Serialize;

use super::CliError;
use super::args::TrustArgs;
use super::present;
use crate::location::Programs;
use crate::{CONFIG_PATH, Project, Request};

/// Exit code of `--show` for what is not trusted.
const EXIT_UNTRUSTED: u8 = 1;

/// A configuration and what allowing it allows.
#[derive(Debug, Serialize)]
struct Trust {
    path: PathBuf,
    sha256: Digest,
    trusted: bool,
    /// What using it runs: command lines and scripts.
    runs: Vec<Runs>,
}

/// One thing that the configuration brings along and that runs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Runs {
    /// `delegate`, `resume`, `check` or `script`.
    pub(super) what: &'static str,
    /// The command line, or the script's path.
    pub(super) text: String,
}

/// Allows the commands of a configuration to run, by its exact hash.
///
/// # Errors
/// [`CliError`] if there is no such configuration, it is invalid, or the list cannot be written.
pub(super) async fn trust(args: &TrustArgs, _: &Programs) -> Result<u8, CliError> {
    let (path, root) = locate(args.file.as_deref())?;
    let project = Project::load(&path, &root)?;
    let runs = runs(&project.defaults);
    if !args.show {
        project.trust()?;
    }
    let trusted = project.is_trusted()?;
    let shown = Trust { path, sha256: project.digest, trusted, runs };
    match args.json {
        true => present::json(&shown)?,
        false => drop(present::print(shown.text(args.show).as_bytes())?),
    }
    Ok(match args.show && !trusted {
        true => EXIT_UNTRUSTED,
        false => 0,
    })
}

/// What using a configuration runs.
pub(super) fn runs(request: &Request) -> Vec<Runs> {
    let line = |words: &[String]| {
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
    };
    let mut runs = Vec::new();
    if !request.command.is_empty() {
        runs.push(Runs { what: "delegate", text: line(&request.command) });
    }
    if let Some(resume) = &request.resume {
        runs.push(Runs { what: "resume", text: line(resume) });
    }
    for check in &request.expect {
        if let Some(command) = check.command_line() {
            runs.push(Runs { what: "check", text: command.to_owned() });
        }
    }
    for _ in &request.verify {
        runs.push(Runs { what: "script", text: "verify (inline)".to_owned() });
    }
    for path in &request.verify_files {
        runs.push(Runs { what: "script", text: path.display().to_string() });
    }
    runs
}

/// The configuration file and the project it belongs to.
pub(super) fn locate(given: Option<&Path>) -> Result<(PathBuf, PathBuf), CliError> {
    let given = given.unwrap_or(Path::new(CONFIG_PATH));
    let path = if given.is_dir() { given.join(CONFIG_PATH) } else { given.to_path_buf() };
    let absolute = |source| CliError::File { path: path.clone(), source };
    let path = std::path::absolute(&path).map_err(absolute)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let root = match path.ends_with(CONFIG_PATH) {
        true => folder.parent().unwrap_or(folder).to_path_buf(),
        false => folder.to_path_buf(),
    };
    Ok((path, root))
}

impl Trust {
    fn text(&self, is_question: bool) -> String {
        let path = present::line(&self.path.display().to_string());
        let mut text = String::new();
        let state = match (self.trusted, is_question) {
            (true, false) => "is trusted from now on, as long as it stays exactly this",
            (true, true) => "is trusted",
            (false, _) => "is not trusted",
        };
        let _ = writeln!(text, "{path} {state}");
        let _ = writeln!(text, "  sha256    {}", self.sha256);
        for run in &self.runs {
            let _ = writeln!(text, "  {:8}  {}", run.what, present::line(&run.text));
        }
        text
    }
}
