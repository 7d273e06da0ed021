//! The client for a host that the operator chose: the provider of a model.

use std::fmt;
use std::time::Duration;

use crate::client::{innermost, parse, shown_host};
use crate::tls::Tls;
use crate::{EgressError, Unreachable};

/// A client for one host that the operator named in the configuration. Private addresses are
/// allowed, since many run a model at home, and connections are kept between calls. The rest is as
/// everywhere here: the certificates of the machine, no redirects, no proxies, no cookies, no
/// retries. Cheap to clone. Who calls bounds the time and the size of each answer.
#[derive(Clone)]
pub struct ProviderClient {
    client: reqwest::Client,
    connect_timeout: Duration,
}

/// An answer of which the head is read. Its body comes in pieces; dropping it ends the transfer.
#[derive(Debug)]
pub struct Answer {
    answer: reqwest::Response,
    host: String,
    connect_timeout: Duration,
}

impl ProviderClient {
    /// A client for the host of `url`.
    ///
    /// # Errors
    /// [`EgressError::BadUrl`] unless `url` is `http` or `https` without user information;
    /// [`EgressError::Unreachable`] if it is `https` and the machine has no certificates to trust.
    pub fn new(url: &str, connect_timeout: Duration) -> Result<Self, EgressError> {
        let url = parse(url)?;
        let unreachable = |why| EgressError::Unreachable { host: shown_host(&url), why };
        let tls = if url.scheme() == "https" {
            let trusted = Tls::new(Vec::new()).trusted();
            trusted.map_err(|detail| unreachable(Unreachable::NoRoots { detail }))
        } else {
            Tls::trusting_nobody().map_err(|detail| unreachable(Unreachable::Connect { detail }))
        }?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(connect_timeout)
            .user_agent(concat!("probity/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| unreachable(Unreachable::Connect { detail: innermost(&e) }))?;
        Ok(Self { client, connect_timeout })
    }

    /// Posts a body and reads the head of the answer. Header values are not shown in any error.
    ///
    /// # Errors
    /// [`EgressError::BadUrl`], [`EgressError::Unreachable`], and [`EgressError::TimedOut`] when
    /// no connection was made in time.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Answer, EgressError> {
        let url = parse(url)?;
        let host = shown_host(&url);
        let connect_timeout = self.connect_timeout;
        let mut request = self.client.post(url).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = request.send().await;
        let answer = sent.map_err(|e| failed(&host, connect_timeout, &e))?;
        Ok(Answer { answer, host, connect_timeout })
    }
}

impl Answer {
    /// The status, 100 to 999.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.answer.status().as_u16()
    }

    /// The first value of a header that is text, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.answer.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the body, never empty; `None` behind its end.
    ///
    /// # Errors
    /// [`EgressError::Unreachable`] if the connection broke before the end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, EgressError> {
        loop {
            let next = self.answer.chunk().await;
            match next.map_err(|e| failed(&self.host, self.connect_timeout, &e))? {
                Some(piece) if piece.is_empty() => {}
                piece => return Ok(piece.map(Into::into)),
            }
        }
    }
}

impl fmt::Debug for ProviderClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderClient").finish_non_exhaustive()
    }
}

fn failed(host: &str, limit: Duration, error: &reqwest::Error) -> EgressError {
    let host = host.to_owned();
    let detail = innermost(error);
    if error.is_timeout() {
        return EgressError::TimedOut { host, limit };
    }
    let why = if error.is_connect() {
        Unreachable::Connect { detail }
    } else {
        Unreachable::Protocol { detail }
    };
    EgressError::Unreachable { host, why }
}
