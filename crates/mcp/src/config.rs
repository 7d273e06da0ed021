//! How a server is started and used, as a project file says it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use probity_sandbox::MAX_TIMEOUT;
use serde::{Deserialize, Serialize};

/// Wall time of one call when nothing else is said: one minute.
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;

/// Wall time from the start of a server to its answer when nothing else is said: 20 seconds.
pub const DEFAULT_START_TIMEOUT_MS: u64 = 20_000;

/// How often a server that ended is started anew when nothing else is said.
pub const DEFAULT_MAX_RESTARTS: u32 = 3;

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpConfig {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that it sees, besides those of [`probity_sandbox::CLEAN_ENV`].
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its working directory; the caller's own when not set.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Wall time of one call, a restart included.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Wall time until it has answered that it is there, and again until its tools are listed.
    #[serde(default = "default_start_timeout_ms")]
    pub start_timeout_ms: u64,
    /// The tools that are offered, by the server's own names; all when not set.
    #[serde(default)]
    pub only: Option<Vec<String>>,
    /// What comes before the names of its tools, with a `_` between; the server's name when not set,
    /// nothing when empty.
    #[serde(default)]
    pub prefix: Option<String>,
    /// How often it is started anew after it ended, in all.
    #[serde(default = "default_max_restarts")]
    pub max_restarts: u32,
}

impl McpConfig {
    /// A command with the defaults.
    pub fn new<I, S>(command: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            start_timeout_ms: DEFAULT_START_TIMEOUT_MS,
            only: None,
            prefix: None,
            max_restarts: DEFAULT_MAX_RESTARTS,
        }
    }

    /// Wall time of one call; a month at most, so that it can be added to any time.
    pub(crate) fn call_bound(&self) -> Duration {
        Duration::from_millis(self.timeout_ms).min(MAX_TIMEOUT)
    }

    /// The same for the start.
    pub(crate) fn start_bound(&self) -> Duration {
        Duration::from_millis(self.start_timeout_ms).min(MAX_TIMEOUT)
    }
}

const fn default_timeout_ms() -> u64 {
    DEFAULT_TIMEOUT_MS
}

const fn default_start_timeout_ms() -> u64 {
    DEFAULT_START_TIMEOUT_MS
}

const fn default_max_restarts() -> u32 {
    DEFAULT_MAX_RESTARTS
}
