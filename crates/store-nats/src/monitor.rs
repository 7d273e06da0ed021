//! The monitoring endpoint of a server: the only place that shows its sync policy.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{ConnectError, NatsOptions};

/// How long one endpoint may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// What an endpoint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// The disk has it before it is acknowledged.
    Always,
    /// It does not.
    Later,
}

/// Refuses servers that acknowledge before the disk has it, or of which that is not known.
pub(crate) async fn require_sync(options: &NatsOptions) -> Result<(), ConnectError> {
    if options.accept.sync {
        return Ok(());
    }
    let mut unknown = "no monitoring endpoint is named".to_owned();
    let mut is_known = false;
    for monitor in &options.monitors {
        match sync_policy(monitor).await {
            Ok(Sync::Always) => is_known = true,
            Ok(Sync::Later) => return Err(ConnectError::Sync { monitor: monitor.clone() }),
            // A node may be down while the others work; one that answers must answer right.
            Err(why) => unknown = format!("{monitor}: {why}"),
        }
    }
    if is_known { Ok(()) } else { Err(ConnectError::SyncUnknown { why: unknown }) }
}

/// Asks one endpoint.
pub(crate) async fn sync_policy(monitor: &str) -> Result<Sync, String> {
    #[derive(Deserialize)]
    struct Answer {
        config: Option<Config>,
    }
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        sync_always: bool,
    }
    let body = match timeout(PATIENCE, get(monitor, "/jsz")).await {
        Ok(body) => body?,
        Err(_) => return Err(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    let answer: Answer =
        serde_json::from_slice(&body).map_err(|error| format!("it is no /jsz: {error}"))?;
    match answer.config {
        Some(Config { sync_always: true }) => Ok(Sync::Always),
        Some(Config { sync_always: false }) => Ok(Sync::Later),
        None => Err("JetStream is off there".to_owned()),
    }
}

/// One request, in the oldest HTTP there is: the connection ends with the answer.
async fn get(url: &str, path: &str) -> Result<Vec<u8>, String> {
    let authority = url.strip_prefix("http://").unwrap_or(url);
    let (authority, base) = authority.split_once('/').unwrap_or((authority, ""));
    let base = base.trim_end_matches('/');
    let slash = if base.is_empty() { "" } else { "/" };
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    let text = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(&address).await.map_err(text)?;
    let request = format!("GET {slash}{base}{path} HTTP/1.0\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(text)?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await.map_err(text)?;
    let mut break_at = answer.windows(4).enumerate().filter(|(_, it)| it == b"\r\n\r\n");
    let Some((end, _)) = break_at.next() else { return Err("it is no HTTP".to_owned()) };
    let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).into_owned();
    if head.split(' ').nth(1) != Some("200") {
        return Err(head.lines().next().unwrap_or_default().to_owned());
    }
    Ok(answer.split_off(end + 4))
}
