//! Who does the work: a command, a chat model with tools, an agent.

use std::sync::Arc;

use probity_acp::AcpDelegate;
use probity_chat::{Model, Tool, Toolbox};
use probity_delegate::{CommandConfig, CommandDelegate, DEFAULT_TIMEOUT_MS, Delegate, Format};
use probity_llm::{Endpoint, EndpointConfig, Secret};
use probity_sandbox::Launcher;
use probity_verifier::Workspace;
use url::{Host, Url};

use super::PrepareError;
use super::builder::Builder;
use super::chat::{ChatSeat, server};
use crate::location::Programs;
use crate::request::{Acp, Chat, Millis, Request};

/// Whether keys of model providers are read from the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// A run is prepared: a key that is not there is an error.
    Needed,
    /// Nobody will be asked.
    Left,
}

/// A delegate, known by its name before its tools are made: what they must keep off, only the finished
/// judge knows.
pub(super) enum Seat {
    /// Made.
    Taken(Arc<dyn Delegate>),
    /// A chat model that is to have its tools.
    Chat(Arc<dyn Model>),
}

impl Seat {
    /// The delegate that a request names.
    ///
    /// # Errors
    /// [`PrepareError`] if it names none or several, or one that cannot be used as it says.
    pub(super) fn of(
        request: &Request,
        workspace: &Workspace,
        programs: &Programs,
        keys: Keys,
    ) -> Result<Self, PrepareError> {
        let has_command = !request.command.is_empty();
        match (has_command, &request.chat, &request.acp) {
            (false, None, None) => Err(PrepareError::NoCommand),
            (true, None, None) => {
                command(request, &request.command, request.format, workspace, programs)
                    .map(Self::Taken)
            }
            (false, Some(chat), None) => {
                refuse_command_keys(request)?;
                Ok(Self::Chat(Arc::new(model(chat, keys)?)))
            }
            (false, None, Some(acp)) => {
                refuse_command_keys(request)?;
                agent(acp, attempt_ms(request), workspace, programs).map(Self::Taken)
            }
            (_, Some(chat), _) if chat.endpoint.is_none() => {
                let key = chat.keys().into_iter().next().unwrap_or_else(|| "chat".to_owned());
                Err(PrepareError::ChatKey { key })
            }
            _ => Err(PrepareError::Delegates),
        }
    }

    /// Who it is, to tell a critic from it.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::Taken(delegate) => delegate.identity(),
            Self::Chat(model) => model.identity(),
        }
    }

    /// The delegate, its tools made; the launcher starts their servers.
    ///
    /// # Errors
    /// [`PrepareError`] if a tool cannot be used.
    pub(super) fn fill(
        self,
        builder: &Builder<'_>,
        launcher: Launcher,
    ) -> Result<Arc<dyn Delegate>, PrepareError> {
        let model = match self {
            Self::Taken(delegate) => return Ok(delegate),
            Self::Chat(model) => model,
        };
        let chat = builder.request.chat.clone().unwrap_or_default();
        let tools: Vec<Arc<dyn Tool>> = builder.tools(&chat.tools)?;
        let tools = Toolbox::new(tools)?;
        let root = builder.workspace.root();
        let servers = chat.mcp.iter().map(|(name, mcp)| (name.clone(), server(mcp, root)));
        let seat = ChatSeat::new(&chat, model, tools, servers.collect(), launcher);
        Ok(Arc::new(if builder.programs.are_of_worker { seat.of_worker() } else { seat }))
    }
}

/// How long one attempt of a program may take. A run that was given more than the default is not cut at
/// the default.
fn attempt_ms(request: &Request) -> u64 {
    let of_run = request.timeout.map_or(0, Millis::get);
    request.attempt_timeout.map_or(DEFAULT_TIMEOUT_MS.max(of_run), Millis::get)
}

