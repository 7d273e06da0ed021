//! How a store is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::ConnectError;
use crate::url::{self, wrong};

/// The port of a server that names none.
pub(crate) const PORT: u16 = 4222;
/// The longest name of a space, in bytes.
const MAX_SPACE_BYTES: usize = 32;

/// How a store is reached and what it asks of the servers.
/// `Debug` shows no secret: of a URL, only what is safe in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsOptions {
    /// Servers of the cluster as `host:port`; at least one. The others are learned from it.
    pub servers: Vec<String>,
    /// Whether to refuse a connection without TLS. A server that asks for TLS gets it either way.
    pub tls: bool,
    /// The name before every stream: 1 to 32 characters of `A-Z 0-9 _ -`. `PROBITY` by default.
    pub space: String,
    /// Who asks.
    pub login: Login,
    /// Certificates to trust instead of the machine's: a PEM file.
    pub tls_ca: Option<PathBuf>,
    /// The certificate to show, with its key: two PEM files.
    pub tls_identity: Option<(PathBuf, PathBuf)>,
    /// On how many servers each stream is kept: 1, 3 or 5. 3 by default.
    pub replicas: u8,
    /// How long a lease lasts, in milliseconds, 200 to 3 600 000. 10 000 by default. All that share
    /// a space must agree.
    pub lease_ttl_ms: u64,
    /// How long one operation is tried, in milliseconds, 1000 to 600 000. 30 000 by default: longer
    /// than a cluster needs to choose new leaders.
    pub timeout_ms: u64,
    /// How long records are kept, in seconds. For ever by default. Must be longer than the longest
    /// run: a run that lost its first records cannot be read. Blobs are kept for ever.
    pub max_age_s: Option<u64>,
    /// A bound on the bytes of records; appends that would pass it are refused as on a full disk.
    pub max_bytes: Option<u64>,
    /// Monitoring endpoints of the servers, as `http://host:port`, at which the sync policy is read.
    /// They know no users; a URL with a user, a password or a key in it is refused.
    pub monitors: Vec<String>,
    /// What is taken although it is less than asked for.
    pub accept: Accept,
}

/// Who asks.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Login {
    /// Nobody in particular.
    #[default]
    Anonymous,
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// Never printed.
        password: String,
    },
    /// Whoever knows the word. Never printed.
    Token(String),
    /// A credentials file: the JWT of a user with the seed of its key, or the seed alone. Read at
    /// each connection.
    Credentials(PathBuf),
}

/// What is taken although it is less than asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accept {
    /// Servers that acknowledge before the disk has it, or of which that is not known: loss of
    /// power may then take acknowledged records.
    pub sync: bool,
    /// Streams that exist with another number of replicas.
    pub replicas: bool,
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            servers: vec![format!("localhost:{PORT}")],
            tls: false,
            space: "PROBITY".to_owned(),
            login: Login::Anonymous,
            tls_ca: None,
            tls_identity: None,
            replicas: 3,
            lease_ttl_ms: 10_000,
            timeout_ms: 30_000,
            max_age_s: None,
            max_bytes: None,
            monitors: Vec::new(),
            accept: Accept::default(),
        }
    }
}

/// Secrets are left out.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            // A token may stand where a user is expected.
            Self::Password { .. } => f.write_str("Password"),
            Self::Token(_) => f.write_str("Token"),
            Self::Credentials(path) => write!(f, "Credentials({})", path.display()),
        }
    }
}

/// Whatever was put into it: nothing that may be a user, a password or a key is shown.
impl fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = |urls: &[String]| urls.iter().map(|it| url::masked(it)).collect::<Vec<_>>();
        f.debug_struct("NatsOptions")
            .field("servers", &masked(&self.servers))
            .field("tls", &self.tls)
            .field("space", &self.space)
            .field("login", &self.login)
            .field("tls_ca", &self.tls_ca)
            .field("tls_identity", &self.tls_identity)
            .field("replicas", &self.replicas)
            .field("lease_ttl_ms", &self.lease_ttl_ms)
            .field("timeout_ms", &self.timeout_ms)
            .field("max_age_s", &self.max_age_s)
            .field("max_bytes", &self.max_bytes)
            .field("monitors", &masked(&self.monitors))
            .field("accept", &self.accept)
            .finish()
    }
}

impl NatsOptions {
    /// Checks every bound that is stated at the fields.
    ///
    /// # Errors
    /// [`ConnectError::Url`]: the first that is not kept.
    pub fn check(&self) -> Result<(), ConnectError> {
        let legal = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c);
        let space = &self.space;
        if space.is_empty() || space.len() > MAX_SPACE_BYTES || !space.chars().all(legal) {
            return Err(wrong(format!("NAME is 1 to {MAX_SPACE_BYTES} characters of A-Z 0-9 _ -")));
        }
        if self.servers.is_empty() {
            return Err(wrong("it names no server"));
        }
        for (index, server) in self.servers.iter().enumerate() {
            url::server(index, server)?;
        }
        if ![1, 3, 5].contains(&self.replicas) {
            return Err(wrong(format!("replicas is 1, 3 or 5, not {}", self.replicas)));
        }
        if !(200..=3_600_000).contains(&self.lease_ttl_ms) {
            return Err(wrong(format!(
                "lease-ttl-ms is 200 to 3600000, not {}",
                self.lease_ttl_ms
            )));
        }
        if !(1000..=600_000).contains(&self.timeout_ms) {
            return Err(wrong(format!("timeout-ms is 1000 to 600000, not {}", self.timeout_ms)));
        }
        let out = |limit: Option<u64>, most: u64| limit.is_some_and(|it| it == 0 || it > most);
        if out(self.max_age_s, 10 * 365 * 24 * 3600) || out(self.max_bytes, i64::MAX as u64) {
            return Err(wrong("max-age-s is 1 to ten years, max-bytes is 1 to 2^63 - 1"));
        }
        if !self.monitors.iter().all(|it| url::is_monitor(it)) {
            return Err(wrong(
                "monitor takes URLs like http://host:8222, comma between; the endpoints know no user, \
                 no password and no key",
            ));
        }
        Ok(())
    }

    /// The servers as URLs, without secrets.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.tls { "tls" } else { "nats" };
        self.servers.iter().map(|it| url::masked(&format!("{scheme}://{it}"))).collect()
    }

    pub(crate) const fn lease_ttl(&self) -> Duration {
        Duration::from_millis(self.lease_ttl_ms)
    }

    pub(crate) const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}
