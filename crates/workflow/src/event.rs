//! What happens in a workflow run, in words of our own. A host renders it in the words of its wire.

use probity_core::RunId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounds::Breach;
use crate::decision::Decision;
use crate::interrupt::{Interrupt, InterruptKind};
use crate::owner::{Origin, Owner};
use crate::verification::Verification;

/// One event of a run, in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// 0-based place in the run: without gaps.
    pub sequence: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The node that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The place of the event of the same run that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// What happened.
    pub event: Event,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "snake_case")]
pub enum Event {
    /// The run began.
    RunStarted {
        /// The definition that it runs.
        workflow: String,
        /// As they were given.
        inputs: Map<String, Value>,
        /// Whose it is.
        owner: Owner,
        /// Which run began it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
        /// Labels of the caller.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        /// Whatever the caller wants back.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    },
    /// The run came to its end. Whether its goal was met, the criteria of its last decision say.
    RunCompleted {
        /// What it leaves.
        outputs: Map<String, Value>,
    },
    /// The run failed.
    RunFailed {
        /// Why.
        error: Failure,
        /// The node that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed_node: Option<String>,
    },
    /// Somebody stopped the run.
    RunCancelled {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The run whose cancellation this one follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<RunId>,
    },
    /// Nothing new begins until it is resumed.
    RunPaused {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What becomes of what is under way, as the caller named it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drain_policy: Option<String>,
    },
    /// It goes on.
    RunResumed {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A node began.
    NodeStarted {
        /// Its kind, as the definition names it.
        type_id: String,
        /// How often it began before in this run, 0-based.
        attempt: u64,
    },
    /// A node came to its end.
    NodeCompleted {
        /// What it leaves.
        outputs: Map<String, Value>,
    },
    /// A node failed.
    NodeFailed {
        /// Why.
        error: Failure,
    },
    /// A node waits for somebody.
    NodeSuspended {
        /// The wait.
        interrupt: String,
        /// For what.
        kind: InterruptKind,
        /// Its key.
        key: String,
        /// A decision that is held because nobody is sure enough of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<Held>,
    },
    /// A node goes on.
    NodeResumed {
        /// The wait that is over.
        interrupt: String,
        /// What was answered.
        value: Value,
    },
    /// A node handed work to a child run, which has begun.
    NodeDispatched {
        /// The child.
        child: RunId,
        /// What it runs.
        workflow: String,
    },
    /// Somebody is asked.
    InterruptRequested(Interrupt),
    /// Somebody answered, or nobody will.
    InterruptResolved {
        /// The wait.
        interrupt: String,
        /// For what it was.
        kind: InterruptKind,
        /// What was answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },
    /// An approval was given or refused.
    ApprovalReceived {
        /// `accept`, `reject`, `refine`, `edit-accept` or `timeout`.
        action: String,
        /// Who decided; nobody where the time ran out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Questions are open.
    ClarificationRequested {
        /// The questions, as the definition has them.
        questions: Vec<Value>,
    },
    /// They are answered.
    ClarificationResolved {
        /// By question.
        answers: Map<String, Value>,
    },
    /// An agent thought aloud.
    AgentReasoned {
        /// Who.
        agent: String,
        /// What.
        reasoning: String,
    },
    /// An agent called a tool.
    AgentToolCalled {
        /// Who.
        agent: String,
        /// Which.
        tool: String,
        /// The call.
        call: String,
    },
    /// A tool answered.
    AgentToolReturned {
        /// Who called.
        agent: String,
        /// Which.
        tool: String,
        /// The call.
        call: String,
        /// `ok`, `error`, `forbidden` or `rate_limited`.
        status: String,
    },
    /// One agent handed over to another.
    AgentHandoff {
        /// From whom.
        from: String,
        /// To whom.
        to: String,
    },
    /// An agent decided something.
    AgentDecided {
        /// Who.
        agent: String,
        /// What.
        decision: Value,
        /// How sure it is, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<f64>,
    },
    /// A critic gave its verdict. It names what was checked and holds nothing of it.
    AgentVerified(Verification),
    /// The supervisor decided what comes next.
    SupervisorDecided {
        /// Who.
        agent: String,
        /// What.
        decision: Decision,
        /// The turn, 1-based.
        iteration: u64,
    },
    /// A step of handing work to a worker and its result back.
    Handoff {
        /// Which step.
        phase: Phase,
        /// The worker's definition.
        worker: String,
        /// The child, once it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<RunId>,
        /// The variables that were taken over, when they were.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        harvested: Option<Vec<String>>,
        /// SHA-256 of the canonical JSON (RFC 8785) of what the child left, 64 hex digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checksum: Option<String>,
        /// Why it failed, where it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
    },
    /// A decision was not sure enough: somebody is asked instead.
    ConfidenceEscalated {
        /// How sure it was.
        confidence: f64,
        /// How sure it had to be.
        floor: f64,
        /// Whom it was to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<String>,
        /// The decision, as it was.
        decision: Decision,
    },
    /// A bound was reached.
    CapBreached(Breach),
    /// A variable has another value.
    VariableChanged {
        /// Which.
        name: String,
        /// What it was; absent where it was not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<Value>,
        /// What it is.
        next: Value,
    },
    /// A run that is replayed came to something else than its source.
    ReplayDiverged {
        /// The source.
        source: RunId,
        /// The place in it.
        at_sequence: u64,
    },
    /// The same, where a model refused only once.
    ReplayDivergedAtRefusal {
        /// The source.
        source: RunId,
        /// The place in it.
        at_sequence: u64,
        /// Whether the source's model refused.
        was_refusal: bool,
        /// Whether this one's did.
        is_refusal: bool,
    },
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The machine word.
    pub code: String,
    /// In words.
    pub message: String,
    /// More, for whoever looks closer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
}

/// A decision that waits for somebody to let it through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Who decided.
    pub agent: String,
    /// How sure it had to be.
    pub threshold: f64,
    /// How sure it was.
    pub observed: f64,
}

/// The steps of a handoff (RFC 0037).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The worker is about to be started.
    Began,
    /// It was started.
    Succeeded,
    /// It could not be started.
    Failed,
    /// It ended well.
    ChildCompleted,
    /// It failed.
    ChildFailed,
    /// It was stopped.
    ChildCancelled,
    /// What it left was taken over.
    Harvested,
}

impl Event {
    /// Whether nothing may follow.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::RunCompleted { .. } | Self::RunFailed { .. } | Self::RunCancelled { .. }
        )
    }
}
