//! What a store's servers promise, found out without stopping at the first thing that is wrong.

use serde::Serialize;
use tokio::time::Instant;

use crate::link::Link;
use crate::monitor::{self, Sync};
use crate::schema::{self, StreamInfo};
use crate::space::{Part, Space};
use crate::{ConnectError, NatsOptions, connect};

/// Messages that a replica may be behind without a warning.
const MAX_LAG: u64 = 1000;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub level: Level,
    /// What it is about: `connect`, `version`, `jetstream`, `cluster`, `sync`, or a stream's name.
    pub subject: String,
    /// The stable machine word of what is wrong; `None` where nothing is.
    pub code: Option<&'static str>,
    /// One sentence.
    pub text: String,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, and someone should look at it.
    Warn,
    /// A store would not be opened like this.
    Fail,
}

/// Looks at everything that [`crate::NatsStore::connect`] checks, and at the replicas and the size
/// of each stream. Creates nothing. Takes at most [`NatsOptions::timeout_ms`] for each thing.
pub async fn inspect(options: &NatsOptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = options.check() {
        return vec![failed("options", &error)];
    }
    findings.extend(sync(options).await);
    let end = Instant::now() + options.timeout();
    let client = match connect::client(options, end).await {
        Ok(client) => client,
        Err(error) => {
            findings.insert(0, failed("connect", &error));
            return findings;
        }
    };
    let info = client.server_info();
    let text = format!("connected to {} at {}:{}", info.server_name, info.host, info.port);
    let cluster = info.cluster.clone().unwrap_or_else(|| "none".to_owned());
    let basics = vec![
        fine("connect", text),
        judged("version", connect::check_version(&client), format!("version {}", info.version)),
        judged("cluster", connect::check_cluster(&client, options), format!("cluster {cluster}")),
    ];
    findings.splice(0..0, basics);
    let link = Link::new(client, options.timeout());
    let jetstream = connect::check_jetstream(&link, options, end).await;
    let is_on = jetstream.is_ok();
    findings.push(judged("jetstream", jetstream, "JetStream is on".to_owned()));
    if is_on {
        let space = Space::new(&options.space);
        for part in Part::ALL {
            findings.extend(stream(&link, &space, part, options).await);
        }
    }
    findings
}

async fn sync(options: &NatsOptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    let level = if options.accept.sync { Level::Warn } else { Level::Fail };
    let mut found = |error: &ConnectError| {
        findings.push(Finding { level, ..failed("sync", error) });
    };
    if options.monitors.is_empty() {
        found(&ConnectError::SyncUnknown { why: "no monitoring endpoint is named".to_owned() });
    }
    let mut good = Vec::new();
    for monitor in &options.monitors {
        match monitor::sync_policy(monitor).await {
            Ok(Sync::Always) => good.push(monitor.as_str()),
            Ok(Sync::Later) => found(&ConnectError::Sync { monitor: monitor.clone() }),
            Err(why) => found(&ConnectError::SyncUnknown { why: format!("{monitor}: {why}") }),
        }
    }
    if !good.is_empty() {
        let text = format!("written to disk before it is acknowledged: {}", good.join(", "));
        findings.push(fine("sync", text));
    }
    if !good.is_empty() && options.monitors.len() < usize::from(options.replicas) {
        let (named, wanted) = (options.monitors.len(), options.replicas);
        let text = format!("{named} monitoring endpoints are named for {wanted} replicas");
        findings.push(Finding { level: Level::Warn, ..fine("sync", text) });
    }
    findings
}

async fn stream(link: &Link, space: &Space, part: Part, options: &NatsOptions) -> Vec<Finding> {
    let name = space.stream(part);
    let info = match schema::info(link, &name, link.end()).await {
        Ok(Some(info)) => info,
        Ok(None) => return vec![fine(&name, "not there yet; opening the store creates it")],
        Err(failure) => return vec![failed(&name, &schema::failed(&failure, options))],
    };
    let wanted = schema::wanted(space, part, options);
    let held = format!("{} messages, {} bytes", info.state.messages, info.state.bytes);
    let settings = schema::compare(&name, &wanted, &info.config, options);
    let mut findings = vec![judged(&name, settings, held)];
    findings.extend(replicas(&name, &info));
    findings
}

fn replicas(name: &str, info: &StreamInfo) -> Vec<Finding> {
    let Some(cluster) = &info.cluster else { return Vec::new() };
    let Some(replicas) = cluster.replicas.as_ref().filter(|it| !it.is_empty()) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for replica in replicas {
        let what = if replica.offline {
            "is offline".to_owned()
        } else if replica.lag > MAX_LAG {
            format!("is {} messages behind", replica.lag)
        } else if !replica.current {
            "is not current".to_owned()
        } else {
            continue;
        };
        let text = format!("replica {} {what}", replica.name);
        findings.push(Finding { level: Level::Warn, ..fine(name, text) });
    }
    if findings.is_empty() {
        let leader = cluster.leader.as_deref().unwrap_or("nobody");
        let text = format!("led by {leader}, {} replicas follow", replicas.len());
        findings.push(fine(name, text));
    }
    findings
}

fn fine(subject: &str, text: impl Into<String>) -> Finding {
    Finding { level: Level::Ok, subject: subject.to_owned(), code: None, text: text.into() }
}

fn failed(subject: &str, error: &ConnectError) -> Finding {
    let (subject, code) = (subject.to_owned(), Some(error.code()));
    Finding { level: Level::Fail, subject, code, text: error.to_string() }
}

fn judged(subject: &str, result: Result<(), ConnectError>, text: String) -> Finding {
    match result {
        Ok(()) => fine(subject, text),
        Err(error) => failed(subject, &error),
    }
}
