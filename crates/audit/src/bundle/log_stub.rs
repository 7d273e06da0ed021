//! Until the auditor of logs is here.
use std::borrow::Cow;

use probity_core::Digest;
use probity_report::Draft;

/// Content.
pub trait Content {
    /// One.
    fn blob(&self, digest: &Digest) -> Blob<'_>;
}

/// One.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blob<'a> {
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// Withheld.
    Withheld,
    /// Absent.
    Absent,
}

/// Policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPolicy {
    /// Unused.
    pub stands_alone: bool,
}

impl LogPolicy {
    /// Checks.
    #[must_use]
    pub fn checks(&self) -> Vec<&'static str> {
        vec!["content"]
    }
}

pub(crate) fn audit_within(
    _log: &[u8],
    _file: &str,
    _content: &dyn Content,
    _policy: &LogPolicy,
    _draft: &mut Draft,
) {
}
