//! What a verifier may ask for beside the output: each is a type, and naming it as an argument is
//! enough.

use std::any::type_name;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use probity_chat::{Message, Shared};
use probity_core::{Claim, Digest, RunId, SubmissionId};
use probity_verifier::CheckContext;
use tokio_util::sync::CancellationToken;

use crate::transcript::{Transcript, TranscriptError};
use crate::verification::VerificationState;

/// One call of a verifier, as extractors see it.
#[derive(Debug, Clone)]
pub struct Verification {
    pub(crate) check: CheckContext,
    pub(crate) run: RunId,
    pub(crate) candidate: Digest,
    pub(crate) state: VerificationState,
    pub(crate) shared: Shared,
    pub(crate) transcript: Transcript,
}

/// Something that the agent must have for an extractor to work. Looked at when the agent is built.
#[derive(Debug, Clone)]
pub struct Requirement {
    pub(crate) what: String,
    pub(crate) is_met: fn(&Equipment) -> bool,
}

/// What an agent has, as requirements look at it.
#[derive(Debug, Clone)]
pub struct Equipment {
    pub(crate) shared: Shared,
    pub(crate) has_workspace: bool,
}

/// An argument of a verifier.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a verifier",
    label = "not an extractor",
    note = "a verifier may ask for `AgentContext`, `ExecutionContext`, `Changes`, `Submission` and \
            `State<T>`"
)]
pub trait FromVerification: Sized {
    /// What the agent must have; `None` where that is nothing.
    #[must_use]
    fn requires() -> Option<Requirement> {
        None
    }

    /// Takes the argument out of a call.
    ///
    /// # Errors
    /// Why it cannot be had, in words: a fault of the verifier, not of the work.
    fn from_verification(verification: &Verification) -> Result<Self, String>;
}

/// The run as the agent sees it.
#[derive(Debug, Clone)]
pub struct AgentContext {
    /// The run.
    pub run: RunId,
    /// The task, as it was given.
    pub query: Arc<str>,
    /// 1-based attempt that this output would be.
    pub attempt: u32,
    /// What the model did in this turn besides handing in the output: its text, its tool calls and
    /// their results.
    pub claim: Arc<Claim>,
    /// The verdicts so far.
    pub verification: VerificationState,
    transcript: Transcript,
}

impl AgentContext {
    /// The whole conversation up to the output, whatever process it was held in. Read from the run's
    /// log when asked for.
    ///
    /// # Errors
    /// [`TranscriptError`] if the log cannot be read.
    pub async fn messages(&self) -> Result<Vec<Message>, TranscriptError> {
        self.transcript.read(&self.run).await
    }
}

/// The bounds under which the verifier runs.
#[derive(Debug, Clone)]
pub struct ExecutionContext {
    /// The run.
    pub run: RunId,
    /// An earlier call on this submission was interrupted: what it did may have had effects.
    pub is_replay: bool,
    /// Time left for this call.
    pub timeout: Duration,
    /// Cancelled when the verdict is not wanted any more.
    pub cancel: CancellationToken,
}

/// What differs in the workspace since before the run. The agent must have a workspace.
#[derive(Debug, Clone)]
pub struct Changes(pub Arc<probity_verifier::Changes>);

/// The output under judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Names the submission; the same again when an interrupted call is repeated, so a verifier can use
    /// it to recognise its own effects.
    pub id: SubmissionId,
    /// The candidate hash of the output.
    pub candidate_hash: Digest,
    /// 1-based attempt that it would be.
    pub attempt: u32,
    /// An earlier call on it was interrupted.
    pub is_replay: bool,
}

/// A value that the agent was built with, by type.
#[derive(Debug, Clone)]
pub struct State<T>(pub Arc<T>);

impl FromVerification for AgentContext {
    fn from_verification(verification: &Verification) -> Result<Self, String> {
        Ok(Self {
            run: verification.run.clone(),
            query: Arc::clone(&verification.check.task),
            attempt: verification.check.attempt,
            claim: Arc::clone(&verification.check.claim),
            verification: verification.state.clone(),
            transcript: verification.transcript.clone(),
        })
    }
}

impl FromVerification for ExecutionContext {
    fn from_verification(verification: &Verification) -> Result<Self, String> {
        Ok(Self {
            run: verification.run.clone(),
            is_replay: verification.check.is_replay,
            timeout: verification.check.timeout,
            cancel: verification.check.cancel.clone(),
        })
    }
}

impl FromVerification for Changes {
    fn requires() -> Option<Requirement> {
        let what = "`Changes` needs an agent with a `workspace`".to_owned();
        Some(Requirement { what, is_met: |equipment| equipment.has_workspace })
    }

    fn from_verification(verification: &Verification) -> Result<Self, String> {
        Ok(Self(verification.check.changes()))
    }
}

impl FromVerification for Submission {
    fn from_verification(verification: &Verification) -> Result<Self, String> {
        let CheckContext { submission, attempt, is_replay, .. } = &verification.check;
        let id = submission.clone().ok_or("there is no submission")?;
        let candidate_hash = verification.candidate;
        Ok(Self { id, candidate_hash, attempt: *attempt, is_replay: *is_replay })
    }
}

impl<T: Send + Sync + 'static> FromVerification for State<T> {
    fn requires() -> Option<Requirement> {
        let what =
            format!("`State<{0}>` needs an agent with a `state` of type `{0}`", type_name::<T>());
        Some(Requirement { what, is_met: |equipment| equipment.shared.get::<T>().is_some() })
    }

    fn from_verification(verification: &Verification) -> Result<Self, String> {
        let missing = || format!("the agent has no state of type `{}`", type_name::<T>());
        verification.shared.get().map(Self).ok_or_else(missing)
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Deref for Changes {
    type Target = probity_verifier::Changes;

    fn deref(&self) -> &probity_verifier::Changes {
        &self.0
    }
}
