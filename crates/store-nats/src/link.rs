//! The connection: requests with a bound, and what their answers mean.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, Message, Request};
use bytes::Bytes;
use probity_store::{FaultKind, StoreFault};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

/// How long one try waits for its answer, at most.
const TRY: Duration = Duration::from_millis(2500);
/// The first pause between tries; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(320);
/// How often a lost connection is looked at while it is being made again.
const LOOK_AT_CONNECTION: Duration = Duration::from_millis(20);

/// A connection with the bound of one operation.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    client: Client,
    operation: Duration,
}

/// Which connection to which server. Another one may lead to servers with other content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Connection {
    server_id: String,
    client_id: u64,
}

/// Why one try came to nothing.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// Nobody took the request: no connection, or nobody who answers for the stream.
    NotTaken(String),
    /// It was sent and no answer came. It may have been carried out, or be carried out later.
    Unanswered(String),
    /// The server refused it.
    Refused(ApiError),
    /// The answer is not one that this build knows.
    Unreadable(String),
}

/// A refusal as JetStream words it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ApiError {
    /// In the manner of HTTP.
    #[serde(default)]
    pub(crate) code: u32,
    /// The number of the refusal.
    #[serde(default)]
    pub(crate) err_code: u32,
    /// In words.
    #[serde(default)]
    pub(crate) description: String,
}

/// The numbers of refusals that mean something here.
pub(crate) mod refusal {
    /// The subject has another last message than the one that was named.
    pub(crate) const WRONG_LAST: u32 = 10071;
    /// The same, where a write of the subject is still on its way through the cluster.
    pub(crate) const WRONG_LAST_IN_FLIGHT: u32 = 10164;
    /// No message or stream of that name.
    pub(crate) const NO_MESSAGE: u32 = 10037;
    pub(crate) const NO_STREAM: u32 = 10059;
    /// What is to be deleted is not there.
    pub(crate) const GONE: [u32; 3] = [NO_MESSAGE, 10043, 10057];
    /// A stream could not write a message: a bound of it, or its disk.
    pub(crate) const NOT_WRITTEN: u32 = 10077;
    /// A stream or the account has reached its size.
    pub(crate) const FULL: [u32; 6] = [10023, 10028, 10047, 10077, 10122, 10123];
    /// More replicas than the server can have.
    pub(crate) const REPLICAS: [u32; 3] = [10005, 10052, 10074];
    /// JetStream is off, for the server or for this account.
    pub(crate) const OFF: [u32; 3] = [10035, 10039, 10076];
}

impl ApiError {
    /// Whether the same request may fare better in a moment: the cluster has no leader, or the
    /// message on its way is not through yet.
    fn may_pass(&self) -> bool {
        self.code == 503
            && !refusal::FULL.contains(&self.err_code)
            && !refusal::OFF.contains(&self.err_code)
            && !refusal::REPLICAS.contains(&self.err_code)
    }
}

impl Failure {
    /// Whether another try may come to something.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::NotTaken(_) | Self::Unanswered(_) => true,
            Self::Refused(error) => error.may_pass(),
            Self::Unreadable(_) => false,
        }
    }

    /// Whether the request may have been carried out all the same, or may be later: no answer came, or
    /// the leader failed while it wrote what the other replicas may have written.
    pub(crate) fn leaves_open(&self) -> bool {
        match self {
            Self::NotTaken(_) => false,
            Self::Unanswered(_) | Self::Unreadable(_) => true,
            // Bounds ("maximum bytes exceeded") are looked at before anything is written.
            Self::Refused(error) => {
                error.err_code == refusal::NOT_WRITTEN && !error.description.starts_with("maximum")
            }
        }
    }

    /// Whether it is the refusal of that number.
    pub(crate) fn is(&self, err_code: u32) -> bool {
        matches!(self, Self::Refused(error) if error.err_code == err_code)
    }

    pub(crate) fn fault(&self) -> StoreFault {
        let kind = match self {
            Self::Refused(error) if refusal::FULL.contains(&error.err_code) => FaultKind::Full,
            Self::NotTaken(_) | Self::Unanswered(_) | Self::Refused(_) | Self::Unreadable(_) => {
                FaultKind::Io
            }
        };
        StoreFault::new(kind, self.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTaken(why) => write!(f, "NATS did not take the request: {why}"),
            Self::Unanswered(why) => write!(f, "NATS gave no answer: {why}"),
            Self::Refused(ApiError { err_code, description, .. }) => {
                write!(f, "NATS refused: {description} ({err_code})")
            }
            Self::Unreadable(why) => write!(f, "NATS answered what this build cannot read: {why}"),
        }
    }
}

