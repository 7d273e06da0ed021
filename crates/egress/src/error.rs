//! What can go wrong with a request. Each error has a stable code with a page in `docs/codes/`.

use std::net::IpAddr;
use std::time::Duration;

/// Why no response was returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EgressError {
    /// The policy does not allow it. Nothing was sent to the refused host. Ground truth was not
    /// asked, so this is a matter of configuration: the operator must allow the host, or the check
    /// must ask another one.
    #[error("request to `{host}` denied: {why}")]
    Denied {
        /// Host and, where it was explicit, port of the refused hop.
        host: String,
        /// What must change.
        why: Denial,
    },
    /// The URL is not one this client can fetch, in the request or in a redirect.
    #[error("bad URL `{url}`: {why}")]
    BadUrl {
        /// The URL as it was given, cut to 200 characters; user information removed.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The host could not be reached, or broke off.
    #[error("`{host}` could not be reached: {why}")]
    Unreachable {
        /// Host of the hop.
        host: String,
        /// The step that failed.
        why: Unreachable,
    },
    /// The answer did not arrive in time.
    #[error("`{host}` did not answer within {} ms", .limit.as_millis())]
    TimedOut {
        /// Host of the hop that was under way.
        host: String,
        /// The limit that was reached.
        limit: Duration,
    },
    /// The head of the response exceeds what is read of one. A long body is no error: it is cut,
    /// and the response says so.
    #[error("response head of `{host}` is larger than {max_bytes} bytes")]
    TooLarge {
        /// Host of the hop.
        host: String,
        /// The limit.
        max_bytes: u64,
    },
    /// More redirects than the policy follows.
    #[error("gave up after {max_redirects} redirects, the last one to `{host}`")]
    TooManyRedirects {
        /// Host of the redirect that was not followed.
        host: String,
        /// The limit.
        max_redirects: u32,
    },
    /// The caller cancelled.
    #[error("request to `{host}` was cancelled")]
    Cancelled {
        /// Host of the hop that was under way.
        host: String,
    },
}

impl EgressError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Denied { .. } => "egress_denied",
            Self::BadUrl { .. } => "egress_bad_url",
            Self::Unreachable { .. } => "egress_unreachable",
            Self::TimedOut { .. } => "egress_timeout",
            Self::TooLarge { .. } => "egress_too_large",
            Self::TooManyRedirects { .. } => "egress_too_many_redirects",
            Self::Cancelled { .. } => "egress_cancelled",
        }
    }

    /// Whether ground truth was asked and did not answer, so that a check is inconclusive. False
    /// when the request itself was wrong or not allowed: then the check is misconfigured.
    #[must_use]
    pub const fn is_no_answer(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::TooLarge { .. }
            | Self::TooManyRedirects { .. }
            | Self::Cancelled { .. } => true,
            Self::Denied { .. } | Self::BadUrl { .. } => false,
        }
    }
}

/// Why the policy refused a hop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// The host is on no allow rule.
    #[error("the host is not on the allow-list; allow it by name")]
    HostNotAllowed,
    /// The host is allowed, but on other ports.
    #[error("port {port} is not allowed for this host; allow it as `host:{port}`")]
    PortNotAllowed {
        /// The port asked for.
        port: u16,
    },
    /// The host is, or resolves to, an address that is not public.
    #[error("address {address} is not public ({range}); allow it by naming it as private")]
    PrivateAddress {
        /// The first refused address.
        address: IpAddr,
        /// What block it is in.
        range: &'static str,
    },
    /// A redirect from `https` to `http`: what came back could be anybody's.
    #[error("redirect from https to http")]
    Downgrade,
}

/// The step at which a host could not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreachable {
    /// The name has no address.
    #[error("the name does not resolve ({detail})")]
    Dns {
        /// The resolver's words.
        detail: String,
    },
    /// No connection, or no TLS session with a trusted certificate.
    #[error("no connection ({detail})")]
    Connect {
        /// The transport's words.
        detail: String,
    },
    /// The machine has no trusted certificates, so `https` cannot be used.
    #[error("no trusted certificates on this machine, install them ({detail})")]
    NoRoots {
        /// The certificate store's words.
        detail: String,
    },
    /// The connection broke, or what came back is not HTTP.
    #[error("broken response ({detail})")]
    Protocol {
        /// The transport's words.
        detail: String,
    },
}
