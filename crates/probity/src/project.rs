//! The project's own policy: `.probity/probity.toml`, the defaults of every request, and the folders
//! beside it.

mod applied;
pub(crate) mod critic;
mod folder;
mod policy;
mod reviewed;
mod runs;

use std::path::{Path, PathBuf};

use probity_core::Digest;
use probity_policy::{ArtifactError, Place, PolicyFindings, Profile, distinct_names, in_order};
use probity_record::blob_digest;
use probity_verifier::{TrustError, TrustKind, TrustStore};
use serde_json::Value;

use crate::location;
use crate::request::{Format, Request, RequestError, Rung, RungStep};
pub(crate) use applied::{applied, unapplied};
pub(crate) use policy::Policy;
use reviewed::keep_tools;

/// Where the policy of a project is, below the workspace.
pub const POLICY_PATH: &str = ".probity";
/// Where the configuration is, below the workspace.
pub const CONFIG_PATH: &str = ".probity/probity.toml";

/// A project with its configuration.
#[derive(Debug, Clone)]
pub struct Project {
    /// The configuration file; the folder, where the project has policy and no configuration.
    pub path: PathBuf,
    /// What it asks for, paths made absolute.
    pub defaults: Request,
    /// What it is trusted as: the configuration, its hooks, profiles, envelopes and verifiers, and of
    /// configuration and profiles every file of a verifier or a tool and the files of the project
    /// that their command lines run, as bytes.
    pub digest: Digest,
    pub(crate) policy: Policy,
}

/// The project's configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The configuration is no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A verifier that it names cannot be read.
    #[error("cannot read `{path}`, which the project's configuration names: {source}")]
    Verifier {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of its folder cannot be read.
    #[error("cannot read `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A folder holds more files than are read.
    #[error("`{path}` holds more than {max} files")]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// The bound.
        max: usize,
    },
    /// A hook or a profile.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// An envelope or a pack.
    #[error("`{path}`: {findings}")]
    Policy {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it.
        findings: PolicyFindings,
    },
    /// Two files say the same.
    #[error("there are two files with a {what} `{name}`; remove one")]
    Twice {
        /// What they are.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A request names a profile that is not there.
    #[error("there is no profile `{name}` in `.probity/agents/`{hint}")]
    NoProfile {
        /// The name.
        name: String,
        /// The names that are there.
        hint: String,
    },
    /// A profile names a hook that is not there.
    #[error("profile `{profile}` names the hook `{hook}`, which is not in `.probity/hooks/`")]
    NoHook {
        /// The profile.
        profile: String,
        /// The hook.
        hook: String,
    },
    /// A profile's checks or bounds are not those of a request.
    #[error("profile `{profile}`: {detail}")]
    Profile {
        /// The profile.
        profile: String,
        /// What is wrong.
        detail: String,
    },
    /// A request would weaken what the project checks.
    #[error(
        "`{key}` of a request would weaken the project's checks; put it into {CONFIG_PATH}, or leave \
         the project out with --no-project"
    )]
    Weakens {
        /// The key.
        key: &'static str,
    },
    /// A request names another class of decisions than the project or the profile does.
    #[error("decisions of this delegate are of type `{operators}`, not `{callers}`; drop the key")]
    OtherClass {
        /// The operator's.
        operators: String,
        /// The request's.
        callers: String,
    },
    /// A request brings a tool or a server under the name of one that the operator reviewed.
    #[error(
        "the tool or server `{name}` is the operator's here; give yours another name, or put the \
         change into the project"
    )]
    ToolTaken {
        /// Its name.
        name: String,
    },
    /// A request says of the operator's chat model what only the operator may.
    #[error(
        "`{key}` of a chat model is for whoever names its `endpoint` to say; put it into the \
         project, or bring an `endpoint` of your own"
    )]
    ChatKey {
        /// The key.
        key: String,
    },
    /// The workspace lies inside a project.
    #[error(
        "the workspace lies inside the project `{root}`, whose policy would be left out; use \
         --workspace {root}, or leave the project out with --no-project"
    )]
    Above {
        /// The project's folder.
        root: PathBuf,
    },
    /// Nobody allowed it.
    #[error(
        "`{path}` came with this folder and would decide what runs and what is checked; read it, \
         then allow exactly this version with `probity trust {path}`, or leave it out with \
         --no-project"
    )]
    Untrusted {
        /// The configuration.
        path: PathBuf,
    },
    /// The list of what is trusted cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// There is no place for the list.
    #[error("no home folder for the list of trusted files; set XDG_CONFIG_HOME")]
    NoHome,
}

