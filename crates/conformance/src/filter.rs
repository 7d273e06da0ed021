//! Which scenarios are run.

use std::fmt;

use crate::scenario::{Level, Scenario};

/// A choice of scenarios. Both conditions hold; an empty one holds always.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Parts of identifiers: one of them must be in a scenario's.
    pub ids: Vec<String>,
    /// Levels: a scenario must be of one of them.
    pub levels: Vec<Level>,
}

impl Filter {
    /// Whether a scenario is chosen.
    #[must_use]
    pub fn takes(&self, scenario: &Scenario) -> bool {
        let named = self.ids.is_empty() || self.ids.iter().any(|part| scenario.id.contains(part));
        named && (self.levels.is_empty() || self.levels.contains(&scenario.level))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = self.levels.iter().map(|level| level.as_str());
        let words: Vec<&str> = self.ids.iter().map(String::as_str).chain(levels).collect();
        f.write_str(&words.join(", "))
    }
}
