//! The degrade ladder: what a decision falls back to, in order.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest ladder.
pub const MAX_RUNGS: usize = 16;

/// One way to fall back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Act on a cached bundle.
    CacheBundle,
    /// Let a smaller model act.
    SmallModel,
    /// Act by rules alone.
    RulesOnly,
    /// Wait for a human.
    Hitl,
    /// Do nothing.
    Abstain,
    /// Act without the safeguards. Never chosen by the machine.
    Bypass,
}

/// A step with its bounds in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// The step.
    pub step: Step,
    /// Time that the step may need. Absent means none beyond what is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_extra_ms: Option<u64>,
    /// Whether this run can take the step: a delegate is set up for it. A human can always be asked,
    /// and nothing can always be done.
    pub is_ready: bool,
}

/// What made a decision fall back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// What it was based on is too old.
    Freshness,
    /// The time left is less than the stages ahead may take.
    Time,
    /// The result was not verified.
    Verification,
    /// The action needs a human's approval.
    Approval,
}

impl Trigger {
    const fn allows(self, step: Step) -> bool {
        match self {
            Self::Freshness => matches!(step, Step::CacheBundle | Step::Abstain),
            Self::Time => matches!(step, Step::CacheBundle | Step::SmallModel | Step::RulesOnly),
            Self::Verification | Self::Approval => step.is_safe(),
        }
    }
}

/// The first rung, in the ladder's order, that the trigger allows, that is ready, not yet taken, and
/// fits into the time left; [`Step::Abstain`] where there is none. [`Step::Bypass`] is never chosen.
///
/// Source: seed 001's system as reconciled in the decision records of this project.
#[must_use]
pub fn fall_back(
    ladder: &[Rung],
    trigger: Trigger,
    taken: &[Step],
    remaining_ms: Option<u64>,
) -> Step {
    let fits = |rung: &&Rung| match (rung.max_extra_ms, remaining_ms) {
        (Some(extra_ms), Some(remaining_ms)) => extra_ms <= remaining_ms,
        _ => true,
    };
    ladder
        .iter()
        .filter(|rung| trigger.allows(rung.step) && !taken.contains(&rung.step))
        .filter(|rung| rung.is_ready || rung.step.is_safe())
        .find(fits)
        .map_or(Step::Abstain, |rung| rung.step)
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 6] = [
        Self::CacheBundle,
        Self::SmallModel,
        Self::RulesOnly,
        Self::Hitl,
        Self::Abstain,
        Self::Bypass,
    ];

    /// Whether nobody acts: a human is waited for, or nothing is done. Every run can take such a step.
    #[must_use]
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Hitl | Self::Abstain)
    }

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CacheBundle => "cache_bundle",
            Self::SmallModel => "small_model",
            Self::RulesOnly => "rules_only",
            Self::Hitl => "hitl",
            Self::Abstain => "abstain",
            Self::Bypass => "bypass",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
