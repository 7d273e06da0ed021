//! What waits in a queue.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use probity_core::{Code, RunId};

/// The longest name of a pool, in bytes.
const MAX_POOL_BYTES: usize = 32;
/// The longest message of a cause, in bytes.
const MAX_MESSAGE_BYTES: usize = 4096;

/// The name of a set of workers: a capability that a run needs, such as `gpu`. 1 to 32 characters of
/// `a-z 0-9 - _`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pool(String);

/// The text names no pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a pool is named with 1 to {MAX_POOL_BYTES} characters of a-z 0-9 - _, got `{0}`")]
pub struct PoolError(String);

/// A run that waits for a worker. There is at most one job for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The run to look at.
    pub run: RunId,
    /// Who may take it.
    pub pool: Pool,
    /// How long it is not due; at most [`crate::limits::MAX_DELAY`], more is cut to that.
    pub delay: Duration,
    /// The highest epoch that the run's log holds, as far as the caller knows: leases begin above it.
    /// At most [`crate::limits::MAX_EPOCH_FLOOR`].
    pub epoch_floor: u64,
}

/// What enqueuing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// The job is due, after its delay: it is new, it was parked, or it waited for a later time.
    Added,
    /// There is a job for this run already, waiting or leased, and it stays as it is. So does one that
    /// waits out a delay, where the provider cannot shorten that. A worker that holds it may have
    /// looked at the run before whatever the caller did: who needs it looked at again asks again
    /// later.
    Present,
    /// The run's job is a dead letter and stays one.
    Dead,
}

/// How a queue has a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Waiting or leased.
    Queued {
        /// Who may take it.
        pool: Pool,
    },
    /// Until somebody enqueues it.
    Parked {
        /// Who could take it.
        pool: Pool,
    },
    /// Until somebody revives it.
    Dead {
        /// Who could take it.
        pool: Pool,
        /// Why.
        cause: Cause,
    },
}

/// Why a job became a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// In one word.
    pub code: Code,
    /// In words, at most 4096 bytes.
    pub message: String,
}

/// A job that waits for somebody to enqueue it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedJob {
    /// The run.
    pub run: RunId,
    /// Who may take it.
    pub pool: Pool,
    /// Since when, in milliseconds since the Unix epoch by the store's clock.
    pub since_ms: u64,
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadJob {
    /// The run.
    pub run: RunId,
    /// Who may take it once it is revived.
    pub pool: Pool,
    /// Why.
    pub cause: Cause,
    /// Since when, in milliseconds since the Unix epoch by the store's clock.
    pub since_ms: u64,
}

impl Pool {
    /// The text as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `default`: the pool of runs that need nothing special.
impl Default for Pool {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl FromStr for Pool {
    type Err = PoolError;

    fn from_str(text: &str) -> Result<Self, PoolError> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if !text.is_empty() && text.len() <= MAX_POOL_BYTES && text.chars().all(legal) {
            return Ok(Self(text.to_owned()));
        }
        Err(PoolError(text.chars().take(MAX_POOL_BYTES).collect()))
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Standing {
    /// Who may take the job, or could.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        match self {
            Self::Queued { pool } | Self::Parked { pool } | Self::Dead { pool, .. } => pool,
        }
    }
}

impl Job {
    /// A job that is due at once.
    #[must_use]
    pub const fn now(run: RunId, pool: Pool, epoch_floor: u64) -> Self {
        Self { run, pool, delay: Duration::ZERO, epoch_floor }
    }
}

impl Cause {
    /// A cause; the message is cut to its bound.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        Self { code, message }
    }
}
