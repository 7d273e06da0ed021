//! What is sent out: to public addresses only, and to none but those that were looked at.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use probity_egress::{PrivateRule, Resolve, SystemResolver, client_tls, refused_range};
use url::{Host, Url};

/// Addresses that are tried for one name.
const MAX_ADDRESSES: usize = 8;
/// How long one delivery may take, from its name to its answer.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause before something is sent again; doubles.
const AGAIN: Duration = Duration::from_millis(500);
/// Characters of a URL.
const MAX_URL_CHARS: usize = 2_048;

/// Takes bodies to URLs that others chose.
#[derive(Clone)]
pub struct Courier {
    resolver: Arc<dyn Resolve>,
    allow_private: Vec<PrivateRule>,
    pause: Duration,
}

/// Nothing was delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CourierError {
    /// Nothing is sent there, now or later.
    #[error("{0}")]
    Refused(String),
    /// It could not be reached, which may change.
    #[error("{0}")]
    Unreachable(String),
}

impl Courier {
    /// A courier that resolves names as the machine does. `allow_private` names what may be private.
    #[must_use]
    pub fn new(allow_private: Vec<PrivateRule>) -> Self {
        Self::with_resolver(allow_private, Arc::new(SystemResolver))
    }

    /// A courier with its own resolver.
    #[must_use]
    pub fn with_resolver(allow_private: Vec<PrivateRule>, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, allow_private, pause: AGAIN }
    }

    /// With another pause before an event is sent again, 500 ms if nothing is said. It doubles.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause.min(LIMIT);
        self
    }

    /// How long to wait before the next try.
    pub(crate) fn pause(&self, tries: u32) -> Duration {
        self.pause.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1)))
    }

    /// Whether anything would be sent to a URL, as its name resolves now.
    ///
    /// # Errors
    /// It would not.
    pub async fn permits(&self, url: &str) -> Result<(), CourierError> {
        let late = |_| CourierError::Refused("its name does not resolve in time".to_owned());
        tokio::time::timeout(LIMIT, self.vetted(&read(url)?)).await.map_err(late)?.map(drop)
    }

    /// Posts a body, and gives the status of the answer. No redirect is followed, nothing of the answer is
    /// read, and the name is not resolved again once its addresses were looked at.
    ///
    /// # Errors
    /// Nothing is sent there, or nobody answers.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&str, String)],
        body: Vec<u8>,
    ) -> Result<u16, CourierError> {
        let url = read(url)?;
        let sending = async {
            let addresses = self.vetted(&url).await?;
            let mut request = client(&url, &addresses)?.post(url.clone()).body(body);
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            let sent = request.send().await;
            sent.map(|answer| answer.status().as_u16()).map_err(|_| unreachable_at(&url))
        };
        tokio::time::timeout(LIMIT, sending).await.unwrap_or_else(|_| Err(unreachable_at(&url)))
    }

    /// The addresses of a URL: all of them public, or named as private.
    async fn vetted(&self, url: &Url) -> Result<Vec<SocketAddr>, CourierError> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(CourierError::Refused("it names no host".to_owned()));
        };
        let mut addresses = match &host {
            Host::Ipv4(ip) => vec![SocketAddr::new(IpAddr::V4(*ip), port)],
            Host::Ipv6(ip) => vec![SocketAddr::new(IpAddr::V6(*ip), port)],
            Host::Domain(name) => {
                self.resolver.resolve(name).await.map_err(|_| unreachable_at(url))?
            }
        };
        if addresses.is_empty() {
            return Err(unreachable_at(url));
        }
        for address in &addresses {
            let is_named =
                self.allow_private.iter().any(|rule| rule.matches(&host, port, address.ip()));
            if let (Some(range), false) = (refused_range(address.ip()), is_named) {
                let why = format!("it leads to an address that is not public ({})", range.name);
                return Err(CourierError::Refused(why));
            }
        }
        addresses.truncate(MAX_ADDRESSES);
        addresses.iter_mut().for_each(|address| address.set_port(port));
        Ok(addresses)
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier")
            .field("allow_private", &self.allow_private)
            .finish_non_exhaustive()
    }
}

fn read(text: &str) -> Result<Url, CourierError> {
    let refused = |why: &str| Err(CourierError::Refused(why.to_owned()));
    if text.len() > MAX_URL_CHARS {
        return refused("it is too long");
    }
    let Ok(url) = Url::parse(text) else { return refused("it is no URL") };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("it is neither http nor https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("it names a user: leave that out");
    }
    Ok(url)
}

/// Nothing of a URL but its host is told: the rest may hold secrets.
fn unreachable_at(url: &Url) -> CourierError {
    CourierError::Unreachable(format!("`{}` does not answer", url.host_str().unwrap_or_default()))
}

/// A client for one delivery that knows one name.
fn client(url: &Url, addresses: &[SocketAddr]) -> Result<reqwest::Client, CourierError> {
    let tls = client_tls(url.scheme() == "https")
        .map_err(|_| CourierError::Unreachable("this machine has no certificates".to_owned()))?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .pool_max_idle_per_host(0)
        .timeout(LIMIT)
        .user_agent(concat!("probity/", env!("CARGO_PKG_VERSION")));
    if let Some(Host::Domain(name)) = url.host() {
        builder = builder.resolve_to_addrs(name, addresses);
    }
    builder.build().map_err(|_| unreachable_at(url))
}
