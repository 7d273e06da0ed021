//! `probity serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;

pub(super) const SERVE_HELP: &str = "\
Whoever holds a key with the scope manifest:write may register a workflow, and a workflow may run
commands as this user; so may whoever holds one with delegations:create. See docs/host.md and
docs/verdict-api.md.

The first line on standard output is the URL, for scripts that wait for it. The first Ctrl-C or
SIGTERM drains: streams end, delegations in hand may end. The second lets go of them, the third ends
the process. Runs go on when a host is started on the same store again.

Examples:
  export PROBITY_API_KEY=$(openssl rand -hex 32)
  probity serve --store sqlite:/var/lib/probity/runs.db --workflows workflows/
  probity serve --workspace-root /srv/checkouts --sign key.pem      # takes delegations
  probity serve --store nats://queue.example:4222 --keys keys.toml --workers 0
  probity serve --addr 127.0.0.1:0 --store memory --json";

/// `probity serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where to listen. Port 0 takes a free one. There is no TLS: put a proxy in front.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub addr: SocketAddr,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Who may ask: a TOML file with a `[[key]]` for each key, yours alone (mode 600). Default: the one key
    /// in PROBITY_API_KEY.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// A folder of definitions (*.json) that every key may begin runs of.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
    /// A folder that callers may have delegations worked on in, such as checkouts; TENANT=DIR for one tenant
    /// alone. May be given more than once. Without one, no delegation is taken over HTTP.
    #[arg(long, value_name = "DIR")]
    pub workspace_root: Vec<String>,
    /// A private key (PEM, ed25519) to sign bundles with.
    #[arg(long, value_name = "KEY.pem")]
    pub sign: Option<PathBuf>,
    /// Delegations in hand at most; 0 leaves all of them to `probity worker`.
    #[arg(long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub workers: u16,
    /// Tell verdicts and let everything through: a verdict keeps nothing out.
    #[arg(long)]
    pub no_gating: bool,
    /// The name of this host among hosts. Default: probity.local.
    #[arg(long, value_name = "ID")]
    pub host_id: Option<String>,
    /// A host or address range that webhooks may be sent to although it is private. May be given more than
    /// once.
    #[arg(long, value_name = "HOST")]
    pub allow_private: Vec<String>,
    /// Offer the seams and fixtures of the conformance suites. Never where others can reach it.
    #[arg(long)]
    pub conformance_seams: bool,
    /// Print what happens as JSON, one object a line, named by `event`: listening, the events of
    /// `probity worker --json`, recovered, ended.
    #[arg(long)]
    pub json: bool,
}
