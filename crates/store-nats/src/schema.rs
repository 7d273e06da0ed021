//! The streams of a space: their settings, and making sure that they have them.

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::link::{Failure, Link, Pauses, refusal};
use crate::space::{Part, Space};
use crate::{ConnectError, NatsOptions, bounded};

/// How long the server remembers the ids of messages, in nanoseconds: two minutes.
const REMEMBER_NS: u64 = 120_000_000_000;
/// Where a stream of jobs keeps how long leases last.
const LEASE_KEY: &str = "probity_lease_ttl_ms";
/// A stream of that name is there, with other settings.
const TAKEN: u32 = 10058;
/// What the server says where a member of the cluster is known and does not answer.
const OFFLINE: &str = "peer offline";

/// What a server says about a stream.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StreamInfo {
    pub(crate) config: Value,
    #[serde(default)]
    pub(crate) state: StreamState,
    pub(crate) cluster: Option<ClusterInfo>,
}

/// What is in it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct StreamState {
    #[serde(default)]
    pub(crate) messages: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) first_seq: u64,
    #[serde(default)]
    pub(crate) last_seq: u64,
    /// Messages of each subject that was asked for.
    #[serde(default)]
    pub(crate) subjects: Option<std::collections::BTreeMap<String, u64>>,
}

/// Who keeps it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ClusterInfo {
    #[serde(default)]
    pub(crate) leader: Option<String>,
    #[serde(default)]
    pub(crate) replicas: Option<Vec<Replica>>,
}

/// A server that follows the leader of a stream.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Replica {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) current: bool,
    #[serde(default)]
    pub(crate) offline: bool,
    /// Messages that it has yet to take.
    #[serde(default)]
    pub(crate) lag: u64,
}

/// The settings that a stream must have.
pub(crate) fn wanted(space: &Space, part: Part, options: &NatsOptions) -> Value {
    let is_one_each = matches!(part, Part::Work | Part::Aside);
    let keeps_age = matches!(part, Part::Log | Part::Runs);
    let max_age_ns =
        options.max_age_s.filter(|_| keeps_age).unwrap_or(0).saturating_mul(1_000_000_000);
    let max_bytes =
        options.max_bytes.filter(|_| part == Part::Log).and_then(|it| i64::try_from(it).ok());
    let config = json!({
        "name": space.stream(part),
        "subjects": [space.subjects(part)],
        "retention": if part == Part::Work { "workqueue" } else { "limits" },
        "storage": "file",
        "num_replicas": options.replicas,
        // A full stream refuses what is new, and forgets nothing of itself.
        // Of tokens and marks the newer one takes the place of the older one.
        "discard": if is_one_each { "old" } else { "new" },
        "max_msgs": -1,
        "max_msgs_per_subject": if is_one_each { 1 } else { -1 },
        "max_bytes": max_bytes.unwrap_or(-1),
        "max_age": max_age_ns,
        "duplicate_window": if max_age_ns == 0 { REMEMBER_NS } else { REMEMBER_NS.min(max_age_ns) },
        "allow_direct": true,
        "deny_delete": matches!(part, Part::Log | Part::Runs | Part::Blob),
        "deny_purge": matches!(part, Part::Log | Part::Runs | Part::Blob | Part::Work),
    });
    let mut more = match config {
        Value::Object(more) => more,
        other => return other,
    };
    if part == Part::Log {
        // Told by the leader once a batch is stored, so that a follower never looks too early.
        let dest = space.grown("{{wildcard(1)}}");
        let src = space.subjects(Part::Log);
        let told = json!({ "src": src, "dest": dest, "headers_only": true });
        more.insert("republish".to_owned(), told);
    }
    if part == Part::Work {
        let lease_ttl_ms = options.lease_ttl_ms.to_string();
        more.insert("metadata".to_owned(), json!({ LEASE_KEY: lease_ttl_ms }));
    }
    Value::Object(more)
}

