//! What a store's servers promise, found out without stopping at the first thing that is wrong.

use std::collections::BTreeMap;

use async_nats::ServerInfo;
use serde::Serialize;
use tokio::time::Instant;

use crate::link::Link;
use crate::monitor::{self, Kin, Sync};
use crate::schema::{self, StreamInfo};
use crate::space::{Part, Space};
use crate::{ConnectError, NatsOptions, connect};

/// Messages that a replica may be behind without a warning.
const MAX_LAG: u64 = 1000;

/// The machine words of what does not keep a store from being opened, or comes after it.
const SYNC_UNKNOWN: &str = "nats_sync_unknown";
const REPLICA_MISSING: &str = "nats_replica_missing";
const NO_QUORUM: &str = "nats_no_quorum";

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
    let end = Instant::now() + options.timeout();
    let client = match connect::client(options, end).await {
        Ok(client) => client,
        Err(error) => {
            findings.push(failed("connect", &error));
            findings.extend(sync(options, None).await);
            return findings;
        }
    };
    let info = client.server_info();
    let text = format!("connected to {} at {}:{}", info.server_name, info.host, info.port);
    let cluster = info.cluster.clone().unwrap_or_else(|| "none".to_owned());
    findings.extend([
        fine("connect", text),
        judged("version", connect::check_version(&client), format!("version {}", info.version)),
        judged("cluster", connect::check_cluster(&client, options), format!("cluster {cluster}")),
    ]);
    findings.extend(sync(options, Some(&info)).await);
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

/// What the endpoints say; without a connection not whose they are.
async fn sync(options: &NatsOptions, server: Option<&ServerInfo>) -> Vec<Finding> {
    let (mut good, mut bad, mut silent) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut cut_off = Vec::new();
    for monitor in &options.monitors {
        let report = match monitor::report(monitor).await {
            Ok(report) => report,
            Err(why) => {
                silent.push(format!("{monitor}: {why}"));
                continue;
            }
        };
        let kin = match server {
            Some(server) => Some((report.kin(monitor, server).await, server)),
            None => None,
        };
        match kin {
            Some((Kin::Other, server)) => bad.push(monitor::of_another(monitor, server)),
            Some((Kin::CutOff, server)) => {
                cut_off.push(monitor::of_another(monitor, server));
            }
            _ if report.sync == Sync::Later => {
                bad.push(ConnectError::Sync { monitor: monitor.clone() });
            }
            // Two names of one server are one server.
            _ => drop(good.insert(report.server_id, monitor.as_str())),
        }
    }
    // One good one makes up for those that are just starting; without any they are what is wrong.
    match good.is_empty() {
        true => bad.append(&mut cut_off),
        false => silent.extend(cut_off.iter().map(ToString::to_string)),
    }
    let named = good.len() + bad.len() + silent.len();
    if options.monitors.is_empty() {
        silent.push("no monitoring endpoint is named".to_owned());
    }
    // What makes the store refuse them.
    let wrong = if options.accept.sync { Level::Warn } else { Level::Fail };
    let refused = |error: &ConnectError| Finding { level: wrong, ..failed("sync", error) };
    let mut findings: Vec<Finding> = bad.iter().map(refused).collect();
    if good.is_empty() {
        let unknown = |why: String| refused(&ConnectError::SyncUnknown { why });
        findings.extend(silent.into_iter().map(unknown));
        return findings;
    }
    // A server may be down while the others work.
    findings.extend(silent.into_iter().map(|why| {
        let text = format!("no word of when that server writes to disk; it may be down: {why}");
        let code = Some(SYNC_UNKNOWN);
        Finding { level: Level::Warn, code, ..fine("sync", text) }
    }));
    let monitors: Vec<&str> = good.into_values().collect();
    let text = format!("written to disk before it is acknowledged: {}", monitors.join(", "));
    findings.push(fine("sync", text));
    if named < usize::from(options.replicas) {
        let wanted = options.replicas;
        let text = format!("endpoints of {named} servers are named, and {wanted} keep each stream");
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

/// Who keeps a stream. With a leader and a majority it works, whoever else is missing.
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
        let fine = fine(name, format!("replica {} {what}", replica.name));
        findings.push(Finding { level: Level::Warn, code: Some(REPLICA_MISSING), ..fine });
    }
    let all = replicas.len() + 1;
    let leader = cluster.leader.as_deref().filter(|it| !it.is_empty());
    let led = usize::from(leader.is_some());
    let there = led + replicas.iter().filter(|it| !it.offline && it.current).count();
    let told = format!("led by {}, {there} of {all} servers have it", leader.unwrap_or("nobody"));
    // One that has not caught up may be about to; one that is off line is not.
    let up = led + replicas.iter().filter(|it| !it.offline).count();
    let has_quorum = leader.is_some() && up * 2 > all;
    findings.push(if has_quorum {
        fine(name, told)
    } else {
        let text = format!("{told}, which is no majority: nothing can be stored; start the others");
        Finding { level: Level::Fail, code: Some(NO_QUORUM), ..fine(name, text) }
    });
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
