//! Why a run could not be driven on. None of these is an outcome: the log stays as it is, and the
//! run can be taken up again.

use probity_core::{Digest, OpenError, Refusal, ReplayError, RunId};
use probity_record::{ChainError, ReadError, ResumeError};
use probity_store::{AppendError, BlobError, ReadError as StoreError};

/// The driver stopped. The run is as its log says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The run cannot be opened as planned.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A run of this name exists.
    #[error("run `{run}` exists; choose another id, or resume it")]
    Exists {
        /// The run.
        run: RunId,
    },
    /// There is no run of this name.
    #[error("there is no run `{run}` in this store")]
    Missing {
        /// The run.
        run: RunId,
    },
    /// The plan is not the one that the run was opened with.
    #[error("run `{run}` was opened with {what} that differ from the ones given now")]
    PlanDiffers {
        /// The run.
        run: RunId,
        /// Which part differs.
        what: &'static str,
    },
    /// The plan lacks something that the run may ask for: a delegate for a ready step of the ladder,
    /// or the right kind of decider for a check.
    #[error("the plan is not complete: {what}")]
    PlanIncomplete {
        /// What does not fit.
        what: String,
    },
    /// The lease is not above the last one that the log holds.
    #[error("run `{run}` was taken up under epoch {held}; a lease of epoch {got} comes too late")]
    StaleLease {
        /// The run.
        run: RunId,
        /// The epoch of the last lease.
        held: u64,
        /// The epoch of this one.
        got: u64,
    },
    /// Another driver has appended to this run. This one stopped.
    #[error("another process drives run `{run}`; this one stopped")]
    Fenced {
        /// The run.
        run: RunId,
    },
    /// The run does not wait for a human, or what they allow is out of bounds.
    #[error("the run does not take this answer: {0}")]
    Answer(#[source] Refusal),
    /// The run waits for somebody else.
    #[error("this run asks {who}, not {by}")]
    NotAsked {
        /// Whom the run asks.
        who: String,
        /// Who answered.
        by: String,
    },
    /// The run does not wait for what is answered.
    #[error(
        "run `{run}` does not wait for an answer to `{about}`{}",
        .waits_for.as_ref().map(|it| format!(", but for one to `{it}`")).unwrap_or_default()
    )]
    NotParked {
        /// The run.
        run: RunId,
        /// The wait that was answered.
        about: String,
        /// The wait that it is parked for, if it is for one.
        waits_for: Option<String>,
    },
    /// The log could not be written.
    #[error("the run log cannot be written: {0}")]
    Append(#[source] AppendError),
    /// The log could not be read.
    #[error("the run log cannot be read: {0}")]
    Log(#[from] StoreError),
    /// A blob could not be written or read.
    #[error("content cannot be stored or read: {0}")]
    Blob(#[from] BlobError),
    /// A blob that the log names is not there.
    #[error("blob {digest} is missing from the store")]
    BlobMissing {
        /// Its digest.
        digest: Digest,
    },
    /// A blob is there but is not what the log says it is.
    #[error("the {what} in blob {digest} cannot be read: {detail}")]
    Content {
        /// What it should hold.
        what: &'static str,
        /// Its digest.
        digest: Digest,
        /// What is wrong.
        detail: String,
    },
    /// The log is damaged.
    #[error("the run log is damaged: {0}")]
    Read(#[from] ReadError),
    /// The log was written by something else than this machine.
    #[error("the run log is not a legal run: {0}")]
    Replay(#[from] ReplayError),
    /// The log's last record cannot be continued, such as one of a newer build.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// An event has no record form.
    #[error("an event cannot be recorded: {0}")]
    Record(#[from] ChainError),
    /// Content has no JSON form.
    #[error("content cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The machine refused what the driver handed in: a defect of the driver.
    #[error("the delegation refused an input: {0}; this is a defect, please report it")]
    Refused(#[from] Refusal),
    /// Nothing is in flight and nothing is due: a defect.
    #[error("the run waits for nothing; this is a defect, please report it")]
    Stuck,
}

impl EngineError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Open(_) => "run_open",
            Self::Exists { .. } => "run_exists",
            Self::Missing { .. } => "run_missing",
            Self::PlanDiffers { .. } => "run_plan_differs",
            Self::PlanIncomplete { .. } => "plan_incomplete",
            Self::StaleLease { .. } => "lease_stale",
            Self::Fenced { .. } => "run_fenced",
            Self::Answer(_) => "answer_refused",
            Self::NotAsked { .. } => "answer_not_asked",
            Self::NotParked { .. } => "answer_not_parked",
            Self::Append(error) => error.code(),
            Self::Log(error) => error.code(),
            Self::Blob(error) => error.code(),
            Self::BlobMissing { .. } => "blob_missing",
            Self::Content { .. } => "blob_content",
            Self::Read(_) => "log_damaged",
            Self::Replay(_) => "log_illegal",
            Self::Resume(_) => "log_resume",
            Self::Record(_) => "log_record",
            Self::Json(_) => "content_json",
            Self::Refused(_) | Self::Stuck => "internal",
        }
    }
}
