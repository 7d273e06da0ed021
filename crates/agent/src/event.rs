//! What a run tells while it is driven: the events of seed 003, with at least its fields.

use probity_core::{Code, Digest, Judgement, SubmissionId, Turn};
use serde::Serialize;
use serde_json::Value;

/// Something that verification came to. Told once it is durable, by the process that drove it there;
/// the whole history of a run is [`crate::Agent::history`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event_type")]
pub enum VerificationEvent {
    /// The verifier let the output through.
    #[serde(rename = "verification_passed")]
    Passed {
        /// The verdict.
        #[serde(flatten)]
        verdict: VerdictEvent,
    },
    /// The verifier sent the model back.
    #[serde(rename = "verification_rejected")]
    Rejected {
        /// The verdict.
        #[serde(flatten)]
        verdict: VerdictEvent,
        /// Whether it was charged.
        attempt_counted: bool,
        /// Why, in the verifier's words.
        message: String,
        /// Why, in one word.
        code: Code,
        /// What else the verifier said.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
        /// The 0-based number of the earliest verdict that rejected the same candidate.
        #[serde(skip_serializing_if = "Option::is_none")]
        repeat_of: Option<u32>,
        /// Rejections in a row that were not charged because nothing had changed, this one included.
        identical: u32,
        /// The verifier was not called: nothing had changed since it rejected.
        reused: bool,
    },
    /// A budget is used up; the run has ended, or waits for a human.
    #[serde(rename = "verification_exhausted")]
    Exhausted {
        /// The last verdict.
        #[serde(flatten)]
        verdict: VerdictEvent,
        /// Which budget: `attempts`, `no_progress`, `rejections`, or one of the run.
        reason: Code,
        /// The last rejection, in the verifier's words.
        message: String,
        /// The last rejection, in one word.
        code: Code,
    },
    /// The verifier could not tell, or broke. Nothing was charged and the model was not told.
    #[serde(rename = "verification_error")]
    Error {
        /// Rejections charged so far.
        attempts_used: u32,
        /// Rejections allowed in all.
        max_attempts: u32,
        /// The round.
        turn: Turn,
        /// Why, in one word.
        code: Code,
        /// Why, in words; empty where they are only in the log.
        message: String,
    },
}

/// What all verdicts tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictEvent {
    /// Rejections charged so far, this one included.
    pub attempts_used: u32,
    /// Rejections allowed in all.
    pub max_attempts: u32,
    /// The round.
    pub turn: Turn,
    /// Names the submission.
    pub submission_id: SubmissionId,
    /// The candidate hash of the output.
    pub candidate_hash: Digest,
    /// The merged verdict of all checks.
    pub judgement: Judgement,
}

impl VerificationEvent {
    /// The wire word in `event_type`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Passed { .. } => "verification_passed",
            Self::Rejected { .. } => "verification_rejected",
            Self::Exhausted { .. } => "verification_exhausted",
            Self::Error { .. } => "verification_error",
        }
    }
}
