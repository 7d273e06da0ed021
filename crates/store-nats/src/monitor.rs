//! The monitoring endpoint of a server: the only place that shows its sync policy.

use std::time::Duration;

use async_nats::ServerInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::{ConnectError, NatsOptions};

/// How long one endpoint may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a member of the cluster is asked again whether it has a route to the others: it may have
/// been started a moment ago.
const LOOK_AT_ROUTES: Duration = Duration::from_millis(200);
/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;
/// The longest part of a strange answer that is repeated, in characters.
const MAX_REPEATED: usize = 100;

/// What an endpoint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// The disk has it before it is acknowledged.
    Always,
    /// It does not.
    Later,
}

/// What an endpoint says about its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Which server that is.
    pub(crate) server_id: String,
    pub(crate) sync: Sync,
    /// The cluster whose streams it keeps.
    cluster: Option<String>,
}

/// Whose an endpoint is, seen from the server of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kin {
    /// The server's own, or that of one with a route to it.
    Ours,
    /// That of one without such a route in a cluster of the same name, or that knows none: it was started a
    /// moment ago, or is cut off, or belongs to another cluster.
    CutOff,
    /// Another's.
    Other,
}

/// Refuses servers that acknowledge before the disk has it, or of which that is not known.
///
/// One that answers must be of the cluster and answer right. One that does not, or is cut off from the
/// others, may be down or just up, which the others bear: one that answers is enough.
pub(crate) async fn require_sync(
    options: &NatsOptions,
    server: &ServerInfo,
) -> Result<(), ConnectError> {
    if options.accept.sync {
        return Ok(());
    }
    let mut unknown = "no monitoring endpoint is named".to_owned();
    let (mut is_known, mut cut_off) = (false, None);
    for monitor in &options.monitors {
        let report = match report(monitor).await {
            Ok(report) => report,
            Err(why) => {
                unknown = format!("{monitor}: {why}");
                continue;
            }
        };
        match report.kin(monitor, server).await {
            Kin::Ours => {}
            Kin::CutOff => {
                cut_off = cut_off.or_else(|| Some(of_another(monitor, server)));
                continue;
            }
            Kin::Other => return Err(of_another(monitor, server)),
        }
        if report.sync == Sync::Later {
            return Err(ConnectError::Sync { monitor: monitor.clone() });
        }
        is_known = true;
    }
    match (is_known, cut_off) {
        (true, _) => Ok(()),
        (false, Some(error)) => Err(error),
        (false, None) => Err(ConnectError::SyncUnknown { why: unknown }),
    }
}

/// The error for an endpoint that says nothing about the servers of this store.
pub(crate) fn of_another(monitor: &str, server: &ServerInfo) -> ConnectError {
    ConnectError::MonitorOther { monitor: monitor.to_owned(), server: server.server_name.clone() }
}

/// Asks one endpoint.
pub(crate) async fn report(monitor: &str) -> Result<Report, String> {
    #[derive(Deserialize)]
    struct Answer {
        server_id: String,
        config: Option<Config>,
        meta_cluster: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        sync_always: bool,
    }
    #[derive(Deserialize)]
    struct Meta {
        name: Option<String>,
    }
    let answer: Answer = ask(monitor, "/jsz").await?;
    let config = answer.config.ok_or("JetStream is off there")?;
    let sync = if config.sync_always { Sync::Always } else { Sync::Later };
    let cluster = answer.meta_cluster.and_then(|it| it.name);
    Ok(Report { server_id: answer.server_id, sync, cluster })
}

impl Report {
    /// Whether that is the server of this connection, or one that has a route to it. Ids are made anew
    /// at each start and told to nobody else, so no other server can say so by chance. A cluster's name
    /// is no proof: they are chosen, and alike.
    pub(crate) async fn kin(&self, monitor: &str, server: &ServerInfo) -> Kin {
        #[derive(Deserialize)]
        struct Routes {
            #[serde(default)]
            routes: Vec<Route>,
        }
        #[derive(Deserialize)]
        struct Route {
            remote_id: String,
        }
        if self.server_id == server.server_id {
            return Kin::Ours;
        }
        // A member that was started a moment ago does not know its cluster yet.
        let is_named_alike =
            server.cluster.is_some() && (self.cluster.is_none() || self.cluster == server.cluster);
        let end = Instant::now() + PATIENCE;
        loop {
            let found = ask::<Routes>(monitor, "/routez").await;
            let is_there = |it: Routes| it.routes.iter().any(|it| it.remote_id == server.server_id);
            if found.is_ok_and(is_there) {
                return Kin::Ours;
            }
            if !is_named_alike {
                return Kin::Other;
            }
            if Instant::now() + LOOK_AT_ROUTES >= end {
                return Kin::CutOff;
            }
            sleep(LOOK_AT_ROUTES).await;
        }
    }
}

async fn ask<T: DeserializeOwned>(monitor: &str, path: &str) -> Result<T, String> {
    let body = match timeout(PATIENCE, get(monitor, path)).await {
        Ok(body) => body?,
        Err(_) => return Err(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    serde_json::from_slice(&body).map_err(|error| format!("it is no {path}: {error}"))
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
        return Err(head.lines().next().unwrap_or_default().chars().take(MAX_REPEATED).collect());
    }
    Ok(answer.split_off(end + 4))
}
