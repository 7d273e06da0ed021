//! What may reach a run.

use probity_core::{Code, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounds::Bounds;
use crate::definition::Definition;
use crate::event::Failure;
use crate::owner::{Origin, Owner};
use crate::verification::Judgement;

/// Something that reaches a run. Kept in its log beside what came of it, so that a log can be played
/// again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "snake_case",
    deny_unknown_fields
)]
pub enum Input {
    /// It begins. The first input, and only the first.
    Start(Box<Start>),
    /// A time that [`crate::Run::poll_timeout`] named has come.
    Timer,
    /// A child run is under way. It need not be told: its end says so as well.
    ChildStarted {
        /// Which.
        child: RunId,
    },
    /// A child run ended.
    ChildEnded {
        /// Which.
        child: RunId,
        /// How.
        end: ChildEnd,
    },
    /// A delegation of a node ended.
    DelegationEnded {
        /// Which.
        delegation: RunId,
        /// How.
        end: DelegationEnd,
    },
    /// A critic gave its verdict.
    Verified {
        /// The verification, as [`crate::Effect::Verify`] named it.
        verification: RunId,
        /// The digest of what it checked, 64 hex digits.
        candidate: String,
        /// The verdict.
        verdict: Judgement,
        /// The keys of what was checked.
        criteria: Vec<Code>,
        /// How sure it is, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<f64>,
    },
    /// A critic broke, or nobody answered in time: there is no verdict.
    VerifierBroke {
        /// The verification.
        verification: RunId,
        /// Why.
        code: Code,
    },
    /// Somebody answered.
    Resolve {
        /// The node that waits.
        node: String,
        /// What.
        value: Value,
        /// Who.
        by: String,
        /// The wait that it answers. Where it is not said, whatever the node waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupt: Option<String>,
    },
    /// It should stop.
    Cancel {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Who says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The run whose cancellation this one follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<RunId>,
    },
    /// Nothing new is to begin.
    Pause {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What becomes of what is under way: recorded as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drain_policy: Option<String>,
    },
    /// It is to go on.
    Resume {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A replay came to something else than its source.
    Diverged {
        /// The place in the source.
        at_sequence: u64,
        /// Whether the source's model refused and this one's did, where that is the difference. Whoever
        /// asks a model again can tell: a replay that takes every recorded answer as it is asks none, and
        /// comes to other events only where another machine wrote the log. So it says `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<(bool, bool)>,
    },
}

/// What a run begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// What it runs: the definition as it was at that moment.
    pub definition: Definition,
    /// Values of its variables.
    pub inputs: Map<String, Value>,
    /// Whose it is.
    pub owner: Owner,
    /// Which run it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Labels of the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whatever the caller wants back.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// What it may use.
    pub bounds: Bounds,
    /// The host's rules.
    pub terms: Terms,
}

/// The rules of the host that a run began under. They stay its rules.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Whether a verdict that is no pass keeps its result out. Otherwise it is only told.
    pub is_gating: bool,
    /// How sure a decision must be, 0.5 to 1 (RFC 0039). It holds for a critic's verdict as well.
    pub confidence_floor: f64,
    /// How sure a supervisor must be of what it is about to decide (CP-1 of RFC 0006).
    pub escalation_threshold: f64,
    /// How often one target may be sent back before the supervisor goes another way. The bound of turns
    /// holds beside it.
    pub max_revisions: u64,
}

/// How a child run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChildEnd {
    /// It completed.
    Completed {
        /// Its variables at its end.
        outputs: Map<String, Value>,
        /// Whether its own goal was met: see [`crate::Snapshot::is_goal_satisfied`].
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        is_goal_satisfied: bool,
    },
    /// It failed, or could not be started.
    Failed {
        /// Why.
        error: Failure,
        /// Whether it was ever started.
        was_started: bool,
    },
    /// It was stopped.
    Cancelled,
}

/// How a delegation ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationEnd {
    /// Its outcome, in the words of the run log.
    pub outcome: String,
    /// Why, in one word.
    pub code: Code,
    /// The last merged verdict, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Judgement>,
    /// The keys of what was checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Code>,
    /// Attempts that were counted.
    pub attempts: u64,
    /// What was let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Value>,
    /// SHA-256 of the canonical JSON of what was checked last: 64 hex digits. It is that of
    /// [`Self::delivered`], unless that was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    /// A hook edited what was let through after it was checked, which the delegation's log holds.
    #[serde(default, skip_serializing_if = "is_no")]
    pub is_edited: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
const fn is_no(value: &bool) -> bool {
    !*value
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
const fn is_yes(value: &bool) -> bool {
    *value
}
