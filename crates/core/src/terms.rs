//! The terms of a decision: what its envelope comes to for one run, in numbers and closed words.

use serde::{Deserialize, Serialize};

use crate::ladder::{MAX_RUNGS, Rung};
use crate::policy::{MAX_WALL_MS, PolicyError, bound};
use crate::{Code, Digest, Tier};

/// The most features whose age a run watches.
pub const MAX_FEATURES: usize = 1000;

/// The terms under which a decision is made. Recorded in the run's first event; the deadline is the
/// policy's `wall_ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Blob of the envelope and pack that these terms were compiled from.
    pub envelope: Digest,
    /// The widest blast radius of the declared actions; absent where nothing is acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Whether the decision must be verified.
    pub is_required: bool,
    /// Time of each stage.
    pub stages: StageBudgets,
    /// What the decision is based on, in the order of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Feature>,
    /// Stale features are reported and do not stop the act.
    pub is_stale_soft: bool,
    /// What to fall back to, in order.
    pub ladder: Vec<Rung>,
    /// A rule of safe action that the declared actions break: nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Code>,
    /// A human must approve before anything is done.
    pub needs_approval: bool,
}

/// Wall time of each stage in milliseconds. A stage never gets more than the run has left.
///
/// | Stage | From | To | Beyond its budget |
/// |---|---|---|---|
/// | context | the opening | the workspace was read | reported |
/// | plan | there | the delegate is given the task | reported |
/// | act | there | its claim | the delegate is stopped |
/// | verify | there | the verdict | what was not decided is `inconclusive` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageBudgets {
    /// Reading what the decision is based on.
    pub context_ms: u64,
    /// What happens between that and the act: hooks.
    pub plan_ms: u64,
    /// One attempt of the delegate.
    pub act_ms: u64,
    /// The checks of one attempt.
    pub verify_ms: u64,
}

/// Something the decision is based on, and how long it stays fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// When it was captured, in milliseconds since the Unix epoch.
    pub captured_at_ms: u64,
    /// How long it stays fresh.
    pub ttl_ms: u64,
}

impl Feature {
    /// Whether the feature is too old at a time: strictly older than its time to live. One from the
    /// future is not old.
    #[must_use]
    pub const fn is_stale(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.captured_at_ms) > self.ttl_ms
    }
}

impl Terms {
    /// How many features are too old at a time.
    #[must_use]
    pub fn stale(&self, now_ms: u64) -> u32 {
        let stale = self.features.iter().filter(|feature| feature.is_stale(now_ms)).count();
        u32::try_from(stale).unwrap_or(u32::MAX)
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// [`PolicyError::Bound`] naming the first field out of its range.
    pub fn validate(&self) -> Result<(), PolicyError> {
        let StageBudgets { context_ms, plan_ms, act_ms, verify_ms } = self.stages;
        bound("stages.context_ms", context_ms, 0, MAX_WALL_MS)?;
        bound("stages.plan_ms", plan_ms, 0, MAX_WALL_MS)?;
        bound("stages.act_ms", act_ms, 0, MAX_WALL_MS)?;
        bound("stages.verify_ms", verify_ms, 0, MAX_WALL_MS)?;
        bound("ladder", self.ladder.len() as u64, 0, MAX_RUNGS as u64)?;
        bound("features", self.features.len() as u64, 0, MAX_FEATURES as u64)
    }
}
