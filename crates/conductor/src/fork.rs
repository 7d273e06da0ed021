//! A run that goes the recorded way of another one.

use probity_core::RunId;
use serde_json::{Map, Value};

/// How a run is forked off another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    /// How many events the fork shares with its source; all there are where it is not said. A step is
    /// never parted: a verdict takes along what it decided.
    pub from_sequence: Option<u64>,
    /// Whether everything recorded in the source is taken from there, to its end. Otherwise the fork
    /// goes on by itself behind what it shares.
    pub is_replay: bool,
    /// Values that its variables begin with in place of the source's: not in a replay.
    pub inputs: Map<String, Value>,
}

/// There is no such fork.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidFork {
    /// The source has fewer events.
    #[error("run `{run}` has {len} events: `fromSeq` must be at most that, and is {from}")]
    Beyond {
        /// The source.
        run: RunId,
        /// How many it has.
        len: u64,
        /// How many were to be shared.
        from: u64,
    },
    /// A replay changes nothing.
    #[error("a replay takes everything from its source: leave the overlay out, or branch")]
    ReplayOverlay,
    /// What is recorded does not fit what the fork begins with.
    #[error("what run `{run}` recorded at {at_sequence} does not fit the fork: {why}")]
    Differs {
        /// The source.
        run: RunId,
        /// The place in it.
        at_sequence: u64,
        /// Why.
        why: String,
    },
}

impl InvalidFork {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Beyond { .. } => "fork_point_invalid",
            Self::ReplayOverlay => "fork_replay_overlay",
            Self::Differs { .. } => "fork_differs",
        }
    }
}
