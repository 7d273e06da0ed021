//! Why an input, an opening or a replay was refused. What is refused leaves nothing behind.

use probity_core::RunId;

/// A run was not begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A required variable has no value.
    #[error("variable `{name}` is required: give it in `inputs`")]
    InputMissing {
        /// Which.
        name: String,
    },
    /// More values than a run may begin with.
    #[error("`inputs` names {count} values, more than {max}")]
    InputsTooMany {
        /// How many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// A bound is nought.
    #[error("bound `{name}` must be at least 1")]
    BoundZero {
        /// Which.
        name: &'static str,
    },
    /// A rule of the host is out of its range.
    #[error("`{name}` is out of its range: {range}")]
    TermRange {
        /// Which.
        name: &'static str,
        /// What it may be.
        range: &'static str,
    },
}

/// An input was refused: the run is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The run came to its end.
    #[error("the run has ended: nothing reaches it any more")]
    Ended,
    /// A second beginning.
    #[error("the run has begun already")]
    Begun,
    /// No time has come.
    #[error("nothing is due yet: ask for the next time before a timer is handed in")]
    NothingDue,
    /// Nobody waits for that child, delegation or verification, or not any more.
    #[error("nothing waits for `{id}`: it is unknown or superseded")]
    Stale {
        /// Which.
        id: RunId,
    },
    /// A verdict on something else than what is held, or the other way round.
    #[error("the verdict is on `{got}`, what is held is `{held}`: nothing is taken over")]
    CandidateDiffers {
        /// The digest of what is held.
        held: String,
        /// The digest that the verdict names.
        got: String,
    },
    /// There is no such node.
    #[error("the definition has no node `{node}`")]
    NodeUnknown {
        /// Which.
        node: String,
    },
    /// The node waits for nobody.
    #[error("node `{node}` waits for no answer")]
    NotWaiting {
        /// Which.
        node: String,
    },
    /// An answer to a wait that is over.
    #[error("`{interrupt}` is answered already, or nobody waits for it any more")]
    Superseded {
        /// The wait.
        interrupt: String,
    },
    /// An answer that the node does not take.
    #[error("the answer does not fit: {why}")]
    Answer {
        /// What is wrong with it, and what is asked for.
        why: String,
    },
    /// Somebody answered whom nobody asked.
    #[error("`{by}` is not among the approvers of this node")]
    NotApprover {
        /// Who.
        by: String,
    },
    /// A replay is said to differ from its source, but the run has none.
    #[error("the run is no fork: there is nothing that it could differ from")]
    NotAFork,
    /// It is paused.
    #[error("the run is paused already")]
    Paused,
    /// It is not paused.
    #[error("the run is not paused")]
    NotPaused,
}

/// A log was not written by this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It is empty, or does not begin with a beginning.
    #[error("the log does not begin with the start of a run")]
    NoStart,
    /// Its beginning is refused.
    #[error("the log begins with what cannot be begun: {0}")]
    Open(OpenError),
    /// One of its inputs is refused.
    #[error("step {step} of the log holds an input that is refused: {refusal}")]
    Refused {
        /// 0-based place of the step.
        step: u64,
        /// Why.
        refusal: Refusal,
    },
    /// Something else comes of one of its inputs.
    #[error("step {step} of the log holds other events than come of its input")]
    Differs {
        /// 0-based place of the step.
        step: u64,
    },
}

impl OpenError {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "validation_error"
    }
}

impl Refusal {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Ended => "run_terminal",
            Self::Begun => "run_already_active",
            Self::NothingDue => "nothing_due",
            Self::Stale { .. } | Self::Superseded { .. } => "stale_answer",
            Self::CandidateDiffers { .. } => "candidate_differs",
            Self::NodeUnknown { .. } => "not_found",
            Self::NotWaiting { .. } => "not_waiting",
            Self::Answer { .. } => "validation_error",
            Self::NotApprover { .. } => "forbidden",
            Self::NotAFork => "not_a_fork",
            Self::Paused => "run_paused",
            Self::NotPaused => "run_not_paused",
        }
    }
}

impl ReplayError {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoStart => "workflow_log_start",
            Self::Open(_) | Self::Refused { .. } => "workflow_log_refused",
            Self::Differs { .. } => "workflow_log_differs",
        }
    }
}
