//! Who does the delegations of workflow runs.

use async_trait::async_trait;
use probity_core::{Code, RunId};
use probity_workflow::{DelegationEnd, Judgement, MockVerdict, VerifierSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Does delegations. Each is named by its run; asking for it twice is asking for it once.
#[async_trait]
pub trait Delegations: Send + Sync {
    /// Begins a delegation, unless it has begun.
    ///
    /// # Errors
    /// [`DelegationsError`] says whether asking again can help.
    async fn begin(&self, run: &RunId, job: &Job) -> Result<(), DelegationsError>;

    /// Waits for the end of a delegation. May be asked any number of times, before and after it.
    ///
    /// # Errors
    /// As [`Self::begin`].
    async fn ended(&self, run: &RunId, job: &Job) -> Result<Ended, DelegationsError>;

    /// Nobody wants its result any more. No error where it has ended, or was never begun.
    ///
    /// # Errors
    /// As [`Self::begin`].
    async fn stop(&self, run: &RunId, reason: &str) -> Result<(), DelegationsError>;
}

/// What is delegated. It serializes as the request that the delegation's run is opened with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Job {
    /// A node's delegation.
    Delegate {
        /// The request of the node, its variables filled in.
        request: Value,
    },
    /// A critic's look at what a child run left.
    Verify {
        /// The child run.
        target: RunId,
        /// What it left.
        candidate: Value,
        /// SHA-256 of the canonical JSON of that, 64 hex digits.
        digest: String,
        /// Who checks, and how.
        spec: VerifierSpec,
        /// What a scripted verifier is to say instead: only of definitions that have `mockVerdicts`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mock: Option<MockVerdict>,
    },
}

/// How a delegation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// A node's.
    Delegation(DelegationEnd),
    /// A critic's, with a verdict.
    Verdict {
        /// The digest of what was checked, as [`Job::Verify`] names it.
        candidate: String,
        /// The verdict.
        verdict: Judgement,
        /// The keys of what was checked.
        criteria: Vec<Code>,
        /// How sure it is, 0 to 1.
        confidence: Option<f64>,
    },
    /// A critic's, without one.
    Broke {
        /// Why.
        code: Code,
    },
}

/// A delegation was not begun, waited for or stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DelegationsError {
    /// It never will be: the run goes on without it.
    #[error("{message}")]
    Never {
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
    /// It may be later: it is asked again.
    #[error("{message}")]
    Later {
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        message: String,
    },
}

impl DelegationsError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &Code {
        match self {
            Self::Never { code, .. } | Self::Later { code, .. } => code,
        }
    }
}
