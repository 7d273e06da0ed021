//! Where a run is.

use probity_core::{Code, RunId};
use serde_json::{Map, Value};

use crate::decision::Criterion;
use crate::event::Failure;
use crate::interrupt::Interrupt;
use crate::owner::{Origin, Owner};

/// The state of a run, for whoever asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Which run.
    pub run: RunId,
    /// What it runs.
    pub workflow: String,
    /// Whose it is.
    pub owner: Owner,
    /// Where it comes from.
    pub origin: Option<Origin>,
    /// Where it is.
    pub status: Status,
    /// The node that is at work or waits.
    pub current_node: Option<String>,
    /// The variables.
    pub variables: Map<String, Value>,
    /// Why it failed.
    pub error: Option<Failure>,
    /// What it waits for, by node.
    pub interrupts: Vec<(String, Interrupt)>,
    /// Its supervisor's agent, once it decided anything.
    pub supervisor: Option<String>,
    /// The criteria of its last decision, where it said any.
    pub success_criteria: Option<Vec<Criterion>>,
    /// What was not taken over, and nothing was in its stead since.
    pub withheld: Vec<Withheld>,
    /// Whether it completed, nothing that was withheld stands, and every criterion is met; `None` before
    /// its end.
    pub is_goal_satisfied: Option<bool>,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// When it last changed.
    pub changed_ms: u64,
    /// How many events there are.
    pub events: u64,
}

/// A result that was not taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The node that would have taken it over.
    pub node: String,
    /// The definition of the worker that left it.
    pub worker: String,
    /// Why, in one word.
    pub code: Code,
    /// The keys of what it does not meet.
    pub criteria: Vec<Code>,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// At work, or waiting for a time, a child, a critic.
    Running,
    /// Nothing begins until somebody resumes it.
    Paused,
    /// It waits for an approval.
    WaitingApproval,
    /// It waits for answers.
    WaitingInput,
    /// It waits for something outside.
    WaitingExternal,
    /// It is being stopped: what it began has not ended.
    Cancelling,
    /// It came to its end.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}
