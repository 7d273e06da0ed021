//! `probity mcp`.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_host::Keys;
use probity_mcp::serve::{Authorise, Desk, DeskLimits, HTTP_PATH, HttpConfig};
use tokio::net::TcpListener;

use super::CliError;
use super::args::McpArgs;
use super::present::{self, warn};
use super::run::{cancel_on_signal, store_url};
use crate::location::Programs;
use crate::{McpOptions, McpTools, Project};

const KEY: &str = "PROBITY_API_KEY";

/// Offers the tools until the client goes, or it is told to stop.
///
/// # Errors
/// [`CliError`] if there is no workspace, no key, no store, or nobody can be listened to.
pub(super) async fn mcp(args: &McpArgs, programs: Programs) -> Result<u8, CliError> {
    let url = store_url(&args.store)?;
    let authorise = authorise(args)?;
    let workspace = args.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let store = url.open_shared().await?;
    let options = McpOptions {
        agents: args.agent.clone(),
        shows_content: args.content,
        allows_commands: args.allow_commands,
        call_timeout: args.timeout,
    };
    let tools = McpTools::new(store, url, programs, &workspace, options)
        .map_err(|source| CliError::File { path: workspace.clone(), source })?;
    warn_of_project(&workspace);
    let limits = DeskLimits {
        max_calls: usize::from(args.max_calls),
        call_timeout_ms: u64::try_from(tools.call_bound().as_millis()).unwrap_or(u64::MAX),
        ..DeskLimits::default()
    };
    let desk = Desk::new(Arc::new(tools), limits, cancel_on_signal());
    let failed = |source| CliError::Io { what: "go on with the conversation", source };
    match args.http {
        None => {
            if std::io::stdin().is_terminal() {
                present::note("waits for a client of the Model Context Protocol; Ctrl-C ends it");
            }
            desk.serve_stdio().await.map_err(failed)?;
        }
        Some(address) => {
            let listener = listen(address).await?;
            let config = HttpConfig {
                authorise,
                allowed_hosts: args.allow_host.clone(),
                allowed_origins: args.allow_origin.clone(),
            };
            desk.serve_http(listener, config).await.map_err(failed)?;
        }
    }
    Ok(0)
}

/// Who may ask over HTTP.
fn authorise(args: &McpArgs) -> Result<Option<Authorise>, CliError> {
    let Some(address) = args.http else { return Ok(None) };
    if args.no_key {
        return match address.ip().is_loopback() {
            true => Ok(None),
            false => Err(CliError::Usage(format!(
                "--no-key is for loopback addresses, and {address} is reached from other machines; set \
                 {KEY} and leave --no-key out"
            ))),
        };
    }
    let keys = Keys::single(&std::env::var(KEY).unwrap_or_default()).map_err(CliError::NoKeys)?;
    Ok(Some(Arc::new(move |key: &str| keys.caller(key).is_some())))
}

/// Listens, and says where: the first line on standard output.
async fn listen(address: SocketAddr) -> Result<TcpListener, CliError> {
    let failed = |source| CliError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    present::print(format!("http://{bound}{HTTP_PATH}\n").as_bytes())?;
    if !bound.ip().is_loopback() {
        warn(&format!(
            "{bound} is reached from other machines, and keys cross the network in the clear: put a proxy \
             with TLS in front, and name the host that clients call it by with --allow-host"
        ));
    }
    Ok(listener)
}

/// A client shows what a tool says, and the operator sees this first.
fn warn_of_project(workspace: &Path) {
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    match Project::find(&workspace).map(|found| found.map(|project| project.require_trust())) {
        Ok(Some(Ok(()))) => {}
        Ok(None) => warn("there is no project here (.probity), so nothing is required of a result"),
        Ok(Some(Err(error))) | Err(error) => warn(&error.to_string()),
    }
}