/// A delegate that is a command.
pub(super) fn command(
    request: &Request,
    argv: &[String],
    format: Option<Format>,
    workspace: &Workspace,
    programs: &Programs,
) -> Result<Arc<dyn Delegate>, PrepareError> {
    let is_usual = argv == request.command.as_slice();
    let config = CommandConfig {
        resume: request.resume.clone().filter(|_| is_usual),
        format: format.unwrap_or_default(),
        on_error: request.on_delegate_error.unwrap_or_default(),
        timeout_ms: attempt_ms(request),
        ..CommandConfig::new(argv.iter().cloned())
    };
    let delegate = CommandDelegate::new(config, workspace.root(), programs.launcher.clone())
        .map_err(|error| PrepareError::Delegate(error.to_string()))?;
    Ok(Arc::new(delegate))
}

/// A delegate that speaks the Agent Client Protocol.
pub(super) fn agent(
    acp: &Acp,
    timeout_ms: u64,
    workspace: &Workspace,
    programs: &Programs,
) -> Result<Arc<dyn Delegate>, PrepareError> {
    let failed = |detail: String| PrepareError::Delegate(detail);
    let mut config = acp.config().map_err(|error| failed(format!("`permissions`: {error}")))?;
    config.timeout_ms = timeout_ms;
    let delegate = AcpDelegate::new(config, workspace.root(), programs.launcher.clone())
        .map_err(|error| failed(format!("`acp`: {error}")))?;
    Ok(Arc::new(delegate))
}

/// The model of a chat delegate, its key read. Nothing is asked yet.
pub(super) fn model(chat: &Chat, keys: Keys) -> Result<Endpoint, PrepareError> {
    let Some(endpoint) = &chat.endpoint else { return Err(PrepareError::ChatNeeds("endpoint")) };
    let Some(name) = &chat.model else { return Err(PrepareError::ChatNeeds("model")) };
    let api = chat.api.unwrap_or(crate::request::ChatApi::OpenAi).into();
    let mut config = EndpointConfig::new(api, endpoint, name);
    config.stream = chat.stream.unwrap_or_default();
    config.temperature = chat.temperature;
    config.max_output_tokens = chat.max_output_tokens;
    if let Some(timeout) = chat.call_timeout {
        config.timeout_ms = timeout.get();
    }
    if keys == Keys::Needed {
        config.key = key(chat, endpoint)?;
    }
    Ok(Endpoint::new(config)?)
}

fn key(chat: &Chat, endpoint: &str) -> Result<Option<Secret>, PrepareError> {
    let (variable, is_named) = chat.variable();
    if !is_named && is_readable_on_the_way(endpoint) {
        return Ok(None);
    }
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(Some(Secret::new(key))),
        _ if !is_named && is_on_this_machine(endpoint) => Ok(None),
        _ => Err(PrepareError::NoKey { variable: variable.to_owned() }),
    }
}

/// The variables of keys that a run of the request needs and that are not set.
pub(crate) fn missing_keys<'a>(chats: impl IntoIterator<Item = &'a Chat>) -> Vec<String> {
    let missing = chats.into_iter().filter_map(|chat| {
        match key(chat, chat.endpoint.as_deref().unwrap_or_default()) {
            Err(PrepareError::NoKey { variable }) => Some(variable),
            _ => None,
        }
    });
    missing.collect()
}

/// Whether others than the server could read what is sent to it: a key that nobody named for it does not
/// go there.
fn is_readable_on_the_way(endpoint: &str) -> bool {
    endpoint.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"))
        && !is_on_this_machine(endpoint)
}

/// Whether nothing can leave the machine: also where the address cannot be used at all, which is told
/// by whoever uses it.
fn is_on_this_machine(endpoint: &str) -> bool {
    let Ok(url) = Url::parse(endpoint) else { return true };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => true,
    }
}

/// Keys that say something of a command line only.
fn refuse_command_keys(request: &Request) -> Result<(), PrepareError> {
    let given = [("resume", request.resume.is_some()), ("format", request.format.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(PrepareError::CommandKey { key }),
        None => Ok(()),
    }
}