impl ProjectError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Request(error) => error.code(),
            Self::Verifier { .. } => "project_verifier",
            Self::File { .. } => "project_file",
            Self::TooMany { .. } => "project_too_many",
            Self::Artifact(error) => error.code(),
            Self::Policy { .. } => "project_policy",
            Self::Twice { .. } => "project_twice",
            Self::NoProfile { .. } => "profile_missing",
            Self::NoHook { .. } => "profile_hook_missing",
            Self::Profile { .. } => "profile_request",
            Self::ToolTaken { .. } => "request_tool_taken",
            Self::ChatKey { .. } => "request_chat_key",
            Self::Above { .. } => "project_above",
            Self::Weakens { .. } => "request_weakens",
            Self::OtherClass { .. } => "decision_type_taken",
            Self::Untrusted { .. } => "project_untrusted",
            Self::Trust(error) => error.code(),
            Self::NoHome => "store_no_home",
        }
    }
}

impl Project {
    /// Reads the policy of the project at `root`; `None` where there is none.
    ///
    /// # Errors
    /// [`ProjectError`] if a file of it cannot be read or is not what it should be.
    pub fn find(root: &Path) -> Result<Option<Self>, ProjectError> {
        let path = root.join(CONFIG_PATH);
        if path.symlink_metadata().is_ok() {
            return Self::load(&path, root).map(Some);
        }
        let policy = Policy::load(root)?;
        if policy.is_empty() {
            return Ok(None);
        }
        Self::build(root.join(POLICY_PATH), Request::default(), Vec::new(), policy, root).map(Some)
    }

    /// The folder above `inside` that holds policy; a run below it would leave that policy out.
    ///
    /// # Errors
    /// As [`Project::find`].
    pub fn above(inside: &Path) -> Result<Option<PathBuf>, ProjectError> {
        for folder in inside.ancestors().skip(1) {
            // Most folders have none, and that is cheap to see.
            if folder.join(POLICY_PATH).is_dir() && Self::find(folder)?.is_some() {
                return Ok(Some(folder.to_path_buf()));
            }
        }
        Ok(None)
    }

