//! One record of a run's log: an input and everything that came of it. It is appended whole or not at
//! all, so a verdict and what it decides are never apart, nor are the last event and the end.

use serde::{Deserialize, Serialize};

use crate::event::Entry;
use crate::input::Input;

/// An input and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What reached the run.
    pub input: Input,
    /// What happened, in order.
    pub entries: Vec<Entry>,
}

impl Step {
    /// Whether the run ended with it.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.entries.last().is_some_and(|entry| entry.event.is_terminal())
    }

    /// Whether both have one canonical text: `1.0` and `1` are one number.
    pub(crate) fn reads_like(&self, other: &Self) -> bool {
        let text = probity_record::canonical::jcs;
        self == other || matches!((text(self), text(other)), (Ok(a), Ok(b)) if a == b)
    }
}
