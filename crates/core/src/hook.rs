//! Operator policy at a named point of a run.

use serde::{Deserialize, Serialize};

use crate::strict::no_fields;
use crate::{Code, Digest};

/// One declared hook. Hooks of [`HookPoint`] are called by themselves; verification hooks
/// (`delegation.post_verify`, `tool.pre`, `tool.post`) are checks, see [`crate::CheckDecl`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookDecl {
    /// Name in records and reports. Unique among the delegation's hooks and checks.
    pub id: Code,
    /// When it is called. Hooks of one point are called in the order of their declaration.
    pub point: HookPoint,
    /// Wall time of one call. 1 ms to 1 h.
    pub timeout_ms: u64,
}

/// When a hook is called, and what it may decide there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookPoint {
    /// Once, before the delegate is given the task. May rewrite the task.
    #[serde(rename = "delegation.pre")]
    DelegationPre,
    /// Before every dispatch. May rewrite the prompt of that attempt.
    #[serde(rename = "attempt.start")]
    AttemptStart,
    /// After every verdict. May not rewrite anything.
    #[serde(rename = "attempt.end")]
    AttemptEnd,
    /// Once, after a verdict that would hand the claim on. May rewrite the claim; the rewrite is
    /// recorded, and flagged because nothing verified it.
    #[serde(rename = "delegation.post")]
    DelegationPost,
}

/// What a hook decided, without content: this is what events hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum HookDecision {
    /// Go on.
    #[serde(deserialize_with = "no_fields")]
    Allow,
    /// Its condition did not match: it was not called.
    #[serde(deserialize_with = "no_fields")]
    NotApplicable,
    /// Do not go on.
    Block {
        /// Blob of the reason.
        reason: Digest,
    },
    /// Go on with this in place of what the hook saw.
    Modify {
        /// Blob of what stands there now.
        to: Digest,
        /// Blob of the delta: who changed what from what to what.
        delta: Digest,
    },
    /// It could not reach what it wanted to look at, or was given no answer in time.
    Inconclusive {
        /// Why, in one word.
        code: Code,
        /// Blob of the message.
        detail: Digest,
    },
    /// The hook itself broke.
    Fault {
        /// Why, in one word.
        code: Code,
        /// Blob of message and location.
        detail: Digest,
    },
}

/// What a verification hook put in the place of the claim it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Hash of the new claim's canonical form.
    pub candidate: Digest,
    /// Blob of the new claim.
    pub claim: Digest,
    /// Blob of the delta: who changed what from what to what.
    pub delta: Digest,
}

impl HookPoint {
    /// All points, in the order a run reaches them.
    pub const ALL: [Self; 4] =
        [Self::DelegationPre, Self::AttemptStart, Self::AttemptEnd, Self::DelegationPost];

    /// The event's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DelegationPre => "delegation.pre",
            Self::AttemptStart => "attempt.start",
            Self::AttemptEnd => "attempt.end",
            Self::DelegationPost => "delegation.post",
        }
    }

    /// Whether a hook may put something in the place of what it saw.
    #[must_use]
    pub const fn may_modify(self) -> bool {
        !matches!(self, Self::AttemptEnd)
    }
}
