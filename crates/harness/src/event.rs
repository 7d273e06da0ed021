//! What a tool says on standard input of its hook.
//!
//! Tools add members as they grow, so unknown ones are passed over. What is decided upon is read strictly: a
//! wrong type is an error and never a default.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::tool::{Role, Tool};

/// The longest event, in bytes.
pub const MAX_EVENT_BYTES: usize = 16 << 20;
/// The longest name of a session, an agent or a task, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// An event of a tool, as far as it is acted upon.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Whose.
    pub tool: Tool,
    /// As the tool names it.
    pub name: &'static str,
    /// What it means.
    pub role: Role,
    /// The tool's name of the session.
    pub session: String,
    /// The tool's name of the sub-agent, where one stops.
    pub agent: Option<String>,
    /// The kind of that sub-agent.
    pub agent_kind: Option<String>,
    /// The tool's name of the task, where one is done.
    pub task: Option<String>,
    /// Where the agent is.
    pub cwd: PathBuf,
    /// The conversation, as far as the tool writes it down.
    pub transcript: Option<PathBuf>,
    /// The agent goes on because a hook did not let it stop; `None` where the tool does not say.
    pub is_continued: Option<bool>,
    /// What the user asked for, what the agent said last, or what the task is.
    pub text: String,
    /// The tool that is to be used, and what with.
    pub uses: Option<(String, Map<String, Value>)>,
}

/// What was read is not an event of that tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// Not JSON, or no object.
    #[error("what {tool} wrote to standard input is no JSON object: {detail}")]
    Json {
        /// Who wrote it.
        tool: Tool,
        /// What is wrong.
        detail: String,
    },
    /// A member that is decided upon is missing, or is none of its kind.
    #[error("the event of {tool} has no usable `{member}`: {wanted} is needed")]
    Member {
        /// Who wrote it.
        tool: Tool,
        /// Which.
        member: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// An event that is not heard here.
    #[error("`{name}` is no event of {tool} that probity answers")]
    Unheard {
        /// Who wrote it.
        tool: Tool,
        /// Its name.
        name: String,
    },
    /// The hook was installed for another event.
    #[error("the hook was installed for `{expected}` and was given `{name}`")]
    Other {
        /// What the command line says.
        expected: String,
        /// What standard input says.
        name: String,
    },
}

impl EventError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json { .. } => "hook_event_json",
            Self::Member { .. } => "hook_event_member",
            Self::Unheard { .. } => "hook_event_unheard",
            Self::Other { .. } => "hook_event_other",
        }
    }
}

/// Reads an event. `expected` is what the hook was installed for, where that is known.
///
/// # Errors
/// [`EventError`] if it is no event of that tool, or not the one.
pub fn read(tool: Tool, expected: Option<&str>, bytes: &[u8]) -> Result<Event, EventError> {
    let broken = |detail: String| EventError::Json { tool, detail };
    let object = match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(broken("another kind of value".to_owned())),
        Err(error) => return Err(broken(error.to_string())),
    };
    let reader = Reader { tool, object: &object };
    let said = reader.name("hook_event_name")?;
    let found = tool.events().iter().find(|(name, _)| *name == said);
    let Some((name, role)) = found.copied() else {
        return Err(EventError::Unheard { tool, name: said.chars().take(64).collect() });
    };
    if let Some(expected) = expected.filter(|expected| *expected != name) {
        return Err(EventError::Other { expected: expected.to_owned(), name: name.to_owned() });
    }
    reader.event(name, role)
}

struct Reader<'a> {
    tool: Tool,
    object: &'a Map<String, Value>,
}

impl Reader<'_> {
    fn event(&self, name: &'static str, role: Role) -> Result<Event, EventError> {
        let cwd = PathBuf::from(self.name("cwd")?);
        if !cwd.is_absolute() {
            return Err(self.lacks("cwd", "an absolute path"));
        }
        let is_subagent = role == Role::Subagent;
        let is_task = role == Role::Task;
        Ok(Event {
            tool: self.tool,
            name,
            role,
            session: self.name("session_id")?.to_owned(),
            agent: if is_subagent { Some(self.name("agent_id")?.to_owned()) } else { None },
            agent_kind: if is_subagent { self.text("agent_type")? } else { None },
            task: if is_task { Some(self.name("task_id")?.to_owned()) } else { None },
            cwd,
            transcript: self.transcript(role)?,
            is_continued: match role {
                Role::Stop | Role::Subagent => self.continued()?,
                _ => None,
            },
            text: self.said(role)?,
            uses: if role == Role::Guard { Some(self.uses()?) } else { None },
        })
    }

    fn said(&self, role: Role) -> Result<String, EventError> {
        let text = match (self.tool, role) {
            (_, Role::Begin) => self.text("prompt")?,
            (Tool::Gemini, Role::Stop) => self.text("prompt_response")?,
            (_, Role::Stop | Role::Subagent) => self.text("last_assistant_message")?,
            (_, Role::Task) => {
                let (subject, more) = (self.text("task_subject")?, self.text("task_description")?);
                let parts: Vec<String> = [subject, more].into_iter().flatten().collect();
                Some(parts.join("\n\n"))
            }
            (_, Role::Guard | Role::End) => None,
        };
        Ok(text.unwrap_or_default())
    }

    fn transcript(&self, role: Role) -> Result<Option<PathBuf>, EventError> {
        let own = match role {
            Role::Subagent => self.text("agent_transcript_path")?,
            _ => None,
        };
        let path = match own {
            Some(path) => Some(path),
            None => self.text("transcript_path")?,
        };
        Ok(path.filter(|path| !path.is_empty()).map(PathBuf::from))
    }

    fn uses(&self) -> Result<(String, Map<String, Value>), EventError> {
        let tool = self.name("tool_name")?.to_owned();
        match self.object.get("tool_input") {
            Some(Value::Object(input)) => Ok((tool, input.clone())),
            _ => Err(self.lacks("tool_input", "an object")),
        }
    }

    /// A short text that must be there.
    fn name(&self, member: &'static str) -> Result<&str, EventError> {
        let text = self.object.get(member).and_then(Value::as_str);
        let is_name = |text: &&str| !text.trim().is_empty() && text.len() <= MAX_NAME_BYTES;
        match member {
            "cwd" => text.filter(|text| !text.is_empty()),
            _ => text.filter(is_name),
        }
        .ok_or_else(|| self.lacks(member, "a text that is not empty and not overlong"))
    }

    /// Versions of Gemini CLI say `false` of every claim, so only its `true` says something.
    fn continued(&self) -> Result<Option<bool>, EventError> {
        let flag = self.flag("stop_hook_active")?;
        Ok(Some(flag).filter(|flag| *flag || self.tool != Tool::Gemini))
    }

    fn flag(&self, member: &'static str) -> Result<bool, EventError> {
        match self.object.get(member) {
            Some(Value::Bool(flag)) => Ok(*flag),
            // Versions before the member was there never go on because of a hook without saying so.
            None => Ok(false),
            Some(_) => Err(self.lacks(member, "true or false")),
        }
    }

    /// A text that may be missing.
    fn text(&self, member: &'static str) -> Result<Option<String>, EventError> {
        match self.object.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.lacks(member, "a text")),
        }
    }

    const fn lacks(&self, member: &'static str, wanted: &'static str) -> EventError {
        EventError::Member { tool: self.tool, member, wanted }
    }
}
