//! What a run may use at most (RFC 0058).

use serde::{Deserialize, Serialize};

/// The bounds of one run: what was asked for, but no more than the host allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Nodes that may begin.
    pub max_node_executions: u64,
    /// From its start to its end, in milliseconds.
    pub max_run_duration_ms: u64,
    /// Turns of its supervisor.
    pub max_loop_iterations: u64,
}

/// A bound that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breach {
    /// Which.
    pub kind: Bound,
    /// How much it allows.
    pub limit: u64,
    /// How much there was: always more.
    pub observed: u64,
}

/// Which bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// [`Bounds::max_node_executions`].
    NodeExecutions,
    /// [`Bounds::max_run_duration_ms`].
    RunDuration,
    /// [`Bounds::max_loop_iterations`].
    LoopIterations,
}

impl Bound {
    /// The error code of a run that failed by it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NodeExecutions => "recursion_limit_exceeded",
            Self::RunDuration => "run_timeout",
            Self::LoopIterations => "loop_limit_exceeded",
        }
    }
}
