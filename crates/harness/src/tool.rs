//! The tools, their events and where their settings are.

use std::fmt;
use std::str::FromStr;

/// A coding agent whose hooks are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// What an event means here, whatever a tool calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user has said what is to be done.
    Begin,
    /// The agent wants to stop: its claim.
    Stop,
    /// A sub-agent wants to stop.
    Subagent,
    /// A task is to be marked as done.
    Task,
    /// The agent is about to use a tool.
    Guard,
    /// The session is over.
    End,
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Of everybody who works on the project.
    Project,
    /// Of this user in this project.
    Local,
    /// Of this user everywhere.
    User,
}

/// A word that names no tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no coding agent with hooks; there are claude-code, codex and gemini")]
pub struct UnknownTool {
    text: String,
}

const CLAUDE_CODE: [(&str, Role); 6] = [
    ("UserPromptSubmit", Role::Begin),
    ("Stop", Role::Stop),
    ("SubagentStop", Role::Subagent),
    ("TaskCompleted", Role::Task),
    ("PreToolUse", Role::Guard),
    ("SessionEnd", Role::End),
];
const CODEX: [(&str, Role); 4] = [
    ("UserPromptSubmit", Role::Begin),
    ("Stop", Role::Stop),
    ("SubagentStop", Role::Subagent),
    ("PreToolUse", Role::Guard),
];
const GEMINI: [(&str, Role); 4] = [
    ("BeforeAgent", Role::Begin),
    ("AfterAgent", Role::Stop),
    ("BeforeTool", Role::Guard),
    ("SessionEnd", Role::End),
];

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Gemini];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Its events that are heard here, as it names them.
    #[must_use]
    pub const fn events(self) -> &'static [(&'static str, Role)] {
        match self {
            Self::ClaudeCode => &CLAUDE_CODE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
        }
    }

    /// What one of its events means; `None` for one that is not heard.
    #[must_use]
    pub fn role(self, event: &str) -> Option<Role> {
        self.events().iter().find(|(name, _)| *name == event).map(|(_, role)| *role)
    }

    /// Its settings file: below the project for [`Scope::Project`] and [`Scope::Local`], below the folder that
    /// [`Tool::user_folder`] names otherwise. `None` where it has no such settings.
    #[must_use]
    pub const fn settings(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::ClaudeCode, Scope::Project) => Some(".claude/settings.json"),
            (Self::ClaudeCode, Scope::Local) => Some(".claude/settings.local.json"),
            (Self::Codex, Scope::Project) => Some(".codex/hooks.json"),
            (Self::Gemini, Scope::Project) => Some(".gemini/settings.json"),
            (Self::ClaudeCode | Self::Gemini, Scope::User) => Some("settings.json"),
            (Self::Codex, Scope::User) => Some("hooks.json"),
            (Self::Codex | Self::Gemini, Scope::Local) => None,
        }
    }

    /// The variable that moves its folder of the user, and that folder below the home folder.
    #[must_use]
    pub const fn user_folder(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::ClaudeCode => (Some("CLAUDE_CONFIG_DIR"), ".claude"),
            Self::Codex => (Some("CODEX_HOME"), ".codex"),
            Self::Gemini => (None, ".gemini"),
        }
    }

    /// The variable by which it tells a hook the folder of the project; the agent can leave that folder.
    #[must_use]
    pub const fn project_variable(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("CLAUDE_PROJECT_DIR"),
            Self::Codex => None,
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
        }
    }

    /// What its settings cannot do, for whoever installs.
    #[must_use]
    pub const fn limits(self) -> &'static str {
        match self {
            Self::ClaudeCode => {
                "Claude Code ends a turn after 8 blocks in a row, and lets the agent stop when a hook is \
                 killed or takes too long; the record says so at the next prompt"
            }
            Self::Codex => {
                "Codex runs hooks of a project only in a trusted project and once you have reviewed them \
                 with /hooks; it has no hook for the end of a session and none for tasks"
            }
            Self::Gemini => {
                "Gemini CLI has no hooks for sub-agents and tasks, and does not wait for the one at the \
                 end of a session"
            }
        }
    }

    /// In which tools of the agent a file can be written, as its matchers name them.
    pub(crate) const fn writers(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Edit|MultiEdit|Write|NotebookEdit",
            Self::Codex => "apply_patch|Edit|Write",
            Self::Gemini => "write_file|replace|edit",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tool {
    type Err = UnknownTool;

    fn from_str(text: &str) -> Result<Self, UnknownTool> {
        let found = Self::ALL.into_iter().find(|tool| tool.as_str() == text);
        found.ok_or_else(|| UnknownTool { text: text.chars().take(64).collect() })
    }
}

impl Role {
    /// Whether it is a claim, that can be refused.
    #[must_use]
    pub const fn is_claim(self) -> bool {
        matches!(self, Self::Stop | Self::Subagent | Self::Task)
    }

    /// The profile that is asked for the checks of such a claim, where the project has it.
    #[must_use]
    pub const fn profile(self) -> Option<&'static str> {
        match self {
            Self::Begin | Self::Stop => Some("on-stop"),
            Self::Subagent => Some("on-subagent-stop"),
            Self::Task => Some("on-task-completed"),
            Self::Guard | Self::End => None,
        }
    }
}
