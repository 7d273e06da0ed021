//! The parts of a plan that checks come from.

use std::path::Path;
use std::sync::Arc;

use probity_core::{CheckDecl, Code, Fault, Subject};
use probity_engine::{Check, Decider, Hook, Human};
use probity_sandbox::Launcher;
use probity_script::{
    EgressGate, Execution, GitCommand, Host, Limits, PoolConfig, Script, ScriptVerifier, WorkerPool,
};
use probity_verifier::spec::{CheckSpec, Effect, ExternalSpec, assign_ids};
use probity_verifier::stock::{self, Deps};
use probity_verifier::{External, JudgeFiles, SnapshotRules, Verifier, Workspace};
use serde_json::Value;

use super::{Keys, PrepareError, egress, snapshot_rules};
use crate::location::Programs;
use crate::request::{Millis, Request};

/// What the names of checks begin with that are methods of an envelope.
const METHOD: &str = "method.";
/// Wall time of a Starlark verifier that names none.
const DEFAULT_VERIFY: Millis = Millis::new(30_000);

/// What a plan is put together from.
pub(super) struct Builder<'a> {
    pub(super) request: &'a Request,
    pub(super) programs: &'a Programs,
    /// Who may do the work.
    pub(super) actors: Vec<String>,
    pub(super) keys: Keys,
    pub(super) deps: Deps,
    pub(super) pool: Arc<WorkerPool>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) checks: Vec<Check>,
    pub(super) hooks: Vec<Hook>,
    pub(super) judge: JudgeFiles,
    pub(super) rules: SnapshotRules,
    pub(super) warnings: Vec<String>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        request: &'a Request,
        programs: &'a Programs,
        workspace: Arc<Workspace>,
        actors: Vec<String>,
        keys: Keys,
        launcher: Launcher,
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
            programs,
            actors,
            keys,
            deps: Deps { launcher, egress },
            pool: Arc::new(pool),
            rules: snapshot_rules(request, &workspace)?,
            workspace,
            checks: Vec::new(),
            hooks: Vec::new(),
            judge,
            warnings: Vec::new(),
        })
    }

    /// Names of methods tell an episode which check was one, so nothing else may have them.
    pub(super) fn refuse_reserved(&self) -> Result<(), PrepareError> {
        let checks = self.checks.iter().map(|check| &check.decl.id);
        let hooks = self.request.hooks.iter().map(|hook| &hook.name);
        match checks.chain(hooks).find(|id| id.as_str().starts_with(METHOD)) {
            Some(id) => Err(PrepareError::ReservedId { id: id.clone() }),
            None => Ok(()),
        }
    }

    pub(super) fn add_stock_checks(&mut self) -> Result<(), PrepareError> {
        let ids = assign_ids(&self.request.expect)?;
        for (spec, id) in self.request.expect.iter().zip(ids) {
            self.add_stock_check(spec, id)?;
        }
        Ok(())
    }

    fn add_stock_check(&mut self, spec: &CheckSpec, id: Code) -> Result<(), PrepareError> {
        let by = match human(spec) {
            Some(human) => Decider::Human(human),
            None => Decider::Verifier(self.stock_verifier(spec, &id)?),
        };
        self.checks.push(Check { decl: spec.declare(id), by });
        Ok(())
    }

    /// The verifier of a declared check; what decides it is put under seal.
    pub(super) fn stock_verifier(
        &mut self,
        spec: &CheckSpec,
        id: &Code,
    ) -> Result<Arc<dyn Verifier>, PrepareError> {
        let stock = stock::build(spec, &self.deps)?;
        let verifier: Arc<dyn Verifier> = match &spec.effect {
            Effect::Agent(agent) => self.critic(agent, id)?,
            _ => Arc::from(stock),
        };
        self.seal_inputs(spec, id)?;
        self.watch_target(spec)?;
        if spec.kind() == "changes_only" {
            self.warn_of_ignored(id);
        }
        Ok(verifier)
    }

    pub(super) fn add_scripts(&mut self) -> Result<(), PrepareError> {
        let mut scripts = Vec::new();
        for source in &self.request.verify {
            scripts.push(Script::new("verify", source.as_str()).map_err(script_error)?);
        }
        for path in &self.request.verify_files {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            if absolute.extension().is_some_and(|ending| ending == "py") {
                self.add_python(&absolute)?;
                continue;
            }
            scripts.push(Script::from_file(&absolute).map_err(script_error)?);
        }
        for script in scripts {
            self.add_script(script)?;
        }
        Ok(())
    }

    fn add_python(&mut self, path: &Path) -> Result<(), PrepareError> {
        let timeout_ms = self.request.verify_timeout.unwrap_or(DEFAULT_VERIFY).get();
        let id = self.free_id(&path.to_string_lossy());
        let decl = CheckDecl { id, subject: Subject::World, timeout_ms };
        let verifier = self.python_verifier(path)?;
        self.checks.push(Check::verifier(decl, verifier));
        Ok(())
    }

    /// The verifier in a Python file, as seed 001 writes them; the file is put under seal.
    pub(super) fn python_verifier(
        &mut self,
        path: &Path,
    ) -> Result<Arc<dyn Verifier>, PrepareError> {
        if !path.is_file() {
            return Err(PrepareError::Script(format!("cannot read `{}`", path.display())));
        }
        self.judge = self.judge.clone().file(path)?;
        let spec = ExternalSpec::python(path, "verify");
        Ok(Arc::new(External::new(spec, self.deps.launcher.clone())))
    }

    fn add_script(&mut self, script: Script) -> Result<(), PrepareError> {
        let timeout_ms = self.request.verify_timeout.unwrap_or(DEFAULT_VERIFY).get();
        let id = self.free_id(script.name());
        let verifier = self.script_verifier(script, timeout_ms)?;
        let decl = CheckDecl { id, subject: Subject::World, timeout_ms };
        self.checks.push(Check::verifier(decl, verifier));
        Ok(())
    }

    /// The verifier of a script; its source is put under seal.
    pub(super) fn script_verifier(
        &mut self,
        script: Script,
        timeout_ms: u64,
    ) -> Result<Arc<dyn Verifier>, PrepareError> {
        self.judge = match script.source_path() {
            Some(path) => self.judge.clone().file(path)?,
            None => self.judge.clone().text("verify", script.source().as_bytes()),
        };
        let args = Value::Object(self.request.verify_args.clone());
        let (host, limits) = (self.host(), limits(timeout_ms));
        let verifier = ScriptVerifier::new(script, args, host, limits, self.execution())
            .map_err(|fault: Fault| PrepareError::Limits(fault.message))?;
        Ok(Arc::new(verifier))
    }

    /// What scripts may reach.
    pub(super) fn host(&self) -> Host {
        Host {
            http: Some(Arc::new(EgressGate::new(self.deps.egress.clone()))),
            git: Some(Arc::new(GitCommand::new(self.deps.launcher.clone()))),
            ..Host::default()
        }
    }

    /// Where scripts run.
    pub(super) fn execution(&self) -> Execution {
        Execution::Worker(Arc::clone(&self.pool))
    }

    /// The script's file name, with a number where another check has it.
    pub(super) fn free_id(&self, name: &str) -> Code {
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

/// The bounds of a script that has this much time.
pub(super) fn limits(timeout_ms: u64) -> Limits {
    Limits { wall_ms: timeout_ms.min(Limits::default().wall_ms), ..Limits::default() }
}

pub(super) fn script_error(error: impl std::fmt::Display) -> PrepareError {
    PrepareError::Script(error.to_string())
}

/// The names of the checks that are methods of an envelope, in its order.
pub(crate) fn method_ids<'a>(methods: impl IntoIterator<Item = &'a str>) -> Vec<Code> {
    let mut ids: Vec<Code> = Vec::new();
    for (place, name) in methods.into_iter().enumerate() {
        let id = Code::slug(&format!("{METHOD}{name}"));
        let numbered = || Code::slug(&format!("{METHOD}{}.{name}", place + 1));
        ids.push(if ids.contains(&id) { numbered() } else { id });
    }
    ids
}

/// Whom a check asks, where it asks a human.
pub(super) fn human(spec: &CheckSpec) -> Option<Human> {
    match &spec.effect {
        Effect::Human(human) => Some(Human {
            who: human.who.clone(),
            question: human.question.clone().unwrap_or_default(),
        }),
        _ => None,
    }
}
