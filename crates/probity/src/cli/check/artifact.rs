//! Hooks and profiles.

use std::path::Path;

use probity_policy::{FrontMatter, HookArtifact, MAX_ARTIFACT_BYTES, Profile};
use probity_script::{Host, Limits, Script, ScriptHook};

use super::Checker;
use crate::cli::source::read_text;
use crate::request::Request;
use crate::{Project, ProjectError};

impl Checker<'_> {
    /// Whether a Markdown file is a profile: by its folder, or by its keys.
    pub(super) fn is_profile(&self, path: &Path) -> bool {
        match path.parent().and_then(Path::file_name).and_then(|name| name.to_str()) {
            Some("agents") => return true,
            Some("hooks") => return false,
            _ => {}
        }
        let text = read_text(path, MAX_ARTIFACT_BYTES).unwrap_or_default();
        let parsed = FrontMatter::parse(&path.display().to_string(), &text);
        let has = |key| parsed.as_ref().is_ok_and(|parsed| parsed.get(key).is_some());
        !has("event") && ["command", "endpoint", "acp", "rungs"].into_iter().any(has)
    }

    /// A hook in a file: its front matter, its script, its `when`.
    pub(super) async fn hook_file(&mut self, path: &Path) {
        let name = self.name(path, "");
        let Some(text) = self.text(path) else { return };
        match HookArtifact::parse(&name, &text) {
            Ok(hook) => self.hook(name, &hook).await,
            Err(error) => self.checked.error(name, error.code(), error.to_string()),
        }
    }

    /// A hook that was read.
    pub(super) async fn hook(&mut self, name: String, hook: &HookArtifact) {
        let script = match Script::new(hook.name.as_str(), hook.script.as_str()) {
            Ok(script) => script,
            Err(error) => return self.checked.error(name, "script_read", error.to_string()),
        };
        let wall_ms = hook.timeout_ms.min(Limits::default().wall_ms);
        let limits = Limits { wall_ms, ..Limits::default() };
        let execution = self.execution();
        let made = ScriptHook::new(script, hook.when.clone(), Host::default(), limits, execution);
        let checked = match made {
            Ok(hook) => hook.check().await,
            Err(fault) => Err(fault),
        };
        match checked {
            Ok(()) => {
                let message = format!("compiles; called at {}", hook.event);
                self.checked.ok(name, message);
            }
            Err(fault) => self.fault(name, &fault),
        }
    }

    /// A profile: what it says, its checks and hooks, the programs it calls, and a plan with it.
    pub(super) async fn profile_file(&mut self, path: &Path, project: Option<&Project>) {
        let name = self.name(path, "");
        let Some(text) = self.text(path) else { return };
        let profile = match Profile::parse(&name, &text) {
            Ok(profile) => profile,
            Err(error) => return self.checked.error(name, error.code(), error.to_string()),
        };
        let before = self.checked.errors();
        let Some(project) = project else { return };
        match project.profile(profile.name.as_str()) {
            Ok(request) => self.pieces(path, &request).await,
            // Of another project, or of none.
            Err(ProjectError::NoProfile { .. }) => return self.checked.ok(name, "a profile"),
            Err(error) => return self.checked.error(name, error.code(), error.to_string()),
        }
        let agent = Some(profile.name.to_string());
        let workspace = Some(self.root_of(path));
        let asked = Request { agent, workspace, ..Request::default() };
        self.whole(path, project.apply(asked).map_err(Into::into), before);
        if self.checked.errors() == before {
            self.checked.ok(name, format!("a profile of kind {}", profile.kind));
        }
    }

    fn text(&mut self, path: &Path) -> Option<String> {
        match read_text(path, MAX_ARTIFACT_BYTES) {
            Ok(text) => Some(text),
            Err(error) => {
                self.checked.error(self.name(path, ""), error.code(), error.to_string());
                None
            }
        }
    }
}
