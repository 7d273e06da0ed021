//! A request, the project's configuration among them: its pieces, then the whole plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_script::Script;
use probity_verifier::spec::assign_ids;
use serde_json::Value;

use super::{Checker, pieces};
use crate::cli::init::is_on_path;
use crate::cli::recheck::Nobody;
use crate::prepare::prepare_unasked;
use crate::prepare::{Keys, prepare_keyed};
use crate::request::Request;
use crate::{POLICY_PATH, PrepareError, Prepared, Project, open_workspace};

impl Checker<'_> {
    /// The configuration of a project, with its hooks.
    pub(super) async fn config(&mut self, project: &Project) {
        let path = project.path.clone();
        let name = self.name(&path, "trust");
        match project.require_trust() {
            Ok(()) => {
                self.checked.ok(name, format!("trusted, sha256 {}", project.digest.short()));
            }
            Err(error) => self.checked.warning(name, error.code(), error.to_string()),
        }
        let before = self.checked.errors();
        self.pieces(&path, &project.defaults).await;
        let asked = Request { workspace: Some(self.root_of(&path)), ..Request::default() };
        self.whole(&path, project.apply(asked).map_err(Into::into), before);
    }

    /// What of a configuration is wrong, where the project as a whole cannot be loaded.
    pub(super) fn config_keys(&mut self, path: &Path) {
        for problem in pieces::problems(path) {
            let name = self.name(path, &problem.piece);
            self.checked.error(name, "request_parse", problem.message);
        }
    }

    /// A file that is no request as a whole: what of it is wrong, piece by piece.
    pub(super) fn broken(&mut self, path: &Path, code: &str, message: &str) {
        let problems = pieces::problems(path);
        if problems.is_empty() {
            return self.checked.error(self.name(path, ""), code, message);
        }
        for problem in problems {
            let name = self.name(path, &problem.piece);
            self.checked.error(name, code, problem.message);
        }
    }

    /// A request, together with what the project adds to it.
    pub(super) async fn request(
        &mut self,
        path: &Path,
        request: Request,
        project: Option<&Project>,
    ) {
        let before = self.checked.errors();
        self.pieces(path, &request).await;
        let whole = match project {
            Some(project) => project.apply(request).map_err(Into::into),
            None => Ok(request),
        };
        self.whole(path, whole, before);
    }

    /// Each part of a request by itself.
    pub(super) async fn pieces(&mut self, path: &Path, request: &Request) {
        match assign_ids(&request.expect) {
            Ok(ids) => {
                for (check, id) in request.expect.iter().zip(ids) {
                    let what = format!("{} {}", check.kind(), check.target());
                    self.checked.ok(self.name(path, id.as_str()), what.trim_end());
                }
            }
            Err(error) => {
                self.checked.error(self.name(path, "expect"), error.code(), error.to_string());
            }
        }
        if let Err(error) = request.policy() {
            self.checked.error(self.name(path, "bounds"), "request_bound", error.to_string());
        }
        let args = Value::Object(request.verify_args.clone());
        for source in &request.verify {
            let name = self.name(path, "verify");
            match Script::new("verify", source.as_str()) {
                Ok(script) => self.script(name, script, &args).await,
                Err(error) => self.checked.error(name, "script_read", error.to_string()),
            }
        }
        for file in &request.verify_files {
            self.verifier_file(file, &args).await;
        }
        for hook in &request.hooks {
            self.hook(self.name(path, &format!("hook {}", hook.name)), hook).await;
        }
        self.delegate(path, request).await;
        for (step, rung) in &request.rungs {
            let step = probity_core::Step::from(*step);
            self.warn_of_missing_program(path, step.as_str(), &rung.command);
        }
    }

    /// Puts the whole plan together, as a run would.
    pub(super) fn whole(
        &mut self,
        path: &Path,
        request: Result<Request, crate::cli::CliError>,
        errors_before: usize,
    ) {
        let name = self.name(path, "");
        let prepared = request.and_then(|mut request| {
            if request.task.is_empty() {
                "checked".clone_into(&mut request.task);
            }
            request.workspace.get_or_insert_with(|| self.root.clone());
            Ok(self.plan(&request)?)
        });
        match prepared {
            Ok(Prepared { warnings, .. }) => {
                for warning in warnings {
                    self.checked.warning(name.clone(), "", warning);
                }
            }
            // Said already, with its place.
            Err(_) if self.checked.errors() > errors_before => {}
            Err(error) => self.checked.error(name, error.code(), error.to_string()),
        }
    }

    fn plan(&self, request: &Request) -> Result<Prepared, PrepareError> {
        let run = || "check".parse().map_err(|_| PrepareError::NoTask);
        if !request.brings_delegate() && request.chat.is_none() {
            let workspace = open_workspace(request)?;
            return prepare_unasked(request, run()?, self.programs, workspace, Arc::new(Nobody));
        }
        // What a run would need of the environment is not this request's fault.
        prepare_keyed(request, run()?, self.programs, Keys::Left)
    }

    pub(super) fn warn_of_missing_program(&mut self, path: &Path, key: &str, command: &[String]) {
        let Some(program) = command.first().filter(|program| !program.contains('/')) else {
            return;
        };
        if !is_on_path(program) {
            let message = format!("`{program}` is not on PATH here");
            self.checked.warning(self.name(path, key), "delegate_start", message);
        }
    }

    /// The methods that envelopes and packs name, against the verifiers that there are.
    pub(super) fn methods(&mut self, project: &Project) {
        let policy = &project.policy;
        let is_there = |name: &str| {
            policy.methods.contains_key(name) || project.defaults.methods.contains_key(name)
        };
        let mut missing: Vec<(String, String)> = Vec::new();
        for (class, envelope) in &policy.envelopes {
            let methods = envelope.verification.methods.iter().enumerate();
            missing.extend(methods.filter(|(_, name)| !is_there(name)).map(|(at, name)| {
                (format!("envelope {class}: /verification/methods/{at}"), name.clone())
            }));
        }
        for (pack, _) in &policy.packs {
            let rules = pack.rules.iter();
            missing.extend(rules.flat_map(|(class, rules)| {
                let names = rules.required_verifiers.iter().filter(|name| !is_there(name));
                let place =
                    format!("pack {}: /rules/{class}/requiredVerifiers", pack.policy_pack_id);
                names.map(move |name| (place.clone(), name.clone()))
            }));
        }
        for (place, method) in missing {
            let folder: PathBuf = Path::new(POLICY_PATH).join("envelopes");
            let message = format!(
                "there is no verifier `{method}`; put it into `.probity/verifiers/`, or under \
                 `methods` in the configuration"
            );
            self.checked.error(format!("{}: {place}", folder.display()), "method_unknown", message);
        }
    }
}
