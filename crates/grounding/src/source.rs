//! Where the bytes of evidence come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Evidence by id. The caller does the I/O.
pub trait EvidenceSource {
    /// The content of a piece of evidence, as it is. An audit asks once for each id; more than
    /// [`crate::MAX_EVIDENCE_BYTES`] need not be read.
    ///
    /// # Errors
    /// [`NoEvidence`].
    fn content(&self, id: &str) -> Result<Cow<'_, [u8]>, NoEvidence>;

    /// The ids of all evidence, in a fixed order: where a misattributed text is looked for.
    fn ids(&self) -> Vec<String>;
}

/// There is no content of this id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEvidence {
    /// No evidence has this id.
    #[error("no evidence has this id")]
    Unknown,
    /// The evidence is known, its content is gone.
    #[error("the content is gone")]
    Missing,
    /// It is larger than is read.
    #[error("it is larger than is read")]
    TooLarge,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// Evidence in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryEvidence {
    /// Content by id; `None` where it is gone.
    pub contents: BTreeMap<String, Option<Vec<u8>>>,
}

impl EvidenceSource for MemoryEvidence {
    fn content(&self, id: &str) -> Result<Cow<'_, [u8]>, NoEvidence> {
        let content = self.contents.get(id).ok_or(NoEvidence::Unknown)?;
        content.as_deref().map(Cow::Borrowed).ok_or(NoEvidence::Missing)
    }

    fn ids(&self) -> Vec<String> {
        self.contents.keys().cloned().collect()
    }
}
