//! What a run remembers of where it is.

use probity_core::{Code, RunId};
use serde_json::{Map, Value};

use crate::decision::Decision;
use crate::event::Failure;
use crate::interrupt::Interrupt;

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    Completed,
    Failed(Failure),
    Cancelled,
}

/// What is known of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// Whether it came to its end, so that what follows may begin.
    pub(super) is_through: bool,
    /// How often it began.
    pub(super) starts: u64,
    /// Children that it began.
    pub(super) children: u64,
    /// Verifications that it asked for.
    pub(super) checks: u64,
    /// Waits that it had.
    pub(super) waits: u64,
    /// Of a sub-workflow: how often its child was sent back.
    pub(super) revisions: u64,
}

/// What is known of a supervisor.
#[derive(Debug, Clone, Default)]
pub(super) struct Loop {
    /// Decisions of its plan that were made.
    pub(super) planned: usize,
    /// Whether the decision that it would make first is made or dropped.
    pub(super) is_pending_through: bool,
    /// What it owes to a result that was withheld, before its plan goes on.
    pub(super) owed: Option<Owed>,
    /// How often a worker of the last decision of its plan was sent back.
    pub(super) revisions: u64,
    /// What it decided, until its dispatch takes it up.
    pub(super) order: Option<Order>,
}

/// What a supervisor does about a result that was withheld.
#[derive(Debug, Clone)]
pub(super) enum Owed {
    /// These workers are asked again.
    Again(Vec<String>),
    /// Somebody is asked, about these workers.
    Ask(Vec<String>),
    /// It ends the run.
    GiveUp,
}

/// Workers that are to be asked, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The node that asks them.
    pub(super) at: usize,
    pub(super) workers: Vec<String>,
    /// The place of what caused it.
    pub(super) cause: u64,
    /// What became of those before.
    pub(super) done: Vec<Value>,
}

/// A worker that was asked.
#[derive(Debug, Clone)]
pub(super) struct Errand {
    /// Who follows.
    pub(super) order: Order,
    pub(super) worker: String,
    pub(super) child: RunId,
    pub(super) inputs: Map<String, Value>,
    /// The places of its handoff.
    pub(super) began: u64,
    pub(super) succeeded: Option<u64>,
}

/// What a worker left, until it is taken over or not.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    pub(super) errand: Errand,
    pub(super) outputs: Map<String, Value>,
    /// Its digest; `None` where it has no canonical form.
    pub(super) digest: Option<String>,
    /// The place of the child's end.
    pub(super) completed: u64,
    /// Whether the child says that its own goal was met.
    pub(super) is_goal_satisfied: bool,
    pub(super) is_verified: bool,
    /// Whether somebody let it through.
    pub(super) is_approved: bool,
}

/// What a run is at. One node is at work at a time.
#[derive(Debug, Clone, Default)]
pub(super) enum Work {
    /// Nothing: the next node may begin.
    #[default]
    Idle,
    /// A child may begin.
    ToStart(Box<Order>),
    /// A verification may begin.
    ToVerify(Box<Delivery>),
    Delay {
        at: usize,
        due_ms: u64,
    },
    Delegation {
        at: usize,
        delegation: RunId,
        request: Value,
    },
    Child(Box<Errand>),
    Verifying(Box<Check>),
    Waiting(Box<Wait>),
}

/// A critic at work.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) delivery: Delivery,
    pub(super) verification: RunId,
    pub(super) due_ms: u64,
}

/// A wait for somebody.
#[derive(Debug, Clone)]
pub(super) struct Wait {
    pub(super) at: usize,
    pub(super) interrupt: Interrupt,
    pub(super) due_ms: Option<u64>,
    pub(super) ballot: Ballot,
    pub(super) purpose: Purpose,
}

/// Who may answer how, and who did.
#[derive(Debug, Clone, Default)]
pub(super) struct Ballot {
    pub(super) actions: Vec<String>,
    pub(super) approvers: Vec<String>,
    pub(super) required: u64,
    pub(super) is_majority: bool,
    pub(super) accepted: Vec<String>,
    pub(super) rejected: Vec<String>,
}

/// What an answer is for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// An approval gate lets through or not.
    Gate,
    /// A clarification gate asks.
    Questions,
    /// A supervisor asks; where it is about workers, they may be asked again.
    Asked(Option<Vec<String>>),
    /// A decision was made that is not sure enough.
    Escalated { decision: Decision, decided: u64 },
    /// A decision is about to be made that is not sure enough.
    Held(Decision),
    /// A stated agent was not sure enough.
    Mock,
    /// What a child left is to be let through.
    Merge(Delivery),
    /// A critic let something through that it is not sure of.
    Doubted { delivery: Delivery, keys: Vec<Code> },
    /// What becomes of a child whose result was withheld.
    Withheld { errand: Errand, failure: Failure },
}

impl Work {
    /// The node that is at work.
    pub(super) fn at(&self) -> Option<usize> {
        match self {
            Self::Idle => None,
            Self::ToStart(order) => Some(order.at),
            Self::ToVerify(delivery) => Some(delivery.errand.order.at),
            Self::Delay { at, .. } | Self::Delegation { at, .. } => Some(*at),
            Self::Child(errand) => Some(errand.order.at),
            Self::Verifying(check) => Some(check.delivery.errand.order.at),
            Self::Waiting(wait) => Some(wait.at),
        }
    }

    /// When nothing is waited for any more.
    pub(super) fn due_ms(&self) -> Option<u64> {
        match self {
            Self::Delay { due_ms, .. } => Some(*due_ms),
            Self::Verifying(check) => Some(check.due_ms),
            Self::Waiting(wait) => wait.due_ms,
            _ => None,
        }
    }
}
