//! Blast radius: how much an action can touch.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much an action can touch, in rising order. There is no default: an action that names no tier,
/// or another word, is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Reads, or appends one record.
    Tiny,
    /// Changes one record.
    Small,
    /// Changes several records, or one of high value.
    Medium,
    /// Crosses systems, or cannot be taken back.
    Large,
}

/// A bound on tiers: something holds *strictly above* it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Above it is every action.
    None,
    /// Above it are small actions and larger.
    Tiny,
    /// Above it are medium actions and larger.
    Small,
    /// Above it are large actions.
    Medium,
    /// Above it is nothing.
    Large,
}

impl Tier {
    /// All tiers, rising.
    pub const ALL: [Self; 4] = [Self::Tiny, Self::Small, Self::Medium, Self::Large];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// Whether the tier is strictly above a threshold.
    #[must_use]
    pub const fn is_above(self, threshold: Threshold) -> bool {
        let rank = match self {
            Self::Tiny => 1,
            Self::Small => 2,
            Self::Medium => 3,
            Self::Large => 4,
        };
        rank > threshold.rank()
    }
}

impl Threshold {
    /// All thresholds, rising.
    pub const ALL: [Self; 5] = [Self::None, Self::Tiny, Self::Small, Self::Medium, Self::Large];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Tiny => 1,
            Self::Small => 2,
            Self::Medium => 3,
            Self::Large => 4,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
