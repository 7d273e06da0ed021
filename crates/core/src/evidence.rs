//! What a verifier observed: a pointer, never the content.

use serde::{Deserialize, Serialize};

use crate::Digest;

/// One observation behind a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where it was read: `file:out.txt`, `http:https://…`, `git:refs/heads/main`, `command:…`.
    pub source: String,
    /// What was seen, in a few words: `absent`, `12 bytes`, `status 404`.
    pub observed: String,
    /// SHA-256 of the bytes that were read, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Byte range `[start, end)` inside those bytes, where only a part was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(u64, u64)>,
}

impl Evidence {
    /// An observation without bytes, such as an absent file.
    #[must_use]
    pub fn new(source: impl Into<String>, observed: impl Into<String>) -> Self {
        Self { source: source.into(), observed: observed.into(), digest: None, span: None }
    }

    /// Adds the digest of the bytes that were read.
    #[must_use]
    pub fn with_digest(mut self, digest: Digest) -> Self {
        self.digest = Some(digest);
        self
    }
}
