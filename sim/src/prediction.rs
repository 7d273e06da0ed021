//! What the reference model says about a run.

use probity_core::{Drift, Judgement, Outcome, Step, Trigger};

/// How a run must end, and what must have happened on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The outcome.
    pub outcome: Outcome,
    /// Why, in one word.
    pub code: String,
    /// A human waived the refusal.
    pub waived: bool,
    /// Attempts charged to the delegate.
    pub attempts: u32,
    /// Tokens spent by recorded notes and claims.
    pub tokens: u64,
    /// Tool calls made by recorded notes and claims.
    pub tool_calls: u64,
    /// One row per verdict.
    pub rows: Vec<Row>,
    /// The turns that the delegate was given.
    pub dispatched: Vec<u32>,
    /// The notes that the delegate wrote: turn, place among the beats of the turn.
    pub notes: Vec<(u32, usize)>,
    /// Waits of the delegate that came to their end.
    pub waits: u32,
    /// The checks that were run: turn (`None` before the delegate), check, try.
    pub looks: Vec<(Option<u32>, usize, u32)>,
    /// Calls for a human.
    pub calls: u32,
    /// What the delegate was given with each turn, in order.
    pub orders: Vec<Order>,
    /// The hooks that were called: place in the list, turn.
    pub hooks: Vec<(usize, u32)>,
    /// What the decision fell back to: turn, why, step.
    pub fallen: Vec<(u32, Trigger, Step)>,
    /// The candidate that is handed on: what verification hooks made of the delegate's.
    pub committed: Option<u8>,
    /// The hook that edited the claim behind the verdict.
    pub edited: Option<u8>,
    /// When the outcome is decided.
    pub ended_ms: u64,
}

/// A verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The turn.
    pub turn: u32,
    /// The merged verdict.
    pub judgement: Judgement,
    /// Why, in one word.
    pub code: String,
    /// Charged as an attempt.
    pub counted: bool,
    /// How far the world departs from the claim.
    pub drift: Option<Drift>,
    /// The first turn that rejected the same candidate.
    pub repeat_of: Option<u32>,
    /// The turn whose rejection was reused.
    pub reused: Option<u32>,
    /// Passed after it had been rejected as it is.
    pub flaky: bool,
}

/// What a delegate is given with a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The turn.
    pub turn: u32,
    /// The step of the ladder whose delegate acts.
    pub step: Option<Step>,
    /// The hook that rewrote the task.
    pub task: Option<u8>,
    /// The hook that rewrote the prompt of this turn.
    pub prompt: Option<u8>,
}
