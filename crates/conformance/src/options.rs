//! What a run of the kit may use, and what it is told.

use std::fmt;
use std::net::SocketAddr;

/// A key of the host. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// How the kit goes about it.
#[derive(Debug, Clone)]
pub struct Options {
    /// A word that no other run of the kit used: names of keys and canaries are made from it.
    pub mark: String,
    /// What is not advertised is a failure.
    pub is_strict: bool,
    /// Scenarios at a time; at least one. Hosts keep state behind their seams, so the specification's
    /// own suite is run with one.
    pub parallel: usize,
    /// The longest wait for one answer, in milliseconds.
    pub request_timeout_ms: u64,
    /// The longest wait for a run to get where it should, in milliseconds.
    pub settle_timeout_ms: u64,
    /// The longest time of one scenario, in milliseconds.
    pub scenario_timeout_ms: u64,
    /// The longest answer, in bytes.
    pub max_body_bytes: usize,
    /// A key of another tenant: what one tenant has, the other must not see.
    pub other_tenant: Option<Key>,
    /// Where webhooks are received, as the host reaches it. The port may be 0.
    pub receiver: Option<SocketAddr>,
}

impl Key {
    /// A key as it stands in the header.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Options {
    /// The bounds of a host on the same machine or a near one.
    #[must_use]
    pub fn new(mark: impl Into<String>) -> Self {
        Self {
            mark: mark.into(),
            is_strict: false,
            parallel: 4,
            request_timeout_ms: 20_000,
            settle_timeout_ms: 10_000,
            scenario_timeout_ms: 60_000,
            max_body_bytes: 8 * 1024 * 1024,
            other_tenant: None,
            receiver: None,
        }
    }
}
