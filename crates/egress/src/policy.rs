//! What the operator allows.

use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};

use crate::address::refused_range;
use crate::{Denial, HostRule, PrivateRule};

/// What a client may ask, and how much it may cost. The default allows no host at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressPolicy {
    /// Hosts that may be asked. Naming an address literal or `localhost` also allows it to be
    /// private.
    pub allow_hosts: Vec<HostRule>,
    /// Addresses and hosts that may be private.
    pub allow_private: Vec<PrivateRule>,
    /// Bytes of a body that are read; the rest is cut and flagged. Up to
    /// [`Self::MAX_BODY_BYTES`].
    pub max_body_bytes: u64,
    /// Redirects that are followed. Up to [`Self::MAX_REDIRECTS`].
    pub max_redirects: u32,
    /// Limit for each hop to resolve the name, and for each hop to connect. At least 1 ms.
    pub connect_timeout: Duration,
    /// Limit for the whole request: every hop and the body. 1 ms to [`Self::MAX_TIMEOUT`].
    pub total_timeout: Duration,
}

impl EgressPolicy {
    /// The largest body cap: 64 MiB.
    pub const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;
    /// The most redirects that may be allowed.
    pub const MAX_REDIRECTS: u32 = 20;
    /// The longest total timeout: ten minutes.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);

    /// Reads allow rules, everything else at its default.
    ///
    /// # Errors
    /// The first rule that cannot be read.
    pub fn allowing<'a>(
        hosts: impl IntoIterator<Item = &'a str>,
        private: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, crate::RuleError> {
        Ok(Self {
            allow_hosts: hosts.into_iter().map(str::parse).collect::<Result<_, _>>()?,
            allow_private: private.into_iter().map(str::parse).collect::<Result<_, _>>()?,
            ..Self::default()
        })
    }

    /// Checks that every limit is inside its bounds.
    ///
    /// # Errors
    /// [`PolicyError`] naming the first limit that is not.
    pub fn validate(&self) -> Result<(), PolicyError> {
        let out = |limit, bounds| Err(PolicyError { limit, bounds });
        if self.max_body_bytes > Self::MAX_BODY_BYTES {
            return out("max_body_bytes", "at most 67108864");
        }
        if self.max_redirects > Self::MAX_REDIRECTS {
            return out("max_redirects", "at most 20");
        }
        if self.total_timeout.as_millis() == 0 || self.total_timeout > Self::MAX_TIMEOUT {
            return out("total_timeout", "1 ms to 10 min");
        }
        if self.connect_timeout.as_millis() == 0 {
            return out("connect_timeout", "at least 1 ms");
        }
        Ok(())
    }

    /// Whether `url` may be asked, before any name is resolved.
    ///
    /// # Errors
    /// The [`Denial`]. A literal address is judged here, a name's addresses by
    /// [`Self::permit_address`].
    pub fn permit_url(&self, url: &Url) -> Result<(), Denial> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Denial::HostNotAllowed);
        };
        let mut named = self.allow_hosts.iter().filter(|rule| rule.matches_host(&host)).peekable();
        if named.peek().is_none() {
            return Err(Denial::HostNotAllowed);
        }
        if !named.any(|rule| rule.matches_port(port)) {
            return Err(Denial::PortNotAllowed { port });
        }
        match crate::rule::address_of(&host) {
            Some(address) => self.permit_address(&host, port, address),
            None => Ok(()),
        }
    }

    /// Whether `host` on `port` may be reached at `address`: a public one, or one that was named.
    ///
    /// # Errors
    /// [`Denial::PrivateAddress`].
    pub fn permit_address(
        &self,
        host: &Host<&str>,
        port: u16,
        address: IpAddr,
    ) -> Result<(), Denial> {
        let Some(range) = refused_range(address) else {
            return Ok(());
        };
        let literal = self.allow_hosts.iter().any(|rule| {
            rule.matches_host(host) && rule.matches_port(port) && rule.names_private(address)
        });
        if literal || self.allow_private.iter().any(|rule| rule.matches(host, port, address)) {
            return Ok(());
        }
        Err(Denial::PrivateAddress { address, range: range.name })
    }
}

impl Default for EgressPolicy {
    /// No host; 1 MiB, 5 redirects, 5 s to connect, 30 s in all.
    fn default() -> Self {
        Self {
            allow_hosts: Vec::new(),
            allow_private: Vec::new(),
            max_body_bytes: 1024 * 1024,
            max_redirects: 5,
            connect_timeout: Duration::from_secs(5),
            total_timeout: Duration::from_secs(30),
        }
    }
}

/// A limit outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("egress limit `{limit}` must be {bounds}")]
pub struct PolicyError {
    limit: &'static str,
    bounds: &'static str,
}
