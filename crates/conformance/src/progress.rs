//! What is told while the kit runs.

use crate::report::Outcome;
use crate::scenario::Scenario;

/// Somebody who watches.
pub trait Progress: Send + Sync {
    /// A scenario begins.
    fn began(&self, scenario: &Scenario);
    /// A scenario is through.
    fn ended(&self, outcome: &Outcome);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn began(&self, _: &Scenario) {}

    fn ended(&self, _: &Outcome) {}
}
