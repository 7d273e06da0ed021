//! How a store is reached, and the URL that says so.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::ConnectError;

/// The keys that a URL may hold.
const KEYS: &str = "replicas, creds, tls-ca, tls-cert, tls-key, lease-ttl-ms, timeout-ms, max-age-s, \
                    max-bytes, monitor, accept";
/// The port of a server that names none.
const PORT: u16 = 4222;
/// The longest name of a space, in bytes.
const MAX_SPACE_BYTES: usize = 32;

/// How a store is reached and what it asks of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            Self::Password { user, .. } => write!(f, "Password({user})"),
            Self::Token(_) => f.write_str("Token"),
            Self::Credentials(path) => write!(f, "Credentials({})", path.display()),
        }
    }
}

impl NatsOptions {
    /// Reads `nats://[user:password@]host:port[,host:port]/[NAME]?key=value&...`, or the same with
    /// `tls://`. A user without a password is a token. Bytes that a URL cannot hold are written `%XX`.
    /// Keys: `replicas`, `creds`, `tls-ca`, `tls-cert`, `tls-key`, `lease-ttl-ms`, `timeout-ms`,
    /// `max-age-s`, `max-bytes`, `monitor` (URLs, comma between), `accept` (`sync`, `replicas`).
    ///
    /// # Errors
    /// [`ConnectError::Url`]: what is wrong and what may stand there.
    pub fn parse(text: &str) -> Result<Self, ConnectError> {
        let mut options = Self::default();
        let rest = if let Some(rest) = text.strip_prefix("tls://") {
            options.tls = true;
            rest
        } else {
            text.strip_prefix("nats://")
                .ok_or_else(|| wrong("it must begin with nats:// or tls://"))?
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, space) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts = match authority.rsplit_once('@') {
            Some((login, hosts)) => {
                options.login = read_login(login)?;
                hosts
            }
            None => authority,
        };
        options.servers = hosts.split(',').map(read_server).collect::<Result<_, _>>()?;
        if !space.is_empty() {
            space.clone_into(&mut options.space);
        }
        let (mut certificate, mut key) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| wrong(format!("`{pair}` has no value")))?;
            let value = decode(value)?;
            match name {
                "tls-cert" => certificate = Some(PathBuf::from(value)),
                "tls-key" => key = Some(PathBuf::from(value)),
                _ => options.set(name, value)?,
            }
        }
        options.tls_identity = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => return Err(wrong("tls-cert and tls-key come together")),
        };
        options.check()?;
        Ok(options)
    }

    /// Checks every bound that is stated at the fields.
    ///
    /// # Errors
    /// [`ConnectError::Url`]: the first that is not kept.
    pub fn check(&self) -> Result<(), ConnectError> {
        let legal = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c);
        let space = &self.space;
        if space.is_empty() || space.len() > MAX_SPACE_BYTES || !space.chars().all(legal) {
            return Err(wrong(format!(
                "`{space}` is no name: 1 to {MAX_SPACE_BYTES} characters of A-Z 0-9 _ -"
            )));
        }
        if self.servers.is_empty() {
            return Err(wrong("it names no server"));
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
        let http =
            |monitor: &String| monitor.strip_prefix("http://").is_some_and(|it| !it.is_empty());
        if !self.monitors.iter().all(http) {
            return Err(wrong("monitor takes URLs that begin with http://, comma between"));
        }
        Ok(())
    }

    /// The servers as URLs, without secrets.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let scheme = if self.tls { "tls" } else { "nats" };
        self.servers.iter().map(|server| format!("{scheme}://{server}")).collect()
    }

    pub(crate) const fn lease_ttl(&self) -> Duration {
        Duration::from_millis(self.lease_ttl_ms)
    }

    pub(crate) const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), ConnectError> {
        match name {
            "replicas" => self.replicas = number(name, &value)?,
            "creds" => self.login = Login::Credentials(PathBuf::from(value)),
            "tls-ca" => self.tls_ca = Some(PathBuf::from(value)),
            "lease-ttl-ms" => self.lease_ttl_ms = number(name, &value)?,
            "timeout-ms" => self.timeout_ms = number(name, &value)?,
            "max-age-s" => self.max_age_s = Some(number(name, &value)?),
            "max-bytes" => self.max_bytes = Some(number(name, &value)?),
            "monitor" => self.monitors = value.split(',').map(str::to_owned).collect(),
            "accept" => {
                for word in value.split(',') {
                    match word {
                        "sync" => self.accept.sync = true,
                        "replicas" => self.accept.replicas = true,
                        _ => {
                            return Err(wrong(format!(
                                "accept takes sync, replicas, not `{word}`"
                            )));
                        }
                    }
                }
            }
            _ => return Err(wrong(format!("`{name}` is no key; there are {KEYS}"))),
        }
        Ok(())
    }
}

fn wrong(what: impl Into<String>) -> ConnectError {
    ConnectError::Url { what: what.into() }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, ConnectError> {
    value.parse().map_err(|_| wrong(format!("{name} takes a number, not `{value}`")))
}

fn read_login(text: &str) -> Result<Login, ConnectError> {
    Ok(match text.split_once(':') {
        Some((user, password)) => {
            Login::Password { user: decode(user)?, password: decode(password)? }
        }
        None => Login::Token(decode(text)?),
    })
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
fn read_server(text: &str) -> Result<String, ConnectError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    let bad = || wrong(format!("`{text}` is no server; write host:port, comma between"));
    let bracket = text.rfind(']').unwrap_or_default();
    let tail = text.get(bracket..).unwrap_or_default();
    let (host, port) = match tail.rsplit_once(':') {
        Some((_, port)) => {
            let port: u16 = port.parse().map_err(|_| bad())?;
            (text.rsplit_once(':').map(|(host, _)| host).unwrap_or_default(), port)
        }
        None => (text, PORT),
    };
    let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if host.is_empty() || bare_v6 || !text.chars().all(legal) {
        return Err(bad());
    }
    Ok(format!("{host}:{port}"))
}

/// Undoes `%XX`.
fn decode(text: &str) -> Result<String, ConnectError> {
    let bad =
        || wrong(format!("`{text}` holds a % that is not followed by two hex digits of UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(bad()) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}