    /// Reads a configuration, or a `.probity` folder without one. Its paths are relative to `root`,
    /// the project's folder.
    ///
    /// # Errors
    /// As [`Project::find`].
    pub fn load(path: &Path, root: &Path) -> Result<Self, ProjectError> {
        if path.is_dir() {
            let policy = Policy::load(root)?;
            return Self::build(path.to_path_buf(), Request::default(), Vec::new(), policy, root);
        }
        let failed = |source| RequestError::Read { path: path.to_path_buf(), source };
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(std::io::Error::other("it is no regular file")).into());
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let mut defaults = Request::parse(&text, Format::Toml, &path.display().to_string())?;
        let parts = vec![blob_digest(text.as_bytes())];
        defaults.files_mut().for_each(|file| *file = root.join(&*file));
        defaults.root_sandbox(root);
        defaults.sealed.push(path.to_path_buf());
        if let Some(workspace) = &mut defaults.workspace {
            *workspace = root.join(&*workspace);
        }
        Self::build(path.to_path_buf(), defaults, parts, Policy::load(root)?, root)
    }

    fn build(
        path: PathBuf,
        mut defaults: Request,
        mut parts: Vec<Digest>,
        policy: Policy,
        root: &Path,
    ) -> Result<Self, ProjectError> {
        parts.extend(runs::digests(&mut defaults, root)?);
        parts.extend(&policy.digests);
        defaults.sealed.extend(policy.files.iter().cloned());
        let digest = blob_digest(&[]);
        let mut project = Self { path, defaults, digest, policy };
        for profile in project.policy.profiles.values() {
            // One that is no request is never used, and told where it is asked for.
            let Ok(mut request) = project.request_of(profile) else { continue };
            parts.extend(runs::digests(&mut request, root)?);
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| *part.as_bytes()).collect();
        project.digest = blob_digest(&bytes);
        Ok(project)
    }

    /// A request with what the project says: its defaults, the profile it names, every hook, and the
    /// envelope of its decision. Checks, hooks and verifiers of all of them count: a caller adds to
    /// them and never removes one.
    ///
    /// # Errors
    /// [`ProjectError`] if the request names a profile that is not there or cannot be used, or two
    /// hooks share a name.
    pub fn apply(&self, request: Request) -> Result<Request, ProjectError> {
        self.refuse_weakening(&request)?;
        keep_tools(&self.defaults, &request)?;
        let mut request = request;
        let callers = std::mem::take(&mut request.hooks);
        request.callers_hooks = callers.len();
        let named = request.agent.clone().or_else(|| self.defaults.agent.clone());
        let request = match named {
            None => request,
            Some(name) => {
                let profile = self.profile(&name)?;
                same_class(&profile, &request)?;
                keep_tools(&profile, &request)?;
                request.under(profile)
            }
        };
        same_class(&self.defaults, &request)?;
        let mut request = request.under(self.defaults.clone());
        // The caller's come last, whatever their priority: one that rewrites the claim must not do
        // so before the operator's have seen it.
        let mut hooks = self.policy.hooks.clone();
        hooks.append(&mut request.hooks);
        hooks = in_order(hooks);
        hooks.extend(in_order(callers));
        distinct_names(&hooks, &Place::file(&self.path.display().to_string()))?;
        request.hooks = hooks;
        for (name, method) in &self.policy.methods {
            if !self.defaults.methods.contains_key(name) {
                request.methods.insert(name.clone(), method.clone());
            }
        }
        if let Some(class) = request.decision_class() {
            let ours = self.policy.envelopes.get(&class).or(self.defaults.envelope.as_ref());
            if let Some(envelope) = ours {
                request.envelope = Some(envelope.clone());
                // What the operator's envelope names is the operator's, too.
                let is_ours = |name: &String| {
                    self.defaults.methods.contains_key(name)
                        || self.policy.methods.contains_key(name)
                };
                request.methods.retain(|name, _| is_ours(name));
            }
            if let Some(pack) = self.policy.pack_for(&class) {
                request.policy_pack = Some(pack.clone());
            }
        }
        critic::resolve(&mut request, |name| self.profile(name))?;
        Ok(request)
    }

    /// A caller's globs hide files from checks and take them out of the seal. The operator's checks
    /// were written without them.
    fn refuse_weakening(&self, request: &Request) -> Result<(), ProjectError> {
        let opens = request.sandbox.as_ref().is_some_and(|asked| !asked.writable.is_empty());
        if opens && self.defaults.sandbox.is_some() {
            return Err(ProjectError::Weakens { key: "sandbox.writable" });
        }
        let key = match (request.ignore.is_empty(), request.may_change.is_empty()) {
            (true, true) => return Ok(()),
            (false, _) => "ignore",
            (true, false) => "may_change",
        };
        let has_profile = request.agent.is_some() || self.defaults.agent.is_some();
        let has_checks = !self.defaults.expect.is_empty()
            || !self.defaults.verify.is_empty()
            || !self.defaults.verify_files.is_empty();
        if has_checks || has_profile || !self.policy.is_empty() {
            return Err(ProjectError::Weakens { key });
        }
        Ok(())
    }

    /// What a profile says, as a request.
    ///
    /// # Errors
    /// As [`Project::apply`].
    pub fn profile(&self, name: &str) -> Result<Request, ProjectError> {
        let found = self.policy.profiles.values().find(|profile| profile.name.as_str() == name);
        let profile = found.ok_or_else(|| {
            let names: Vec<&str> = self.policy.profiles.keys().map(|name| name.as_str()).collect();
            let hint = match names.is_empty() {
                true => String::new(),
                false => format!("; there are {}", names.join(", ")),
            };
            ProjectError::NoProfile { name: name.to_owned(), hint }
        })?;
        self.request_of(profile)
    }

    fn request_of(&self, profile: &Profile) -> Result<Request, ProjectError> {
        let failed =
            |detail: String| ProjectError::Profile { profile: profile.name.to_string(), detail };
        let defaults = Value::Object(profile.request_defaults());
        let mut request: Request =
            serde_json::from_value(defaults).map_err(|error| failed(error.to_string()))?;
        request.agent = Some(profile.name.to_string());
        request.kind = Some(profile.kind.clone());
        request.decision_type.clone_from(&profile.decision_type);
        request.system_prompt =
            Some(profile.system_prompt.clone()).filter(|prompt| !prompt.is_empty());
        for (step, rung) in &profile.rungs {
            let step: RungStep = serde_json::from_value(step.as_str().into())
                .map_err(|error| failed(error.to_string()))?;
            let format = format_of(rung.format.as_deref()).map_err(failed)?;
            request.rungs.insert(step, Rung { command: rung.command.clone(), format });
        }
        if let Some(root) = self.root() {
            request.files_mut().for_each(|file| *file = root.join(&*file));
        }
        for hook in &profile.hooks {
            match hook {
                probity_policy::HookRef::Inline(hook) => request.hooks.push(hook.clone()),
                // Every hook of the folder is called for every delegation.
                probity_policy::HookRef::Named(name) => {
                    if self.policy.hooks.iter().all(|hook| hook.name != *name) {
                        let profile = profile.name.to_string();
                        return Err(ProjectError::NoHook { profile, hook: name.to_string() });
                    }
                }
            }
        }
        Ok(request)
    }

    fn root(&self) -> Option<&Path> {
        let folder =
            if self.path.ends_with(POLICY_PATH) { Some(&*self.path) } else { self.path.parent() };
        folder.and_then(Path::parent)
    }

    /// Refuses a project that nobody allowed, by its exact hash. Also one that runs nothing: it can
    /// exempt files from the seal or open hosts.
    ///
    /// # Errors
    /// [`ProjectError::Untrusted`], or the list of what is trusted cannot be read.
    pub fn require_trust(&self) -> Result<(), ProjectError> {
        if self.is_trusted()? {
            return Ok(());
        }
        Err(ProjectError::Untrusted { path: self.path.clone() })
    }

    /// Whether exactly this version was allowed.
    ///
    /// # Errors
    /// [`ProjectError::Trust`] if the list cannot be read.
    pub fn is_trusted(&self) -> Result<bool, ProjectError> {
        Ok(trust_store()?.is_trusted(TrustKind::Config, &self.digest))
    }

    /// Allows exactly this version.
    ///
    /// # Errors
    /// [`ProjectError::Trust`] if the list cannot be written.
    pub fn trust(&self) -> Result<(), ProjectError> {
        let label = self.path.display().to_string();
        Ok(trust_store()?.trust(TrustKind::Config, self.digest, &label)?)
    }
}

/// The class of decisions is the operator's to say, where it says one.
fn same_class(operator: &Request, caller: &Request) -> Result<(), ProjectError> {
    match (operator.decision_class(), caller.decision_class()) {
        (Some(operators), Some(callers)) if operators != callers => {
            Err(ProjectError::OtherClass { operators, callers })
        }
        _ => Ok(()),
    }
}

fn format_of(format: Option<&str>) -> Result<Option<probity_delegate::Format>, String> {
    let parse = |word: &str| serde_json::from_value(word.into()).map_err(|error| error.to_string());
    format.map(parse).transpose()
}

/// A file that the configuration names.
fn named(path: &Path) -> Result<Vec<u8>, ProjectError> {
    folder::read(path).map_err(of_configuration)
}

fn of_configuration(error: ProjectError) -> ProjectError {
    match error {
        ProjectError::File { path, source } => ProjectError::Verifier { path, source },
        error => error,
    }
}

fn trust_store() -> Result<TrustStore, ProjectError> {
    let path = location::trust_file().ok_or(ProjectError::NoHome)?;
    Ok(TrustStore::open(path)?)
}
