//! Why a store was not opened, and what to do about it.

use crate::version::LEAST;

/// The servers cannot be reached, or are less than what this store asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The options or the URL are wrong.
    #[error("the URL of the NATS store is wrong: {what}")]
    Url {
        /// What is wrong, and what may stand there.
        what: String,
    },
    /// Nobody answers.
    #[error(
        "no NATS server answers at {servers}: {why}; check that it runs and that the address is right"
    )]
    Unreachable {
        /// The servers that were tried.
        servers: String,
        /// The last thing that was tried.
        why: String,
    },
    /// The server does not let us in, or the credentials file cannot be used.
    #[error(
        "no login at the NATS server: {why}; check user and password, or that the creds file is \
         whole, of this server and not expired"
    )]
    Auth {
        /// In the server's words, or what is wrong with the file.
        why: String,
    },
    /// No TLS came about.
    #[error(
        "no TLS with the NATS server: {why}; check tls-ca, tls-cert, tls-key and the host name"
    )]
    Tls {
        /// Why not.
        why: String,
    },
    /// The server is too old.
    #[error(
        "the NATS server {server} has version {found}, which can lose acknowledged records; \
         {LEAST} or newer is needed"
    )]
    Version {
        /// Its name.
        server: String,
        /// Its version.
        found: String,
    },
    /// JetStream is off.
    #[error(
        "JetStream is off ({why}); switch it on in the server's configuration, with a store_dir"
    )]
    NoJetStream {
        /// In the server's words.
        why: String,
    },
    /// A stream of that name has other settings.
    #[error(
        "stream {stream} has {setting} = {found}, and {wanted} is needed; use another NAME in the \
         URL, or change the stream"
    )]
    StreamDiffers {
        /// The stream.
        stream: String,
        /// Which setting.
        setting: String,
        /// What it should be.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// Fewer servers than replicas.
    #[error(
        "{wanted} replicas are asked for: {why}; run a cluster of that size, or write replicas=1 \
         and lose what that one disk loses"
    )]
    Replicas {
        /// How many.
        wanted: u8,
        /// Why there are not so many.
        why: String,
    },
    /// A server acknowledges before the disk has it.
    #[error(
        "the NATS server at {monitor} acknowledges before the disk has it; set `sync_interval: \
         always` in its jetstream block, or write accept=sync and lose records with the power"
    )]
    Sync {
        /// Where that was read.
        monitor: String,
    },
    /// Nobody says whether the servers acknowledge before the disk has it.
    #[error(
        "it is not known whether the NATS servers write to disk before they acknowledge: {why}; \
         name their monitoring endpoints with monitor=http://host:8222, or write accept=sync"
    )]
    SyncUnknown {
        /// Why not.
        why: String,
    },
    /// A monitoring endpoint is that of a server that this store is not on.
    #[error(
        "the monitoring endpoint {monitor} is that of another server: it is not {server} and has no \
         route to it; name the endpoints of the servers in the URL with monitor=, or write accept=sync"
    )]
    MonitorOther {
        /// The endpoint.
        monitor: String,
        /// The server of the connection.
        server: String,
    },
    /// The streams cannot be created or read.
    #[error(
        "the streams of the store cannot be set up: {why}; check that most servers of the cluster are \
         up, and the permissions of this user"
    )]
    Setup {
        /// In the server's words.
        why: String,
    },
}

impl ConnectError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Url { .. } => "nats_url",
            Self::Unreachable { .. } => "nats_unreachable",
            Self::Auth { .. } => "nats_auth",
            Self::Tls { .. } => "nats_tls",
            Self::Version { .. } => "nats_version",
            Self::NoJetStream { .. } => "nats_no_jetstream",
            Self::StreamDiffers { .. } => "nats_stream_differs",
            Self::Replicas { .. } => "nats_replicas",
            Self::Sync { .. } => "nats_sync",
            Self::SyncUnknown { .. } => "nats_sync_unknown",
            Self::MonitorOther { .. } => "nats_monitor_other",
            Self::Setup { .. } => "nats_setup",
        }
    }
}
