//! From a request to a plan: scripts compiled, checks built, the judge's files gathered.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probity_core::{CheckDecl, Code, Fault, PolicyError, RunId, Subject};
use probity_delegate::{CommandConfig, CommandDelegate, DEFAULT_TIMEOUT_MS, Delegate};
use probity_egress::{Client, EgressPolicy, RuleError};
use probity_engine::{Check, Plan};
use probity_script::{
    EgressGate, Execution, GitCommand, Host, Limits, PoolConfig, Script, ScriptVerifier, WorkerPool,
};
use probity_verifier::spec::{CheckSpec, SpecError, assign_ids};
use probity_verifier::stock::{self, Deps};
use probity_verifier::{
    CommandLine, GitFacts, IGNORED, JudgeFiles, PathError, Role, SnapshotRules, Verifier,
    Workspace, WorkspaceError, undeclared_inputs,
};
use serde_json::Value;

use crate::location::Programs;
use crate::request::{Millis, Request};

/// A plan, and what its author should know about it.
#[derive(Debug)]
pub struct Prepared {
    /// What the engine drives.
    pub plan: Plan,
    /// Weaknesses of the request that do not stop it.
    pub warnings: Vec<String>,
}

/// The request cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// There is no task.
    #[error("the request has no task; say in words what is to be done")]
    NoTask,
    /// There is no delegate.
    #[error("the request names no delegate; put its command line behind `--`, or set `command`")]
    NoCommand,
    /// The workspace cannot be opened.
    #[error("cannot use the workspace: {0}")]
    Workspace(#[from] WorkspaceError),
    /// A path of the request leads nowhere legal.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A bound.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A declared check.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A host rule.
    #[error("`{host}` is no host to allow: {detail}")]
    Host {
        /// What was given.
        host: String,
        /// What is wrong.
        detail: String,
    },
    /// A verifier file cannot be read.
    #[error("{0}")]
    Script(String),
    /// A script's limits, or the pool it runs in.
    #[error("{0}")]
    Limits(String),
    /// The delegate's settings.
    #[error("{0}")]
    Delegate(String),
}

impl PrepareError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoTask => "request_no_task",
            Self::NoCommand => "request_no_command",
            Self::Workspace(_) => "workspace_open",
            Self::Path(error) => error.code(),
            Self::Policy(_) => "request_bound",
            Self::Spec(error) => error.code(),
            Self::Host { .. } => "request_host",
            Self::Script(_) => "script_read",
            Self::Limits(_) => "script_limits",
            Self::Delegate(_) => "request_delegate",
        }
    }
}

/// Wall time of a Starlark verifier that names none.
const DEFAULT_VERIFY: Millis = Millis::new(30_000);

/// Prepares a request to be run by its command.
///
/// # Errors
/// [`PrepareError`]; nothing has been run.
pub fn prepare(
    request: &Request,
    run: RunId,
    programs: &Programs,
) -> Result<Prepared, PrepareError> {
    if request.task.trim().is_empty() {
        return Err(PrepareError::NoTask);
    }
    if request.command.is_empty() {
        return Err(PrepareError::NoCommand);
    }
    let workspace = open_workspace(request)?;
    let config = CommandConfig {
        resume: request.resume.clone(),
        format: request.format.unwrap_or_default(),
        on_error: request.on_delegate_error.unwrap_or_default(),
        timeout_ms: request.attempt_timeout.map_or(DEFAULT_TIMEOUT_MS, Millis::get),
        ..CommandConfig::new(request.command.iter().cloned())
    };
    let delegate = CommandDelegate::new(config, workspace.root(), programs.launcher.clone())
        .map_err(|error| PrepareError::Delegate(error.to_string()))?;
    prepare_with(request, run, programs, workspace, Arc::new(delegate))
}

/// Prepares a request for a delegate that is given.
///
/// # Errors
/// [`PrepareError`]; nothing has been run.
pub fn prepare_with(
    request: &Request,
    run: RunId,
    programs: &Programs,
    workspace: Arc<Workspace>,
    delegate: Arc<dyn Delegate>,
) -> Result<Prepared, PrepareError> {
    let mut builder = Builder::new(request, programs, workspace)?;
    builder.add_stock_checks()?;
    builder.add_scripts()?;
    let Builder { checks, judge, rules, warnings, workspace, .. } = builder;
    let plan = Plan {
        run,
        request: serde_json::to_vec(request).unwrap_or_default(),
        task: request.task.as_str().into(),
        policy: request.policy()?,
        checks,
        delegate,
        workspace,
        snapshot: rules,
        facts: Arc::new(GitFacts::new(programs.launcher.clone())),
        judge: Arc::new(judge),
        attempt_timeout: request.attempt_timeout.map(|millis| Duration::from_millis(millis.get())),
    };
    Ok(Prepared { plan, warnings })
}