/// What a server says about a stream; `None` if there is none.
pub(crate) async fn info(
    link: &Link,
    stream: &str,
    end: Instant,
) -> Result<Option<StreamInfo>, Failure> {
    match link.api(&format!("STREAM.INFO.{stream}"), &Value::Null, end).await {
        Ok(info) => Ok(Some(info)),
        Err(failure) if failure.is(refusal::NO_STREAM) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Creates what is missing. What is there must be as wanted.
pub(crate) async fn prepare(
    link: &Link,
    space: &Space,
    options: &NatsOptions,
    end: Instant,
) -> Result<(), ConnectError> {
    let look = |part: Part| {
        let (link, stream) = (link.clone(), space.stream(part));
        async move { info(&link, &stream, end).await }
    };
    let found = bounded::all(Part::ALL, Part::ALL.len(), look).await;
    let found = found.map_err(|it| failed(&it, options))?;
    for (part, mut found) in Part::ALL.into_iter().zip(found) {
        let wanted = wanted(space, part, options);
        let stream = space.stream(part);
        if found.is_none() {
            create(link, &stream, &wanted, end).await.map_err(|it| failed(&it, options))?;
            found = info(link, &stream, end).await.map_err(|it| failed(&it, options))?;
        }
        let Some(found) = found else {
            return Err(ConnectError::Setup { why: format!("stream {stream} is gone again") });
        };
        compare(&stream, &wanted, &found.config, options)?;
    }
    Ok(())
}

/// Creates a stream, unless somebody else does at the same time.
async fn create(link: &Link, stream: &str, wanted: &Value, end: Instant) -> Result<(), Failure> {
    let name = format!("STREAM.CREATE.{stream}");
    let mut pauses = Pauses::until(end);
    loop {
        match link.api::<Value>(&name, wanted, end).await {
            Ok(_) => return Ok(()),
            Err(failure) if failure.is(TAKEN) => return Ok(()),
            // A member of the cluster is down: streams can be used, but not created, until it is back.
            Err(Failure::Refused(error)) if error.description.contains(OFFLINE) => {
                if !pauses.pause().await {
                    return Err(Failure::Refused(error));
                }
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Whether a stream has the settings that it must have.
pub(crate) fn compare(
    stream: &str,
    wanted: &Value,
    found: &Value,
    options: &NatsOptions,
) -> Result<(), ConnectError> {
    let differs = |setting: &str, wanted: &Value, found: &Value| ConnectError::StreamDiffers {
        stream: stream.to_owned(),
        setting: setting.to_owned(),
        wanted: wanted.to_string(),
        found: found.to_string(),
    };
    for (setting, want) in wanted.as_object().into_iter().flatten() {
        let have = found.get(setting).unwrap_or(&Value::Null);
        match setting.as_str() {
            "num_replicas" if options.accept.replicas => {}
            // The server keeps words of its own there.
            "metadata" => {
                let have = have.get(LEASE_KEY).unwrap_or(&Value::Null);
                let want = want.get(LEASE_KEY).unwrap_or(&Value::Null);
                if have != want {
                    return Err(differs("lease-ttl-ms", want, have));
                }
            }
            _ => {
                // What is off or nothing is left out of the answer.
                let off = *want == json!(false) || *want == json!(0);
                if have != want && !(off && have.is_null()) {
                    return Err(differs(setting, want, have));
                }
            }
        }
    }
    Ok(())
}

/// What a failed request means for opening a store.
pub(crate) fn failed(failure: &Failure, options: &NatsOptions) -> ConnectError {
    match failure {
        Failure::Refused(error) if refusal::OFF.contains(&error.err_code) => {
            ConnectError::NoJetStream { why: error.description.clone() }
        }
        Failure::Refused(error) if refusal::REPLICAS.contains(&error.err_code) => {
            ConnectError::Replicas { wanted: options.replicas, why: error.description.clone() }
        }
        other => ConnectError::Setup { why: other.to_string() },
    }
}
