//! Messages of streams: how they are published, asked for and read.

use std::future::poll_fn;
use std::pin::Pin;

use async_nats::{HeaderMap, Message, Subscriber};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_core::Stream;
use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Instant, timeout_at};

use crate::link::{Failure, Link, Pauses, answer, refusal};

/// A message that a stream holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stored {
    /// Its number in the stream.
    pub(crate) seq: u64,
    pub(crate) subject: String,
    pub(crate) headers: Headers,
    pub(crate) body: Bytes,
    /// When it was stored, in milliseconds since the Unix epoch by the server's clock.
    pub(crate) at_ms: u64,
}

/// Headers as they were given, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, String)>);

/// The acknowledgement of a publish.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct PubAck {
    /// The number that the message has in its stream.
    pub(crate) seq: u64,
}

impl Headers {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// A header that holds a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Reads the block that the server keeps: a status line, then `Name: value` lines.
    fn parse(block: &[u8]) -> Self {
        let text = String::from_utf8_lossy(block);
        let pairs = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }

    fn of(map: &HeaderMap) -> Self {
        let pairs = map.iter().filter_map(|(name, values)| {
            Some((name.to_string(), values.first()?.as_str().to_owned()))
        });
        Self(pairs.collect())
    }
}

/// The last message of a subject, which may hold wildcards, as the leader of the stream knows it.
pub(crate) async fn last(
    link: &Link,
    stream: &str,
    subject: &str,
    end: Instant,
) -> Result<Option<Stored>, Failure> {
    get(link, stream, &json!({ "last_by_subj": subject }), end).await
}

/// The first message of a subject from that number on, as the leader knows it.
pub(crate) async fn next(
    link: &Link,
    stream: &str,
    subject: &str,
    seq: u64,
    end: Instant,
) -> Result<Option<Stored>, Failure> {
    get(link, stream, &json!({ "seq": seq, "next_by_subj": subject }), end).await
}

/// Removes one message of a stream that allows it. False if it was gone before.
pub(crate) async fn delete(
    link: &Link,
    stream: &str,
    seq: u64,
    end: Instant,
) -> Result<bool, Failure> {
    let body = json!({ "seq": seq, "no_erase": true });
    let name = format!("STREAM.MSG.DELETE.{stream}");
    let mut pauses = Pauses::until(end);
    // Whether an earlier try may be what removed it.
    let mut is_open = false;
    loop {
        match link.api_once::<serde_json::Value>(&name, &body, end).await {
            Ok(_) => return Ok(true),
            Err(Failure::Refused(error)) if refusal::GONE.contains(&error.err_code) => {
                return Ok(is_open);
            }
            Err(failure) => {
                is_open |= failure.leaves_open();
                if !failure.may_pass() || !pauses.pause().await {
                    return Err(failure);
                }
            }
        }
    }
}

/// Publishes once, and reads the acknowledgement.
pub(crate) async fn publish(
    link: &Link,
    subject: &str,
    headers: HeaderMap,
    body: Bytes,
    end: Instant,
) -> Result<PubAck, Failure> {
    let message = link.once(subject, Some(headers), body, end).await?;
    answer(&message.payload)
}

/// The last message of a subject as any replica has it. `None`: that replica has none.
pub(crate) async fn direct_last(
    link: &Link,
    stream: &str,
    subject: &str,
    end: Instant,
) -> Result<Option<Stored>, Failure> {
    let body = json!({ "last_by_subj": subject }).to_string().into();
    let message = link.once(&format!("$JS.API.DIRECT.GET.{stream}"), None, body, end).await?;
    match message.status.map(|status| status.as_u16()) {
        None => Ok(replica_message(message)),
        Some(404) => Ok(None),
        Some(status) => Err(Failure::Unreadable(format!("status {status}"))),
    }
}

/// Asks any replica for messages, and collects what comes until the last one or the end of time. A
/// replica may be behind: what is missing is for the caller to see.
pub(crate) async fn direct(
    link: &Link,
    stream: &str,
    request: &serde_json::Value,
    end: Instant,
) -> Result<Vec<Stored>, Failure> {
    let client = link.client();
    let inbox = client.new_inbox();
    let lost = |error: String| Failure::NotTaken(error);
    let subscribing = timeout_at(end, client.subscribe(inbox.clone()));
    let Ok(subscribed) = subscribing.await else { return Err(lost("time-out".to_owned())) };
    let mut answers = subscribed.map_err(|error| lost(error.to_string()))?;
    let subject = format!("$JS.API.DIRECT.GET.{stream}");
    let body = request.to_string().into();
    let publishing = timeout_at(end, client.publish_with_reply(subject, inbox, body));
    let Ok(published) = publishing.await else { return Err(lost("time-out".to_owned())) };
    published.map_err(|error| lost(error.to_string()))?;
    let mut stored = Vec::new();
    loop {
        let Ok(Some(message)) = timeout_at(end, receive(&mut answers)).await else {
            return Err(Failure::Unanswered("time-out".to_owned()));
        };
        match message.status.map(|status| status.as_u16()) {
            // The end of a batch; no message there.
            Some(204 | 404) => return Ok(stored),
            Some(503) => return Err(lost("no replica answers".to_owned())),
            Some(status) => {
                let why = message.description.unwrap_or_default();
                return Err(Failure::Unreadable(format!("status {status} {why}")));
            }
            None => stored.extend(replica_message(message)),
        }
    }
}

/// The next message of a subscription; `None` once it is over.
pub(crate) async fn receive(subscriber: &mut Subscriber) -> Option<Message> {
    poll_fn(|context| Pin::new(&mut *subscriber).poll_next(context)).await
}

async fn get(
    link: &Link,
    stream: &str,
    request: &serde_json::Value,
    end: Instant,
) -> Result<Option<Stored>, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        message: Raw,
    }
    match link.api::<Answer>(&format!("STREAM.MSG.GET.{stream}"), request, end).await {
        Ok(answer) => answer.message.read().map(Some),
        Err(failure) if failure.is(refusal::NO_MESSAGE) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// A message as the leader words it.
#[derive(Deserialize)]
struct Raw {
    subject: String,
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
    time: String,
}

impl Raw {
    fn read(self) -> Result<Stored, Failure> {
        let decode = |text: &str| {
            BASE64_STANDARD.decode(text).map_err(|error| Failure::Unreadable(error.to_string()))
        };
        Ok(Stored {
            seq: self.seq,
            headers: Headers::parse(&decode(&self.hdrs)?),
            body: decode(&self.data)?.into(),
            at_ms: milliseconds(&self.time),
            subject: self.subject,
        })
    }
}

/// A message as a replica gives it: raw, with its place in headers.
fn replica_message(message: Message) -> Option<Stored> {
    let headers = Headers::of(message.headers.as_ref()?);
    Some(Stored {
        seq: headers.number("Nats-Sequence")?,
        subject: headers.get("Nats-Subject")?.to_owned(),
        at_ms: milliseconds(headers.get("Nats-Time-Stamp").unwrap_or_default()),
        headers,
        body: message.payload,
    })
}

/// 0 for what is no time, or one before 1970.
fn milliseconds(text: &str) -> u64 {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok();
    let ms = time.map(|time| time.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
    u64::try_from(ms).unwrap_or_default()
}
