//! Checks that ask another delegate.

use std::path::Path;
use std::sync::Arc;

use probity_chat::Toolbox;
use probity_core::Code;
use probity_delegate::{CommandConfig, CommandDelegate, DEFAULT_TIMEOUT_MS, Delegate, Format};
use probity_engine::{Critic, CriticConfig, CriticError, DEFAULT_CRITIC_TRIES};
use probity_verifier::Verifier;
use probity_verifier::spec::AgentSpec;
use serde_json::Value;

use super::PrepareError;
use super::builder::Builder;
use super::chat::ChatSeat;
use super::delegate::{agent, model};
use crate::request::{Acp, Chat};

impl Builder<'_> {
    /// The critic of a check, which may not be who does the work unless the check says so.
    pub(super) fn critic(
        &mut self,
        spec: &AgentSpec,
        id: &Code,
    ) -> Result<Arc<dyn Verifier>, PrepareError> {
        let delegate = self.critic_delegate(spec)?;
        let mut actors = self.actors.clone();
        let (root, identity) = (self.workspace.root(), delegate.identity());
        let asked = one_spelling(&identity, root);
        if actors.iter().any(|actor| one_spelling(actor, root) == asked) {
            actors.push(identity);
        }
        let critic = Critic::new(CriticConfig {
            delegate,
            system: spec.system_prompt.as_deref().map(Into::into),
            criteria: spec.criteria.clone().into_iter().collect(),
            actors,
            allow_self: spec.allow_self,
            min_confidence_bp: spec.min_confidence_bp(),
            max_tries: DEFAULT_CRITIC_TRIES,
        });
        let critic = critic.map_err(readable)?;
        if critic.is_actor() {
            self.warnings.push(format!(
                "check `{id}` asks the delegate whose work it judges: this is self-verification, and \
                 its verdicts say so"
            ));
        }
        // Who is asked decides, and so does what: both are sealed with the files.
        let asked = serde_json::to_vec(spec).map_err(PrepareError::Record)?;
        self.judge = self.judge.clone().text(format!("agent {id}"), &asked);
        Ok(Arc::new(critic))
    }

    fn critic_delegate(&self, spec: &AgentSpec) -> Result<Arc<dyn Delegate>, PrepareError> {
        let wrong = |what: &str, error: serde_json::Error| {
            PrepareError::Delegate(format!("`{what}` of an `agent` check: {error}"))
        };
        if let Some(name) = &spec.profile {
            return Err(PrepareError::NoProfile { name: name.clone() });
        }
        if let Some(chat) = &spec.chat {
            let chat: Chat = serde_json::from_value(Value::Object(chat.clone()))
                .map_err(|error| wrong("chat", error))?;
            if !chat.tools.is_empty() || !chat.mcp.is_empty() {
                return Err(PrepareError::CriticTools);
            }
            let model = Arc::new(model(&chat, self.keys)?);
            let launcher = self.programs.launcher.clone();
            let (tools, servers) = (Toolbox::default(), Vec::new());
            return Ok(Arc::new(ChatSeat::new(&chat, model, tools, servers, launcher)));
        }
        if let Some(acp) = &spec.acp {
            let acp: Acp = serde_json::from_value(Value::Object(acp.clone()))
                .map_err(|error| wrong("acp", error))?;
            return agent(&acp, DEFAULT_TIMEOUT_MS, &self.workspace, self.programs);
        }
        let format = spec.format.as_deref().map(|word| serde_json::from_value(word.into()));
        let format: Option<Format> = format.transpose().map_err(|error| wrong("format", error))?;
        let config = CommandConfig {
            format: format.unwrap_or_default(),
            timeout_ms: DEFAULT_TIMEOUT_MS,
            ..CommandConfig::new(spec.command.iter().cloned())
        };
        let launcher = self.programs.launcher.clone();
        let delegate = CommandDelegate::new(config, self.workspace.root(), launcher)
            .map_err(|error| PrepareError::Delegate(error.to_string()))?;
        Ok(Arc::new(delegate))
    }
}

/// The error in words for people: a command line with spaces between its words.
fn readable(error: CriticError) -> CriticError {
    match error {
        CriticError::IsActor { identity } => {
            CriticError::IsActor { identity: identity.replace('\u{1f}', " ") }
        }
        error => error,
    }
}

/// An identity as it is compared: `agent`, `/usr/bin/agent` and `bin/../bin/agent` are one program where
/// they lead to one, under a `command` and under `acp`, and this machine has one name. A link counts
/// by its own name: what stands behind it may go by the name that it was called.
fn one_spelling(identity: &str, root: &Path) -> String {
    let text = identity.replace('\u{1f}', " ");
    let text = text.replace("//127.0.0.1", "//localhost").replace("//[::1]", "//localhost");
    let (program, rest) = text.split_once(' ').unwrap_or((&text, ""));
    let found = match program.contains('/') {
        true => Some(root.join(program)),
        false => std::env::var_os("PATH").and_then(|path| {
            let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
            places.find(|place| place.is_file())
        }),
    };
    let real = found.filter(|place| place.is_file()).and_then(|place| {
        let folder = place.parent()?.canonicalize().ok()?;
        Some(folder.join(place.file_name()?).to_string_lossy().into_owned())
    });
    format!("{} {rest}", real.as_deref().unwrap_or(program))
}
