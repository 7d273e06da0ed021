//! `probity conformance`.

use std::net::SocketAddr;

use clap::Args;

pub(super) const CONFORMANCE_HELP: &str = "\
Exit codes:
  0  every scenario was run and held         2   the host does not answer
  1  one did not hold                        64  wrong usage or configuration
  3  one was not run, and --allow-skips was not given

Examples:
  probity conformance http://127.0.0.1:8080                       # the key in PROBITY_API_KEY
  probity conformance https://host.example --key-env HOST_KEY --filter verifier/ --strict
  probity conformance --list";

/// `probity conformance`.
#[derive(Debug, Args)]
pub struct ConformanceArgs {
    /// The host.
    #[arg(required_unless_present = "list")]
    pub url: Option<String>,
    /// The environment variable that holds a key of the host, with every scope.
    #[arg(long, value_name = "VAR", default_value = "PROBITY_API_KEY")]
    pub key_env: String,
    /// The variable that holds a key of another tenant: what one tenant has, the other must not see.
    #[arg(long, value_name = "VAR")]
    pub other_key_env: Option<String>,
    /// Where webhooks are received, as the host reaches it. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub receiver: Option<SocketAddr>,
    /// Run scenarios whose name holds this text, such as verifier/. May be given more than once.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Count what the host does not advertise as failed.
    #[arg(long)]
    pub strict: bool,
    /// Exit 0 even if something was not run.
    #[arg(long)]
    pub allow_skips: bool,
    /// List the scenarios; ask nobody.
    #[arg(long)]
    pub list: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
