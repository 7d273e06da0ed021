//! One request, hop by hop.

use std::error::Error as _;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::LOCATION;
use rustls::pki_types::CertificateDer;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::tls::Tls;
use crate::{Denial, EgressError, EgressPolicy, PolicyError, Resolve, SystemResolver, Unreachable};

/// Bytes of a response's header names and values.
const MAX_HEAD_BYTES: u64 = 64 * 1024;
/// Vetted addresses that are tried for one hop.
const MAX_ADDRESSES: usize = 16;

/// The guarded client. Cheap to clone; every request opens its own connection, so that what is
/// read is what the host says to a newcomer, and no connection outlives its vetting.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    policy: EgressPolicy,
    resolver: Arc<dyn Resolve>,
    tls: Tls,
}

/// The two methods that ask without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Head and body.
    #[default]
    Get,
    /// Head only.
    Head,
}

/// What to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `http` or `https`, without user information.
    pub url: String,
    /// GET unless said otherwise.
    pub method: Method,
    /// A tighter body cap than the policy's; a wider one has no effect.
    pub max_body_bytes: Option<u64>,
    /// A tighter total timeout than the policy's; a longer one has no effect.
    pub timeout: Option<Duration>,
}

impl Request {
    /// A GET under the policy's own limits.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), method: Method::Get, max_body_bytes: None, timeout: None }
    }

    /// A HEAD under the policy's own limits.
    #[must_use]
    pub fn head(url: impl Into<String>) -> Self {
        Self { method: Method::Head, ..Self::get(url) }
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code of the last hop, 100 to 999.
    pub status: u16,
    /// URL of the last hop.
    pub url: String,
    /// Header names in lower case, in the order of arrival; values with invalid UTF-8 replaced. At
    /// most 64 KiB.
    pub headers: Vec<(String, String)>,
    /// The body as sent, at most the cap. Never decompressed: no encoding is asked for.
    pub body: Vec<u8>,
    /// True when the body was longer than the cap: what is missing may matter, so a check must not
    /// conclude from the absence of something.
    pub truncated: bool,
    /// Time from the call to the last byte read.
    pub elapsed: Duration,
}

impl Response {
    /// The first value of a header, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as text, invalid UTF-8 replaced.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

impl Client {
    /// A client that uses the machine's resolver and certificates.
    ///
    /// # Errors
    /// [`PolicyError`] when a limit of the policy is outside its bounds.
    pub fn new(policy: EgressPolicy) -> Result<Self, PolicyError> {
        Self::with_resolver(policy, Arc::new(SystemResolver), Vec::new())
    }

    /// A client with its own resolver, and certificates (DER) it trusts besides the machine's.
    ///
    /// # Errors
    /// [`PolicyError`] when a limit of the policy is outside its bounds.
    pub fn with_resolver(
        policy: EgressPolicy,
        resolver: Arc<dyn Resolve>,
        extra_roots: Vec<Vec<u8>>,
    ) -> Result<Self, PolicyError> {
        policy.validate()?;
        let roots = extra_roots.into_iter().map(CertificateDer::from).collect();
        Ok(Self { inner: Arc::new(Inner { policy, resolver, tls: Tls::new(roots) }) })
    }

    /// The policy this client obeys.
    #[must_use]
    pub fn policy(&self) -> &EgressPolicy {
        &self.inner.policy
    }

    /// Sends the request and follows its redirects, each through the whole guard. Any status is a
    /// response; a redirect without a `Location` is returned as it is.
    ///
    /// # Errors
    /// Every variant of [`EgressError`] except that a long body is not one. On
    /// [`EgressError::Denied`] and [`EgressError::BadUrl`] nothing was sent to the refused host;
    /// allowed hops before it were asked.
    pub async fn send(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<Response, EgressError> {
        let started = Instant::now();
        let policy = &self.inner.policy;
        let limit = request.timeout.map_or(policy.total_timeout, |t| t.min(policy.total_timeout));
        let mut at = parse(&request.url)?;
        let mut hop_host = shown_host(&at);
        let walk = self.walk(request, &mut at, &mut hop_host);
        let walked = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            walked = tokio::time::timeout(limit, walk) => Some(walked),
        };
        let mut response = match walked {
            None => return Err(EgressError::Cancelled { host: hop_host }),
            Some(Err(_)) => {
                return Err(EgressError::TimedOut { host: hop_host, limit });
            }
            Some(Ok(walked)) => walked?,
        };
        response.elapsed = started.elapsed();
        Ok(response)
    }

    async fn walk(
        &self,
        request: &Request,
        at: &mut Url,
        hop_host: &mut String,
    ) -> Result<Response, EgressError> {
        let max_redirects = self.inner.policy.max_redirects;
        for hop in 0..=max_redirects {
            *hop_host = shown_host(at);
            let answer = self.ask(request.method, at).await?;
            let Some(next) = redirect_target(&answer, at)? else {
                return self.read(request, answer, at).await;
            };
            if at.scheme() == "https" && next.scheme() == "http" {
                return Err(EgressError::Denied {
                    host: shown_host(&next),
                    why: Denial::Downgrade,
                });
            }
            if hop == max_redirects {
                return Err(EgressError::TooManyRedirects {
                    host: shown_host(&next),
                    max_redirects,
                });
            }
            *at = next;
        }
        Err(EgressError::TooManyRedirects { host: hop_host.clone(), max_redirects })
    }