/// Opens the workspace that a request names; the current folder where it names none.
///
/// # Errors
/// [`PrepareError::Workspace`].
pub fn open_workspace(request: &Request) -> Result<Arc<Workspace>, PrepareError> {
    let given = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let absolute = std::path::absolute(&given).unwrap_or(given);
    Ok(Arc::new(Workspace::open(absolute)?))
}

/// What a plan is put together from.
struct Builder<'a> {
    request: &'a Request,
    deps: Deps,
    pool: Arc<WorkerPool>,
    workspace: Arc<Workspace>,
    checks: Vec<Check>,
    judge: JudgeFiles,
    rules: SnapshotRules,
    warnings: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(
        request: &'a Request,
        programs: &Programs,
        workspace: Arc<Workspace>,
    ) -> Result<Self, PrepareError> {
        let egress = egress(request)?;
        let pool = WorkerPool::new(PoolConfig::new(programs.worker.clone()))
            .map_err(|error| PrepareError::Limits(error.to_string()))?;
        let mut judge = JudgeFiles::new(Arc::clone(&workspace));
        for path in &request.sealed {
            judge = judge.file(path)?;
        }
        for glob in &request.may_change {
            judge = judge.may_change(glob)?;
        }
        Ok(Self {
            request,
            deps: Deps { launcher: programs.launcher.clone(), egress },
            pool: Arc::new(pool),
            rules: snapshot_rules(request, &workspace)?,
            workspace,
            checks: Vec::new(),
            judge,
            warnings: Vec::new(),
        })
    }

    fn add_stock_checks(&mut self) -> Result<(), PrepareError> {
        let ids = assign_ids(&self.request.expect)?;
        for (spec, id) in self.request.expect.iter().zip(ids) {
            let verifier: Arc<dyn Verifier> = Arc::from(stock::build(spec, &self.deps)?);
            self.seal_inputs(spec, &id)?;
            self.watch_target(spec)?;
            if spec.kind() == "changes_only" {
                self.warn_of_ignored(&id);
            }
            self.checks.push(Check { decl: spec.declare(id), verifier });
        }
        Ok(())
    }

    /// Puts everything a check is decided by under seal: declared inputs, and files of the
    /// workspace that its command line runs.
    fn seal_inputs(&mut self, spec: &CheckSpec, id: &Code) -> Result<(), PrepareError> {
        let inputs = spec.inputs();
        let command = spec.command_line().map(CommandLine::of_line);
        let named = command.as_ref().map(|command| command.files_named_in(&self.workspace));
        let judges = named.into_iter().flatten().filter(|file| file.role == Role::Judge);
        let judges: Vec<String> = judges.map(|file| file.path).collect();
        self.judge = self.judge.clone().check_inputs(&inputs, &judges, spec.may_change())?;
        // One pattern alone may be meant for files that are not to appear, so this is no error.
        let matches =
            |glob: &String| !self.workspace.glob(glob, 1).is_ok_and(|found| found.is_empty());
        if !inputs.is_empty() && !inputs.iter().any(matches) {
            self.warnings.push(format!(
                "check `{id}` seals no file: nothing matches `{}`; write inputs= once for each pattern",
                inputs.join("`, `")
            ));
        }
        if let Some(command) = &command {
            self.warn_of_undeclared(spec, id, command);
        }
        Ok(())
    }

    fn warn_of_undeclared(&mut self, spec: &CheckSpec, id: &Code, command: &CommandLine) {
        if command.has_unresolved_words() {
            self.warnings.push(format!(
                "check `{id}` runs a script that its command line does not spell out, so it is not \
                 sealed: name it plainly, or declare it with inputs="
            ));
        }
        let undeclared = undeclared_inputs(command, &spec.inputs());
        if !undeclared.is_empty() {
            self.warnings.push(format!(
                "check `{id}` does not declare all the files that decide it, so the delegate could \
                 edit them: add inputs={}",
                undeclared.join(",inputs=")
            ));
        }
    }

    /// What the snapshot leaves out, `changes_only` does not see.
    fn warn_of_ignored(&mut self, id: &Code) {
        let is_there = |name: &&str| matches!(self.workspace.stat_link(name), Ok(Some(_)));
        let unseen: Vec<&str> = build_folders().filter(is_there).collect();
        if !unseen.is_empty() {
            self.warnings.push(format!(
                "check `{id}` does not look into {}: the snapshot leaves these folders out",
                unseen.join(", ")
            ));
        }
    }

    /// A target inside an ignored folder is looked at all the same.
    fn watch_target(&mut self, spec: &CheckSpec) -> Result<(), PrepareError> {
        if let Some(path) = spec.compared_path() {
            let rules = std::mem::take(&mut self.rules);
            self.rules = rules.always(&self.workspace, [path])?;
        }
        Ok(())
    }

    fn add_scripts(&mut self) -> Result<(), PrepareError> {
        let mut scripts = Vec::new();
        for source in &self.request.verify {
            scripts.push(Script::new("verify", source.as_str()).map_err(script_error)?);
        }
        for path in &self.request.verify_files {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            scripts.push(Script::from_file(&absolute).map_err(script_error)?);
        }
        for script in scripts {
            self.add_script(script)?;
        }
        Ok(())
    }

    fn add_script(&mut self, script: Script) -> Result<(), PrepareError> {
        let timeout_ms = self.request.verify_timeout.unwrap_or(DEFAULT_VERIFY).get();
        let id = self.free_id(script.name());
        self.judge = match script.source_path() {
            Some(path) => self.judge.clone().file(path)?,
            None => self.judge.clone().text("verify", script.source().as_bytes()),
        };
        let limits =
            Limits { wall_ms: timeout_ms.min(Limits::default().wall_ms), ..Limits::default() };
        let host = Host {
            http: Some(Arc::new(EgressGate::new(self.deps.egress.clone()))),
            git: Some(Arc::new(GitCommand::new(self.deps.launcher.clone()))),
            ..Host::default()
        };
        let args = Value::Object(self.request.verify_args.clone());
        let execution = Execution::Worker(Arc::clone(&self.pool));
        let verifier = ScriptVerifier::new(script, args, host, limits, execution)
            .map_err(|fault: Fault| PrepareError::Limits(fault.message))?;
        let decl = CheckDecl { id, subject: Subject::World, timeout_ms };
        self.checks.push(Check { decl, verifier: Arc::new(verifier) });
        Ok(())
    }

    /// The script's file name, with a number where another check has it.
    fn free_id(&self, name: &str) -> Code {
        let stem = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
        let first = Code::slug(&stem);
        let is_free = |id: &Code| self.checks.iter().all(|check| check.decl.id != *id);
        (2_u32..)
            .map(|number| Code::slug(&format!("{number}_{first}")))
            .find(|id| is_free(id))
            .filter(|_| !is_free(&first))
            .unwrap_or(first)
    }
}

