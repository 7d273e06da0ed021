//! A delegate of the degrade ladder.

use probity_core::Step;
use probity_delegate::Format;
use serde::{Deserialize, Serialize};

/// The steps that a delegate can act for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungStep {
    /// Acts on a cached bundle.
    CacheBundle,
    /// A smaller model.
    SmallModel,
    /// Rules alone.
    RulesOnly,
}

/// The command that acts for a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// Its command line, as [`super::Request::command`].
    pub command: Vec<String>,
    /// What it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

impl From<RungStep> for Step {
    fn from(step: RungStep) -> Self {
        match step {
            RungStep::CacheBundle => Self::CacheBundle,
            RungStep::SmallModel => Self::SmallModel,
            RungStep::RulesOnly => Self::RulesOnly,
        }
    }
}