/// Pauses that grow, up to the end of an operation.
#[derive(Debug)]
pub(crate) struct Pauses {
    next: Duration,
    /// When the operation ends.
    pub(crate) end: Instant,
}

impl Pauses {
    pub(crate) fn until(end: Instant) -> Self {
        Self { next: PAUSE_MIN, end }
    }

    /// Waits for a moment. False if there is no time for another try.
    pub(crate) async fn pause(&mut self) -> bool {
        let now = Instant::now();
        if now + self.next >= self.end {
            return false;
        }
        sleep(self.next).await;
        self.next = (self.next * 2).min(PAUSE_MAX);
        true
    }
}

impl Link {
    pub(crate) fn new(client: Client, operation: Duration) -> Self {
        Self { client, operation }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The connection as it is now.
    pub(crate) fn connection(&self) -> Connection {
        let info = self.client.server_info();
        Connection { server_id: info.server_id, client_id: info.client_id }
    }

    /// When an operation that begins now ends at the latest.
    pub(crate) fn end(&self) -> Instant {
        Instant::now() + self.operation
    }

    /// One request, one answer.
    pub(crate) async fn once(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        body: Bytes,
        end: Instant,
    ) -> Result<Message, Failure> {
        self.connected(end).await?;
        let end = end.min(Instant::now() + TRY);
        let mut request = Request::new().payload(body).timeout(None);
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        // The bound is around all of it: a client that is reconnecting queues what it is given.
        let answer = timeout_at(end, self.client.send_request(subject.to_owned(), request)).await;
        match answer {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(error)) => Err(match error.kind() {
                async_nats::RequestErrorKind::NoResponders
                | async_nats::RequestErrorKind::InvalidSubject
                | async_nats::RequestErrorKind::MaxPayloadExceeded => {
                    Failure::NotTaken(error.to_string())
                }
                _ => Failure::Unanswered(error.to_string()),
            }),
            Err(_) => Err(Failure::Unanswered("time-out".to_owned())),
        }
    }

    /// One request to the API of JetStream, and its answer.
    pub(crate) async fn api_once<T: DeserializeOwned>(
        &self,
        name: &str,
        body: &serde_json::Value,
        end: Instant,
    ) -> Result<T, Failure> {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let message = self.once(&format!("$JS.API.{name}"), None, body, end).await?;
        answer(&message.payload)
    }

    /// The same, tried again while that may help. For requests that do no harm twice.
    pub(crate) async fn api<T: DeserializeOwned>(
        &self,
        name: &str,
        body: &serde_json::Value,
        end: Instant,
    ) -> Result<T, Failure> {
        let mut pauses = Pauses::until(end);
        loop {
            match self.api_once(name, body, end).await {
                Err(failure) if failure.may_pass() => {
                    if !pauses.pause().await {
                        return Err(failure);
                    }
                }
                done => return done,
            }
        }
    }

    /// Waits until there is a connection, so that what is sent is sent now.
    async fn connected(&self, end: Instant) -> Result<(), Failure> {
        while self.client.connection_state() != State::Connected {
            if Instant::now() + LOOK_AT_CONNECTION >= end {
                return Err(Failure::NotTaken("no connection to any server".to_owned()));
            }
            sleep(LOOK_AT_CONNECTION).await;
        }
        Ok(())
    }
}

/// Reads an answer that is either an error or what was asked for.
pub(crate) fn answer<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    #[derive(Deserialize)]
    struct Outer {
        error: Option<ApiError>,
    }
    let unreadable = |error: serde_json::Error| Failure::Unreadable(error.to_string());
    let outer: Outer = serde_json::from_slice(bytes).map_err(unreadable)?;
    match outer.error {
        Some(error) => Err(Failure::Refused(error)),
        None => serde_json::from_slice(bytes).map_err(unreadable),
    }
}
