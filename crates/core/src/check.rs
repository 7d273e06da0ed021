//! What the machine knows of a declared check: its name, its place and its bounds, not its code.

use serde::{Deserialize, Serialize};

use crate::Code;

/// One declared verifier of a delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckDecl {
    /// Name in records and reports. Unique inside the delegation.
    pub id: Code,
    /// Whether it reads the world or the claim.
    pub subject: Subject,
    /// Wall time for the check, all tries and backoff between them included. 1 ms to 1 h.
    pub timeout_ms: u64,
}

/// What a check looks at; decides whether it takes part in the red run, and when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Files, network, repositories: assessed before the delegate starts.
    World,
    /// The claim itself: there is none before the delegate starts, so it is exempt.
    Claim,
    /// The claim, as operator policy that every delegation meets: runs after the other checks, in
    /// declared order, and may rewrite the claim for those behind it. Exempt.
    Hook,
    /// A named human, asked once everything else has passed; the run waits for the answer. Exempt.
    Human,
}

impl Subject {
    /// Where checks of this kind stand in the order of evaluation.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::World | Self::Claim => 0,
            Self::Hook => 1,
            Self::Human => 2,
        }
    }
}

/// Whether a check could tell done from not done before the delegate started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discrimination {
    /// It did not pass before: a later pass means something.
    Discriminating,
    /// It passed already: a later pass proves nothing.
    NonDiscriminating,
    /// It could not be run before (a fault, or ground truth out of reach).
    NotAssessed,
    /// It checks the claim, or the policy switched the red run off.
    Exempt,
}
