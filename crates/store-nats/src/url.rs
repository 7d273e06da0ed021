//! The URL of a store. It may hold secrets, and what is wrong with it is printed: so no part of it is
//! ever repeated, only named.

use std::path::PathBuf;

use crate::options::{Login, PORT};
use crate::{ConnectError, NatsOptions};

/// The keys that a URL may hold.
const KEYS: &str = "replicas, creds, tls-ca, tls-cert, tls-key, lease-ttl-ms, timeout-ms, max-age-s, \
                    max-bytes, monitor, accept";
/// What to do where a secret holds a character that ends something.
const ENCODE: &str = "`/ ? # @ , : & %` in a user, password or token are written %XX";
/// The longest key that is repeated where it is none.
const MAX_KEY_BYTES: usize = 20;

impl NatsOptions {
    /// Reads `nats://[user:password@]host:port[,host:port]/[NAME]?key=value&...`, or the same with
    /// `tls://`. A user without a password is a token. Bytes that a URL cannot hold are written `%XX`.
    /// Keys: `replicas`, `creds`, `tls-ca`, `tls-cert`, `tls-key`, `lease-ttl-ms`, `timeout-ms`,
    /// `max-age-s`, `max-bytes`, `monitor` (URLs, comma between), `accept` (`sync`, `replicas`).
    ///
    /// # Errors
    /// [`ConnectError::Url`]: what is wrong and what may stand there. It repeats nothing that may be a
    /// secret.
    pub fn parse(text: &str) -> Result<Self, ConnectError> {
        let mut options = Self::default();
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        options.tls = scheme.eq_ignore_ascii_case("tls");
        if !options.tls && !scheme.eq_ignore_ascii_case("nats") {
            return Err(wrong("it must begin with nats:// or tls://"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, space) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts = match authority.rsplit_once('@') {
            Some((login, hosts)) => {
                options.login = read_login(login)?;
                hosts
            }
            None => authority,
        };
        let servers = hosts.split(',').enumerate().map(|(index, it)| server(index, it));
        options.servers = servers.collect::<Result<_, _>>()?;
        if !space.is_empty() {
            space.clone_into(&mut options.space);
        }
        let (mut certificate, mut key) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong(format!("a key has no value; write key=value; {ENCODE}")))?;
            let value = decode(value)?;
            match name {
                "tls-cert" => certificate = Some(PathBuf::from(value)),
                "tls-key" => key = Some(PathBuf::from(value)),
                _ if !options.set(name, value)? => return Err(unknown_key(name, text)),
                _ => {}
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

    /// False if there is no such key.
    fn set(&mut self, name: &str, value: String) -> Result<bool, ConnectError> {
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
                        _ => return Err(wrong("accept takes sync, replicas")),
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The error for options or a URL that are wrong.
pub(crate) fn wrong(what: impl Into<String>) -> ConnectError {
    ConnectError::Url { what: what.into() }
}

/// Reads `host`, `host:port`, `[v6]` or `[v6]:port`, the one at that place of the list.
pub(crate) fn server(index: usize, text: &str) -> Result<String, ConnectError> {
    let bad = || {
        let place = index + 1;
        wrong(format!("server {place} of it is none; write host:port, comma between; {ENCODE}"))
    };
    let (host, port) = host_and_port(text).ok_or_else(bad)?;
    Ok(format!("{host}:{}", port.unwrap_or(PORT)))
}

/// Whether it is `http://host[:port][/path]` and holds nothing else.
pub(crate) fn is_monitor(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    host_and_port(authority).is_some() && path.chars().all(legal)
}

/// What of a URL or an address may be shown, whatever it is: nothing before its last `@`, and no query.
pub(crate) fn masked(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('@') => (format!("{scheme}://"), rest),
        _ => (String::new(), url),
    };
    let (login, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => ("***@", rest),
        None => ("", rest),
    };
    match rest.split_once(['?', '#']) {
        Some((rest, _)) => format!("{scheme}{login}{rest}?***"),
        None => format!("{scheme}{login}{rest}"),
    }
}

/// The port is `None` where none is named.
fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    let legal = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    let bracket = text.rfind(']').unwrap_or_default();
    let tail = text.get(bracket..).unwrap_or_default();
    let (host, port) = match tail.contains(':') {
        true => {
            let (host, port) = text.rsplit_once(':')?;
            (host, Some(port.parse().ok()?))
        }
        false => (text, None),
    };
    let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    (!host.is_empty() && !bare_v6 && text.chars().all(legal)).then_some((host, port))
}

/// A key is repeated only where it looks like one, and where nothing in the URL is a login that may
/// have been cut.
fn unknown_key(name: &str, url: &str) -> ConnectError {
    let is_word = name.len() <= MAX_KEY_BYTES
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        && !url.contains('@');
    let name = if is_word { format!("`{name}`") } else { "what stands there".to_owned() };
    wrong(format!("{name} is no key; there are {KEYS}"))
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, ConnectError> {
    value.parse().map_err(|_| wrong(format!("{name} takes a number")))
}

fn read_login(text: &str) -> Result<Login, ConnectError> {
    if text.split_once('@').is_some_and(|(_, rest)| rest.contains(',')) {
        return Err(wrong(format!(
            "one login stands before the first server and is used at all of them; {ENCODE}"
        )));
    }
    Ok(match text.split_once(':') {
        Some((user, password)) => {
            Login::Password { user: decode(user)?, password: decode(password)? }
        }
        None => Login::Token(decode(text)?),
    })
}

/// Undoes `%XX`.
fn decode(text: &str) -> Result<String, ConnectError> {
    let bad = || wrong("a % in it is not followed by two hex digits of UTF-8; write %25 for it");
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
