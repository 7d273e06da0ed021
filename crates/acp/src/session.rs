//! Opening a session, and taking one up again.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    AgentCapabilities, EnvVariable, LoadSessionRequest, McpServer, McpServerStdio,
    NewSessionRequest, ResumeSessionRequest, SessionConfigOption, SessionConfigOptionCategory,
    SessionId, SessionModeState, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use probity_core::{NoteKind, Turn, Usage};
use probity_delegate::{Kept, Note};
use serde::{Deserialize, Serialize};

use crate::config::AcpConfig;
use crate::steps::{Halt, Steps};

/// A session of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    /// The round in which it was opened; `None` where that is not known, in an earlier one.
    pub(crate) opened: Option<Turn>,
}

/// How a session was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// It is new.
    New,
    /// The agent loaded it, and told again what was said in it.
    Loaded,
    /// The agent took it up in silence.
    Resumed,
}

/// A note of a session. Its own key, so that it is told from those of other delegates.
#[derive(Debug, Serialize, Deserialize)]
struct SessionNote {
    acp_session: String,
    way: Way,
}

/// The note that a session was come by.
pub(crate) fn note(id: &SessionId, way: Way) -> Note {
    let note = SessionNote { acp_session: id.to_string(), way };
    Note {
        kind: NoteKind::Session,
        // Two words always serialize.
        content: serde_json::to_vec(&note).unwrap_or_default(),
        usage: Usage::default(),
    }
}

/// The last session that the notes tell of.
pub(crate) fn last_noted(notes: &[Kept]) -> Option<Session> {
    let mut last: Option<Session> = None;
    for kept in notes.iter().filter(|kept| kept.kind == NoteKind::Session) {
        let Ok(note) = serde_json::from_slice::<SessionNote>(&kept.content) else { continue };
        let id = SessionId::new(note.acp_session);
        let opened = match (note.way, last) {
            (Way::New, _) => Some(kept.turn),
            (_, Some(before)) if before.id == id => before.opened,
            _ => None,
        };
        last = Some(Session { id, opened });
    }
    last
}

/// What an agent tells of a session when it is opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) way: Way,
    modes: Option<SessionModeState>,
    options: Vec<SessionConfigOption>,
}

/// Takes up `known` where the agent can, else opens a new session.
pub(crate) async fn open(
    steps: &Steps<'_>,
    can: &AgentCapabilities,
    config: &AcpConfig,
    root: &Path,
    known: Option<&SessionId>,
) -> Result<Opened, Halt> {
    let servers = servers(config);
    if let Some(id) = known
        && let Some(opened) = take_up(steps, can, root, id, &servers).await?
    {
        return Ok(opened);
    }
    let request = NewSessionRequest::new(root).mcp_servers(servers);
    let response = steps.call("session/new", request).await?;
    Ok(Opened {
        id: response.session_id,
        way: Way::New,
        modes: response.modes,
        options: response.config_options.unwrap_or_default(),
    })
}

/// `None` when the agent can't, or no longer has the session. In silence where it can: what is not
/// told again cannot be taken for something new.
async fn take_up(
    steps: &Steps<'_>,
    can: &AgentCapabilities,
    root: &Path,
    id: &SessionId,
    servers: &[McpServer],
) -> Result<Option<Opened>, Halt> {
    let found = |way, modes, options: Option<_>| {
        let options = options.unwrap_or_default();
        Ok(Some(Opened { id: id.clone(), way, modes, options }))
    };
    if can.session_capabilities.resume.is_some() {
        let request = ResumeSessionRequest::new(id.clone(), root).mcp_servers(servers.to_vec());
        match steps.call("session/resume", request).await {
            Ok(response) => return found(Way::Resumed, response.modes, response.config_options),
            Err(Halt::Refused { .. }) => {}
            Err(halt) => return Err(halt),
        }
    }
    if can.load_session {
        let request = LoadSessionRequest::new(id.clone(), root).mcp_servers(servers.to_vec());
        match steps.call("session/load", request).await {
            Ok(response) => {
                steps.quiet().await?;
                return found(Way::Loaded, response.modes, response.config_options);
            }
            Err(Halt::Refused { .. }) => {}
            Err(halt) => return Err(halt),
        }
    }
    Ok(None)
}

/// Sets the mode and the model that the configuration asks for.
pub(crate) async fn set_up(
    steps: &Steps<'_>,
    opened: &Opened,
    config: &AcpConfig,
) -> Result<(), Halt> {
    if let Some(mode) = &config.mode {
        set_mode(steps, opened, mode).await?;
    }
    if let Some(model) = &config.model {
        let Some(option) = option_of(opened, &SessionConfigOptionCategory::Model) else {
            return Err(Halt::Unfit {
                detail: "it offers no choice of model; leave `model` out".to_owned(),
            });
        };
        set_option(steps, opened, option, model).await?;
    }
    Ok(())
}

async fn set_mode(steps: &Steps<'_>, opened: &Opened, mode: &str) -> Result<(), Halt> {
    if let Some(modes) = &opened.modes {
        if *modes.current_mode_id.0 == *mode {
            return Ok(());
        }
        if !modes.available_modes.iter().any(|one| *one.id.0 == *mode) {
            let offered: Vec<String> =
                modes.available_modes.iter().map(|one| one.id.to_string()).collect();
            return Err(Halt::Unfit {
                detail: format!("it has no mode `{mode}`; it offers {}", offered.join(", ")),
            });
        }
    } else if let Some(option) = option_of(opened, &SessionConfigOptionCategory::Mode) {
        return set_option(steps, opened, option, mode).await;
    }
    // Agents need not tell their modes again when they take a session up.
    let request = SetSessionModeRequest::new(opened.id.clone(), mode.to_owned());
    steps.call("session/set_mode", request).await.map(|_| ())
}

fn option_of<'a>(
    opened: &'a Opened,
    category: &SessionConfigOptionCategory,
) -> Option<&'a SessionConfigOption> {
    opened.options.iter().find(|option| option.category.as_ref() == Some(category))
}

async fn set_option(
    steps: &Steps<'_>,
    opened: &Opened,
    option: &SessionConfigOption,
    value: &str,
) -> Result<(), Halt> {
    let request = SetSessionConfigOptionRequest::new(opened.id.clone(), option.id.clone(), value);
    steps.call("session/set_config_option", request).await.map(|_| ())
}

fn servers(config: &AcpConfig) -> Vec<McpServer> {
    let servers = config.mcp_servers.iter().map(|server| {
        let env = server.env.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
        let stdio = McpServerStdio::new(&server.name, &server.command);
        McpServer::Stdio(stdio.args(server.args.clone()).env(env))
    });
    servers.collect()
}
