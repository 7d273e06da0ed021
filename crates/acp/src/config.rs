//! How an agent is started and what it may do, as a project file says it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use crate::permissions::Permissions;

/// Time for each step of the start when nothing else is said: 30 seconds.
pub const DEFAULT_START_TIMEOUT_MS: u64 = 30_000;

/// Wall time for one prompt when nothing else is said: one hour.
pub const DEFAULT_TIMEOUT_MS: u64 = 3_600_000;

/// Bytes of one attempt that are kept when nothing else is said: 16 MiB.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// Tool calls of one attempt that are kept when nothing else is said.
pub const DEFAULT_MAX_TOOL_CALLS: usize = 10_000;

/// The most rules and MCP servers a configuration may have, each.
pub const MAX_ENTRIES: usize = 1_000;

/// An agent that speaks the Agent Client Protocol on its standard input and output.
///
/// It runs in the workspace, with the caller's environment, which holds its credentials.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcpConfig {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables set on top of the caller's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Wall time for each step before the first prompt: to initialize, to open or load the session.
    #[serde(default = "default_start_timeout_ms")]
    pub start_timeout_ms: u64,
    /// Wall time for one attempt; a shorter bound of the request wins.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Bytes of one attempt that are kept, half of them for what the agent says and half for its tool
    /// calls. Longer text keeps its beginning and its end.
    #[serde(default = "default_max_response_bytes")]
    pub max_response_bytes: usize,
    /// Tool calls of one attempt that are kept; more are counted. Also how often the agent may ask for
    /// permission in one attempt.
    #[serde(default = "default_max_tool_calls")]
    pub max_tool_calls: usize,
    /// Id of the session mode to work in; the agent's own when not set.
    #[serde(default)]
    pub mode: Option<String>,
    /// Id of the model to work with; the agent's own when not set.
    #[serde(default)]
    pub model: Option<String>,
    /// What is answered when the agent asks for permission.
    #[serde(default)]
    pub permissions: Permissions,
    /// Id of the way to authenticate, for agents that ask for it before a session.
    #[serde(default)]
    pub auth_method: Option<String>,
    /// MCP servers that the agent is told to use.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
}

/// An MCP server that the agent starts and speaks to by standard input and output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// What the agent calls it. Unique.
    pub name: String,
    /// Its program. The protocol asks for an absolute path.
    pub command: PathBuf,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

const fn default_start_timeout_ms() -> u64 {
    DEFAULT_START_TIMEOUT_MS
}

const fn default_timeout_ms() -> u64 {
    DEFAULT_TIMEOUT_MS
}

const fn default_max_response_bytes() -> usize {
    DEFAULT_MAX_RESPONSE_BYTES
}

const fn default_max_tool_calls() -> usize {
    DEFAULT_MAX_TOOL_CALLS
}

impl AcpConfig {
    /// An agent with the defaults: its own mode and model, every permission refused.
    pub fn new<I, S>(command: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            start_timeout_ms: DEFAULT_START_TIMEOUT_MS,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            max_tool_calls: DEFAULT_MAX_TOOL_CALLS,
            mode: None,
            model: None,
            permissions: Permissions::default(),
            auth_method: None,
            mcp_servers: Vec::new(),
        }
    }

    /// Checks what can be checked without running anything.
    ///
    /// # Errors
    /// [`ConfigError`] names the first thing that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err(ConfigError::Empty { key: "command" });
        }
        let bounds = [
            ("start_timeout_ms", self.start_timeout_ms == 0),
            ("timeout_ms", self.timeout_ms == 0),
            ("max_response_bytes", self.max_response_bytes == 0),
            ("max_tool_calls", self.max_tool_calls == 0),
        ];
        if let Some((key, _)) = bounds.into_iter().find(|(_, zero)| *zero) {
            return Err(ConfigError::Zero { key });
        }
        let names =
            [("mode", &self.mode), ("model", &self.model), ("auth_method", &self.auth_method)];
        if let Some((key, _)) = names.into_iter().find(|(_, id)| id.as_deref() == Some("")) {
            return Err(ConfigError::Empty { key });
        }
        let counts = [
            ("permissions.rules", self.permissions.rules.len()),
            ("mcp_servers", self.mcp_servers.len()),
        ];
        if let Some((key, count)) = counts.into_iter().find(|(_, count)| *count > MAX_ENTRIES) {
            return Err(ConfigError::TooMany { key, count });
        }
        let mut names = BTreeSet::new();
        for server in &self.mcp_servers {
            if server.name.is_empty() || server.command.as_os_str().is_empty() {
                return Err(ConfigError::Empty { key: "mcp_servers" });
            }
            if !names.insert(&server.name) {
                return Err(ConfigError::ServerTwice { name: server.name.clone() });
            }
        }
        self.permissions.compile().map(|_| ())
    }
}

/// An agent that cannot work as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A name or a command is empty.
    #[error("`{key}` is empty; write it out or leave it out")]
    Empty {
        /// The key.
        key: &'static str,
    },
    /// A bound of 0.
    #[error("`{key}` is 0, so that nothing could be done; leave it out for the default")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A list is too long.
    #[error("`{key}` has {count} entries, more than {MAX_ENTRIES}")]
    TooMany {
        /// The key.
        key: &'static str,
        /// Its length.
        count: usize,
    },
    /// Two MCP servers have one name.
    #[error("two of `mcp_servers` are named `{name}`; give each a name of its own")]
    ServerTwice {
        /// The name.
        name: String,
    },
    /// A pattern of a permission rule cannot be read.
    #[error("rule {rule} of `permissions` has a pattern that cannot be read: {detail}")]
    Glob {
        /// 1-based.
        rule: usize,
        /// Why.
        detail: String,
    },
}
