//! Agents that speak the Agent Client Protocol, as delegates.
//!
//! [`AcpDelegate`] starts an agent, opens a session and asks every attempt of a run in it. What the
//! agent reports becomes the claim; what it asks permission for is decided by [`Permissions`] and
//! noted. Files and terminals of the client are not offered to it.

mod agent;
mod config;
mod connection;
mod content;
mod delegate;
mod lines;
mod losses;
mod permissions;
mod session;
mod steps;
mod text;
mod tokens;
mod transcript;
mod workspace;

pub use config::{
    AcpConfig, ConfigError, DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_MAX_TOOL_CALLS,
    DEFAULT_START_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, MAX_ENTRIES, McpServer,
};
pub use delegate::AcpDelegate;
pub use permissions::{Decision, Permissions, Rule, ToolKind};
