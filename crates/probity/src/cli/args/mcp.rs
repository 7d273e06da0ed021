//! `probity mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;
use crate::request::Millis;

pub(super) const MCP_HELP: &str = "\
A client starts this as a command and talks to it over standard input and output; nothing else is
written there. It offers `delegate`, `verify`, `run_status` and `audit`. The project in the workspace
(.probity, once it is trusted) decides who does the work and what is checked; whoever calls adds
checks and lowers bounds, and takes nothing away. When the client goes, what is under way is
cancelled and its record sealed. See docs/mcp.md.

Examples:
  probity mcp --workspace ~/src/app
  claude mcp add probity -- probity mcp --workspace ~/src/app
  PROBITY_API_KEY=$(openssl rand -hex 32) probity mcp --http 127.0.0.1:8090";

/// `probity mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Where the work is done and checked. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// A profile that callers may name. May be given more than once. Default: those of the project; where
    /// its configuration names one, that one alone.
    #[arg(long, value_name = "NAME")]
    pub agent: Vec<String>,
    /// Tell callers what was said in a run (reasons, answers), and not only what it came to.
    #[arg(long)]
    pub content: bool,
    /// Let callers add checks that run command lines, as this user.
    #[arg(long)]
    pub allow_commands: bool,
    /// Wall time of one call, up to 30d.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = Millis::long)]
    pub timeout: Millis,
    /// Calls under way at a time. Delegations wait for each other: one works in the workspace.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub max_calls: u16,
    /// Serve streamable HTTP at http://ADDRESS/mcp, not standard streams. Port 0 takes a free one. Whoever
    /// asks sends the key in PROBITY_API_KEY as a bearer token.
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Ask for no key: whoever reaches the address may use the tools. Loopback addresses only.
    #[arg(long, requires = "http")]
    pub no_key: bool,
    /// A name that the server is called by over HTTP (HOST or HOST:PORT), beside those of the loopback. May
    /// be given more than once.
    #[arg(long, value_name = "HOST", requires = "http")]
    pub allow_host: Vec<String>,
    /// An origin whose pages may ask over HTTP (SCHEME://HOST:PORT). May be given more than once.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
}