/// What the snapshot leaves out. A check that asks what changed at all sees installed dependencies
/// and the parts of a repository that run code, too: there a change could hide.
fn snapshot_rules(request: &Request, workspace: &Workspace) -> Result<SnapshotRules, PrepareError> {
    let is_strict = request.expect.iter().any(|check| check.kind() == "changes_only");
    let rules = if is_strict {
        let folders = build_folders().map(|name| format!("**/{name}/"));
        let rules = SnapshotRules::nothing_ignored().ignore(folders)?;
        rules.always(workspace, [".git/hooks", ".git/config", ".git/info"])?
    } else {
        SnapshotRules::default()
    };
    Ok(rules.ignore(&request.ignore)?)
}

/// Folders that tools fill while they build and test.
fn build_folders() -> impl Iterator<Item = &'static str> {
    IGNORED.iter().copied().filter(|name| !matches!(*name, "node_modules" | ".venv"))
}

fn script_error(error: impl std::fmt::Display) -> PrepareError {
    PrepareError::Script(error.to_string())
}

fn egress(request: &Request) -> Result<Client, PrepareError> {
    let failed = |host: &str, detail: String| PrepareError::Host { host: host.to_owned(), detail };
    let mut policy = EgressPolicy::default();
    for host in &request.allow_hosts {
        policy
            .allow_hosts
            .push(host.parse().map_err(|error: RuleError| failed(host, error.to_string()))?);
    }
    for host in &request.allow_private {
        policy
            .allow_private
            .push(host.parse().map_err(|error: RuleError| failed(host, error.to_string()))?);
    }
    Client::new(policy).map_err(|error| failed(&request.allow_hosts.join(", "), error.to_string()))
}
