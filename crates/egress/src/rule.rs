//! Rules an operator writes: which hosts, and which of them may be private.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use url::Host;

/// One allowed host: `example.com`, `*.example.com` (subdomains only, at any depth), `10.1.2.3` or
/// `[::1]`, each with an optional `:port`. Without a port, 80 and 443 are meant.
///
/// Names are compared as the URL standard writes them: lower case, punycode, no final dot. An
/// address must be written in its usual form; it matches every spelling of that address in a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    host: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum HostPattern {
    Name(String),
    Subdomains(String),
    Address(IpAddr),
}

impl HostRule {
    /// Whether the rule names this host, on any port.
    #[must_use]
    pub fn matches_host(&self, host: &Host<&str>) -> bool {
        match (&self.host, address_of(host)) {
            (HostPattern::Address(named), address) => address == Some(*named),
            (_, Some(_)) => false,
            (HostPattern::Name(named), None) => name_of(host) == Some(named),
            (HostPattern::Subdomains(suffix), None) => name_of(host)
                .and_then(|name| name.strip_suffix(suffix.as_str()))
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        }
    }

    /// Whether the rule names this port: the written one, else 80 and 443.
    #[must_use]
    pub fn matches_port(&self, port: u16) -> bool {
        self.port.map_or(port == 80 || port == 443, |named| named == port)
    }

    /// Whether naming this rule also names `address` as wanted although it is not public: an
    /// address literal names itself, and `localhost` names loopback.
    pub(crate) fn names_private(&self, address: IpAddr) -> bool {
        match &self.host {
            HostPattern::Address(named) => *named == address,
            HostPattern::Name(name) => name == "localhost" && address.is_loopback(),
            HostPattern::Subdomains(_) => false,
        }
    }
}

impl FromStr for HostRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let bad = |why| RuleError { rule: clip(text), why };
        let (host, port) = split_port(text).ok_or_else(|| bad("the port is not 1 to 65535"))?;
        if let Some(suffix) = host.strip_prefix("*.") {
            return match Host::parse(suffix) {
                Ok(Host::Domain(name)) if is_domain_suffix(trimmed(&name)) => {
                    let host = HostPattern::Subdomains(trimmed(&name).to_owned());
                    Ok(Self { host, port })
                }
                Ok(_) => Err(bad("`*.` must be followed by a name of two labels or more")),
                Err(_) => Err(bad("not a host name")),
            };
        }
        let host = match Host::parse(host).map_err(|_| bad("not a host name or address"))? {
            Host::Domain(name) if name.contains('*') || trimmed(&name).is_empty() => {
                return Err(bad("`*` may only stand alone as the first label"));
            }
            Host::Domain(name) if trimmed(&name).ends_with('.') => {
                return Err(bad("not a host name or address"));
            }
            Host::Domain(name) => HostPattern::Name(trimmed(&name).to_owned()),
            Host::Ipv4(ip) if ip.to_string() != host => {
                return Err(bad("write the address as four decimal numbers"));
            }
            Host::Ipv4(ip) => HostPattern::Address(IpAddr::V4(ip)),
            Host::Ipv6(ip) => HostPattern::Address(IpAddr::V6(ip)),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostPattern::Name(name) => f.write_str(name)?,
            HostPattern::Subdomains(suffix) => write!(f, "*.{suffix}")?,
            HostPattern::Address(IpAddr::V4(ip)) => write!(f, "{ip}")?,
            HostPattern::Address(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// What may be private: a block (`10.0.0.0/8`), one address (`10.1.2.3`), or whatever an allowed
/// host resolves to (`db.internal`, `db.internal:8080`). It allows no host by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PrivateRule {
    /// Addresses, whatever the host.
    Net(IpNet),
    /// Any address of this host and port.
    Host(HostRule),
}

impl PrivateRule {
    /// Whether `address`, as an address of `host` and `port`, is named.
    #[must_use]
    pub fn matches(&self, host: &Host<&str>, port: u16, address: IpAddr) -> bool {
        match self {
            Self::Net(net) => net.contains(&address),
            Self::Host(rule) => rule.matches_host(host) && rule.matches_port(port),
        }
    }
}

impl FromStr for PrivateRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if let Ok(net) = text.parse::<IpNet>() {
            return Ok(Self::Net(net));
        }
        if text.contains('/') {
            return Err(RuleError { rule: clip(text), why: "not an address block" });
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Net(IpNet::from(address)));
        }
        text.parse().map(Self::Host)
    }
}

impl fmt::Display for PrivateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) => net.fmt(f),
            Self::Host(rule) => rule.fmt(f),
        }
    }
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("host rule `{rule}`: {why}")]
pub struct RuleError {
    rule: String,
    why: &'static str,
}

/// The address a URL's host is, when it is one.
pub(crate) fn address_of(host: &Host<&str>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(ip) => Some(IpAddr::V4(*ip)),
        Host::Ipv6(ip) => Some(IpAddr::V6(*ip)),
    }
}

fn name_of<'a>(host: &Host<&'a str>) -> Option<&'a str> {
    match host {
        Host::Domain(name) => Some(trimmed(name)),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// `example.com.` is the same name as `example.com`.
fn trimmed(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Two labels or more, and no further wildcard.
fn is_domain_suffix(name: &str) -> bool {
    !name.contains('*') && name.split('.').count() > 1 && name.split('.').all(|l| !l.is_empty())
}

/// Host and port of a rule; `None` when there is a port that is no port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        None => Some((text, None)),
        Some((_, port)) if port.ends_with(']') => Some((text, None)),
        Some((host, port)) => {
            let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
            let port = port.parse::<u16>().ok().filter(|port| digits && *port != 0)?;
            Some((host, Some(port)))
        }
    }
}

fn clip(text: &str) -> String {
    text.chars().take(200).collect()
}
