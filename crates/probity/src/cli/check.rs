//! `probity check`: is everything that a run would use in order? All problems, not only the first.

mod pieces;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_script::{Execution, Host, Limits, PoolConfig, Script, ScriptVerifier, WorkerPool};
use probity_verifier::spec::assign_ids;
use serde::Serialize;
use serde_json::Value;

use super::args::CheckArgs;
use super::init::is_on_path;
use super::present::{self, Style, Tone};
use super::recheck::Nobody;
use super::{CliError, EXIT_USAGE};
use crate::location::Programs;
use crate::request::Request;
use crate::{CONFIG_PATH, PrepareError, Prepared, Project, open_workspace, prepare, prepare_with};

/// Verifiers of a project that are checked although nothing names them.
const VERIFIERS: &str = ".probity/verifiers";
/// Scripts in that folder that are looked at.
const MAX_SCRIPTS: usize = 1000;

/// What one thing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// In order.
    Ok,
    /// Works, and is weak.
    Warning,
    /// A run with it would not start, or would fault.
    Error,
}

/// One thing that was checked.
#[derive(Debug, Serialize)]
struct Finding {
    /// The file, and what of it.
    name: String,
    state: State,
    /// What is wrong, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    message: String,
}

#[derive(Debug, Serialize)]
struct Checked {
    ok: bool,
    findings: Vec<Finding>,
}

/// Compiles and validates; runs nothing but the examples of verifier scripts.
///
/// # Errors
/// [`CliError`] if there is nothing to check. What is wrong with what is there is no error but the
/// result.
pub(super) async fn check(args: &CheckArgs, programs: &Programs) -> Result<u8, CliError> {
    let root = args.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let root = std::path::absolute(&root).unwrap_or(root);
    let mut checker = Checker::new(programs, root)?;
    if args.files.is_empty() {
        checker.project().await?;
    }
    for path in &args.files {
        checker.file(path).await;
    }
    let findings = checker.findings;
    let ok = findings.iter().all(|finding| finding.state != State::Error);
    match args.json {
        true => present::json(&Checked { ok, findings })?,
        false => drop(present::print(text(&findings, Style::of_stdout()).as_bytes())?),
    }
    Ok(if ok { 0 } else { EXIT_USAGE })
}

struct Checker<'a> {
    programs: &'a Programs,
    pool: Arc<WorkerPool>,
    root: PathBuf,
    findings: Vec<Finding>,
    /// Scripts that were checked already.
    scripts: Vec<PathBuf>,
}

impl<'a> Checker<'a> {
    fn new(programs: &'a Programs, root: PathBuf) -> Result<Self, CliError> {
        let pool = WorkerPool::new(PoolConfig::new(programs.worker.clone()))
            .map_err(|error| PrepareError::Limits(error.to_string()))?;
        let (findings, scripts) = (Vec::new(), Vec::new());
        Ok(Self { programs, pool: Arc::new(pool), root, findings, scripts })
    }

    /// The configuration, and every verifier in its folder.
    async fn project(&mut self) -> Result<(), CliError> {
        let config = self.root.join(CONFIG_PATH);
        let scripts = self.verifiers();
        if !config.is_file() && scripts.is_empty() {
            return Err(CliError::Usage(format!(
                "`{}` has no {CONFIG_PATH}; make one with `probity init`, or name files to check",
                self.root.display()
            )));
        }
        if config.is_file() {
            self.file(&config).await;
        }
        for path in scripts {
            self.script_file(&path, &Value::Object(serde_json::Map::new())).await;
        }
        Ok(())
    }