    /// One hop: judge the URL, resolve and judge the addresses, connect to just those.
    async fn ask(&self, method: Method, url: &Url) -> Result<reqwest::Response, EgressError> {
        let denied = |why| EgressError::Denied { host: shown_host(url), why };
        self.inner.policy.permit_url(url).map_err(denied)?;
        let addresses = self.vetted_addresses(url).await?;
        let client = self.single_use_client(url, &addresses)?;
        let method = match method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
        };
        let answer =
            client.request(method, url.clone()).send().await.map_err(|e| self.failed(url, &e))?;
        let head_bytes: usize =
            answer.headers().iter().map(|(n, v)| n.as_str().len() + v.len() + 4).sum();
        if u64::try_from(head_bytes).unwrap_or(u64::MAX) > MAX_HEAD_BYTES {
            return Err(EgressError::TooLarge { host: shown_host(url), max_bytes: MAX_HEAD_BYTES });
        }
        Ok(answer)
    }

    /// Addresses for a name, all of them permitted; empty for a literal, which the URL gate judged.
    async fn vetted_addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, EgressError> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(bad(url.as_str(), "no host"));
        };
        let url::Host::Domain(name) = host else {
            return Ok(Vec::new());
        };
        let unresolved = |detail: String| EgressError::Unreachable {
            host: shown_host(url),
            why: Unreachable::Dns { detail },
        };
        let limit = self.inner.policy.connect_timeout;
        let mut addresses =
            match tokio::time::timeout(limit, self.inner.resolver.resolve(name)).await {
                Err(_) => {
                    return Err(EgressError::TimedOut { host: shown_host(url), limit });
                }
                Ok(Err(e)) => return Err(unresolved(e.to_string())),
                Ok(Ok(addresses)) if addresses.is_empty() => {
                    return Err(unresolved("no addresses".to_owned()));
                }
                Ok(Ok(addresses)) => addresses,
            };
        for address in &addresses {
            self.inner
                .policy
                .permit_address(&host, port, address.ip())
                .map_err(|why| EgressError::Denied { host: shown_host(url), why })?;
        }
        addresses.truncate(MAX_ADDRESSES);
        Ok(addresses)
    }

    /// A client that knows one name and no resolver.
    fn single_use_client(
        &self,
        url: &Url,
        addresses: &[SocketAddr],
    ) -> Result<reqwest::Client, EgressError> {
        let unreachable = |why| EgressError::Unreachable { host: shown_host(url), why };
        let tls = if url.scheme() == "https" {
            self.inner.tls.trusted().map_err(|detail| unreachable(Unreachable::NoRoots { detail }))
        } else {
            Tls::trusting_nobody().map_err(|detail| unreachable(Unreachable::Connect { detail }))
        }?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_max_idle_per_host(0)
            .connect_timeout(self.inner.policy.connect_timeout)
            .user_agent(concat!("probity/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(NoResolver));
        if let Some(url::Host::Domain(name)) = url.host() {
            builder = builder.resolve_to_addrs(name, addresses);
        }
        builder.build().map_err(|e| unreachable(Unreachable::Connect { detail: innermost(&e) }))
    }

    async fn read(
        &self,
        request: &Request,
        mut answer: reqwest::Response,
        url: &Url,
    ) -> Result<Response, EgressError> {
        let policy_max = self.inner.policy.max_body_bytes;
        let max = request.max_body_bytes.map_or(policy_max, |max| max.min(policy_max));
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let mut body = Vec::new();
        let mut truncated = false;
        while let Some(chunk) = answer.chunk().await.map_err(|e| self.failed(url, &e))? {
            let room = max.saturating_sub(body.len());
            truncated = chunk.len() > room;
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if truncated {
                break;
            }
        }
        let headers = answer
            .headers()
            .iter()
            .map(|(n, v)| {
                (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned())
            })
            .collect();
        Ok(Response {
            status: answer.status().as_u16(),
            url: url.as_str().to_owned(),
            headers,
            body,
            truncated,
            elapsed: Duration::ZERO,
        })
    }

    fn failed(&self, url: &Url, error: &reqwest::Error) -> EgressError {
        let host = shown_host(url);
        let detail = innermost(error);
        if error.is_timeout() {
            return EgressError::TimedOut { host, limit: self.inner.policy.connect_timeout };
        }
        let why = if error.is_connect() {
            Unreachable::Connect { detail }
        } else {
            Unreachable::Protocol { detail }
        };
        EgressError::Unreachable { host, why }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("policy", &self.inner.policy).finish_non_exhaustive()
    }
}

/// Stands where a resolver would: every address was found before the client was built.
struct NoResolver;

impl reqwest::dns::Resolve for NoResolver {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(std::future::ready(Err("no address was vetted for this name".into())))
    }
}

/// Reads a URL and refuses what no policy could allow.
pub(crate) fn parse(text: &str) -> Result<Url, EgressError> {
    let url = Url::parse(text).map_err(|_| bad(text, "not a URL"))?;
    fetchable(url)
}

fn fetchable(url: Url) -> Result<Url, EgressError> {
    if url.scheme() != "http" && url.scheme() != "https" {
        return Err(bad(url.as_str(), "only http and https are spoken"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let mut shown = url;
        // Both fail only for URLs without a host, which http URLs have.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        return Err(bad(shown.as_str(), "user information is not sent"));
    }
    Ok(url)
}

/// Where a response sends the client, if it does.
fn redirect_target(answer: &reqwest::Response, from: &Url) -> Result<Option<Url>, EgressError> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.headers().get(LOCATION) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(location.as_bytes())
        .map_err(|_| bad(&String::from_utf8_lossy(location.as_bytes()), "not a URL"))?;
    let next = from.join(text).map_err(|_| bad(text, "not a URL"))?;
    fetchable(next).map(Some)
}

fn bad(url: &str, why: &'static str) -> EgressError {
    EgressError::BadUrl { url: url.chars().take(200).collect(), why }
}

pub(crate) fn shown_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The words of the first cause; the outer layers repeat the URL.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}
