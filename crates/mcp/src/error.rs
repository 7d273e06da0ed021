//! Why there is no server.

use probity_sandbox::SandboxError;

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// What was configured cannot be used.
    #[error("the MCP server `{server}` is not configured well: {detail}")]
    Config {
        /// The server's name.
        server: String,
        /// What is wrong.
        detail: &'static str,
    },
    /// The command did not start, or could not be watched.
    #[error("cannot start the MCP server `{server}`: {source}")]
    Start {
        /// The server's name.
        server: String,
        /// Why.
        #[source]
        source: SandboxError,
    },
    /// It ended before it had said what it can do.
    #[error("the MCP server `{server}` ended with {status}; it wrote: {stderr_tail}")]
    Ended {
        /// The server's name.
        server: String,
        /// `exit status 2`, `signal 9`.
        status: String,
        /// The end of what it wrote to standard error, at most 2 KiB.
        stderr_tail: String,
    },
    /// It did not answer in time and was killed.
    #[error(
        "the MCP server `{server}` did not answer within {timeout_ms} ms; it wrote: {stderr_tail}"
    )]
    TimedOut {
        /// The server's name.
        server: String,
        /// The bound.
        timeout_ms: u64,
        /// The end of what it wrote to standard error, at most 2 KiB.
        stderr_tail: String,
    },
    /// It answered something that cannot be used, and was killed.
    #[error("the MCP server `{server}` cannot be used: {message}")]
    Protocol {
        /// The server's name.
        server: String,
        /// What is wrong, at most 2 KiB.
        message: String,
    },
}

impl McpError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Config { .. } => "mcp_config",
            Self::Start { .. } => "mcp_start",
            Self::Ended { .. } => "mcp_ended",
            Self::TimedOut { .. } => "mcp_timeout",
            Self::Protocol { .. } => "mcp_protocol",
        }
    }
}
