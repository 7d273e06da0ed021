//! Tools of Model Context Protocol servers, and tools offered by one ([`serve`]).
//!
//! A server is a command that speaks the protocol over its standard streams. [`McpServer::start`]
//! starts it in the sandbox, asks what it can do, and offers that as [`probity_chat::Tool`]s. What
//! the server asks of its client (to sample a model, to ask the user, to list folders) is refused.

mod bounded;
mod catalog;
mod config;
mod error;
mod link;
mod output;
pub mod serve;
mod server;
mod session;
mod tool;
mod weight;

pub use config::{DEFAULT_MAX_RESTARTS, DEFAULT_START_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, McpConfig};
pub use error::McpError;
pub use server::McpServer;
