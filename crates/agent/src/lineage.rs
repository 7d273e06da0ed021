//! Where a run stands among the runs that started each other.

use std::sync::Arc;

use probity_core::RunId;
use probity_engine::Check;

/// The deepest that agents may delegate to each other: an agent that a person started has depth 0.
pub const MAX_DEPTH: u32 = 5;

/// A run's ancestors, and what its operator demands of all of them. Tools find it among the shared
/// values of their context.
#[derive(Clone)]
pub struct Lineage {
    /// The run.
    pub run: RunId,
    /// The run that started it.
    pub parent: Option<RunId>,
    /// How many runs are above it.
    pub depth: u32,
    /// How deep this family may go.
    pub max_depth: u32,
    /// Checks of the operator: every run below has them, too, before its own.
    pub checks: Arc<[Check]>,
}

impl std::fmt::Debug for Lineage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lineage")
            .field("run", &self.run)
            .field("parent", &self.parent)
            .field("depth", &self.depth)
            .field("max_depth", &self.max_depth)
            .field("checks", &self.checks.len())
            .finish()
    }
}