    fn verifiers(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.root.join(VERIFIERS)).into_iter().flatten();
        let is_script = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "star");
        let scripts = entries.flatten().map(|entry| entry.path()).filter(is_script);
        let mut scripts: Vec<PathBuf> = scripts.take(MAX_SCRIPTS).collect();
        scripts.sort();
        scripts
    }

    async fn file(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        if path.extension().is_some_and(|ending| ending == "star") {
            self.script_file(&path, &Value::Object(serde_json::Map::new())).await;
        } else if path.ends_with(CONFIG_PATH) {
            self.config(&path).await;
        } else {
            match Request::load(&path) {
                Ok(request) => self.request(&path, request).await,
                Err(error) => self.broken(&path, error.code(), &error.to_string()),
            }
        }
    }

    async fn config(&mut self, path: &Path) {
        let root = path.ancestors().nth(2).unwrap_or(&self.root).to_path_buf();
        let project = match Project::load(path, &root) {
            Ok(project) => project,
            Err(error) => return self.broken(path, error.code(), &error.to_string()),
        };
        let name = self.name(path, "trust");
        match project.require_trust() {
            Ok(()) => self.ok(name, format!("trusted, sha256 {}", project.digest.short())),
            Err(error) => self.push(name, State::Warning, error.code(), error.to_string()),
        }
        let workspace = project.defaults.workspace.clone().or(Some(root));
        self.request(path, Request { workspace, ..project.defaults }).await;
    }

    /// A file that is no request as a whole: what of it is wrong, piece by piece.
    fn broken(&mut self, path: &Path, code: &str, message: &str) {
        let problems = pieces::problems(path);
        if problems.is_empty() {
            return self.error(self.name(path, ""), code, message.to_owned());
        }
        for problem in problems {
            self.error(self.name(path, &problem.piece), code, problem.message);
        }
    }

    async fn request(&mut self, path: &Path, request: Request) {
        let before = self.errors();
        let checks = assign_ids(&request.expect);
        match &checks {
            Ok(ids) => {
                for (check, id) in request.expect.iter().zip(ids) {
                    let what = format!("{} {}", check.kind(), check.target());
                    self.ok(self.name(path, id.as_str()), what.trim_end().to_owned());
                }
            }
            Err(error) => self.error(self.name(path, "expect"), error.code(), error.to_string()),
        }
        if let Err(error) = request.policy() {
            self.error(self.name(path, "bounds"), "request_bound", error.to_string());
        }
        let args = Value::Object(request.verify_args.clone());
        for source in &request.verify {
            let name = self.name(path, "verify");
            match Script::new("verify", source.as_str()) {
                Ok(script) => self.script(name, script, &args).await,
                Err(error) => self.error(name, "script_read", error.to_string()),
            }
        }
        for file in &request.verify_files {
            self.script_file(file, &args).await;
        }
        self.warn_of_missing_program(path, &request);
        self.prepare(path, request, before);
    }

    /// Puts the whole plan together, as a run would.
    fn prepare(&mut self, path: &Path, mut request: Request, errors_before: usize) {
        let name = self.name(path, "");
        if request.task.is_empty() {
            "checked".clone_into(&mut request.task);
        }
        match self.plan(&request) {
            Ok(Prepared { warnings, .. }) => {
                for warning in warnings {
                    self.push(name.clone(), State::Warning, "", warning);
                }
            }
            // Said already, with its place.
            Err(_) if self.errors() > errors_before => {}
            Err(error) => self.error(name, error.code(), error.to_string()),
        }
    }

    fn plan(&self, request: &Request) -> Result<Prepared, PrepareError> {
        let run = || "check".parse().map_err(|_| PrepareError::NoTask);
        if request.command.is_empty() {
            let workspace = open_workspace(request)?;
            return prepare_with(request, run()?, self.programs, workspace, Arc::new(Nobody));
        }
        prepare(request, run()?, self.programs)
    }

    fn warn_of_missing_program(&mut self, path: &Path, request: &Request) {
        let Some(program) = request.command.first().filter(|program| !program.contains('/')) else {
            return;
        };
        if !is_on_path(program) {
            let message = format!("`{program}` is not on PATH here");
            self.push(self.name(path, "command"), State::Warning, "delegate_start", message);
        }
    }

    async fn script_file(&mut self, path: &Path, args: &Value) {
        if self.scripts.iter().any(|checked| checked == path) {
            return;
        }
        self.scripts.push(path.to_path_buf());
        let name = self.name(path, "");
        match Script::from_file(path) {
            Ok(script) => self.script(name, script, args).await,
            Err(error) => self.error(name, "script_read", error.to_string()),
        }
    }

    async fn script(&mut self, name: String, script: Script, args: &Value) {
        let execution = Execution::Worker(Arc::clone(&self.pool));
        let (host, limits) = (Host::default(), Limits::default());
        let checked = match ScriptVerifier::new(script, args.clone(), host, limits, execution) {
            Ok(verifier) => verifier.check().await,
            Err(fault) => Err(fault),
        };
        match checked {
            Ok(()) => self.ok(name, "compiles, and its examples hold".to_owned()),
            Err(fault) => {
                let place = fault.location.map(|place| format!("\n{place}")).unwrap_or_default();
                self.error(name, fault.code.as_str(), format!("{}{place}", fault.message));
            }
        }
    }

    /// The path as it is seen from the project, and a part of the file.
    fn name(&self, path: &Path, part: &str) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path).display();
        if part.is_empty() { path.to_string() } else { format!("{path}: {part}") }
    }

    fn ok(&mut self, name: String, message: String) {
        self.push(name, State::Ok, "", message);
    }

    fn error(&mut self, name: String, code: &str, message: String) {
        self.push(name, State::Error, code, message);
    }

    fn push(&mut self, name: String, state: State, code: &str, message: String) {
        let code = Some(code.to_owned()).filter(|code| !code.is_empty());
        self.findings.push(Finding { name, state, code, message });
    }

    fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.state == State::Error).count()
    }
}

fn text(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    for finding in findings {
        let (word, tone) = match finding.state {
            State::Ok => ("ok", Tone::Good),
            State::Warning => ("warning", Tone::Warn),
            State::Error => ("error", Tone::Bad),
        };
        let word = style.paint(tone, &format!("{word:7}"));
        let code = finding.code.as_ref().map_or(String::new(), |code| format!("  [{code}]"));
        let mut message = present::block(&finding.message).into_iter();
        let first = message.next().unwrap_or_default();
        let name = present::line(&finding.name);
        text.push_str(&format!("{word}  {name}  {first}{code}\n"));
        message.for_each(|more| text.push_str(&format!("         {more}\n")));
    }
    text
}
