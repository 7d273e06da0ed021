//! Which content goes into a bundle.

use std::collections::BTreeSet;

use probity_core::Digest;

/// Which content of a run its bundle holds. What is left out keeps its digest, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Inclusion {
    /// Everything that is there.
    #[default]
    All,
    /// Nothing: no blob, no episode, no receipt.
    Nothing,
    /// Everything but what has these digests. The episode repeats the request and who agreed, and is
    /// left out with either; its receipt goes with it.
    AllBut(BTreeSet<Digest>),
}

impl Inclusion {
    /// Whether content of that digest may leave.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::AllBut(withheld) => !withheld.contains(digest),
        }
    }
}
