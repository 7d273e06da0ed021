//! Why a conductor did not do what it was asked for.

use probity_core::RunId;
use probity_store::{AppendError, BlobError, ReadError};
use probity_workflow::{OpenError, Refusal};

use crate::InvalidFork;

/// What was asked for was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConductError {
    /// What the run would begin with does not fit its definition.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is a run of that name that began with something else.
    #[error("run `{run}` exists and began with something else; choose another id")]
    Exists {
        /// The run.
        run: RunId,
    },
    /// There is no workflow run of that name.
    #[error("there is no workflow run `{run}` in this store")]
    Missing {
        /// The run.
        run: RunId,
    },
    /// The run does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Only answers, and requests to cancel, pause and resume, may be told to a run.
    #[error("this is not for telling: a run hears of it by itself")]
    NotForTelling,
    /// It cannot be recorded.
    #[error("this cannot be recorded: {why}")]
    Unrecordable {
        /// Where and why.
        why: String,
    },
    /// Others append to the run faster than this conductor.
    #[error("others append to run `{run}` faster than this process; try again")]
    Overtaken {
        /// The run.
        run: RunId,
    },
    /// There is no definition of that name.
    #[error("there is no workflow `{workflow}` here")]
    WorkflowUnknown {
        /// Its name.
        workflow: String,
    },
    /// Runs began runs, too many one below the other.
    #[error("runs may begin runs {max} deep, and this would be one more")]
    TooDeep {
        /// How deep.
        max: u32,
    },
    /// Runs began runs, too many in all.
    #[error(
        "a run and those that it began may begin {max} runs in all, and this would be one more"
    )]
    TooMany {
        /// How many.
        max: usize,
    },
    /// As many runs are driven as may be.
    #[error("{max} runs are driven, as many as may be; try again once one has ended")]
    Busy {
        /// How many.
        max: usize,
    },
    /// The conductor is letting go of its runs.
    #[error("this process is stopping; ask another one, or once it runs again")]
    Stopping,
    /// The fork is none.
    #[error(transparent)]
    Fork(#[from] InvalidFork),
    /// The log of the run is damaged, or this machine would not have written it.
    #[error("the log of workflow run `{run}` cannot be used: {why}")]
    Damaged {
        /// The run.
        run: RunId,
        /// The machine word.
        code: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The log could not be written.
    #[error("the run log cannot be written: {0}")]
    Append(#[source] AppendError),
    /// The log could not be read.
    #[error("the run log cannot be read: {0}")]
    Store(#[from] ReadError),
    /// A long step could not be read.
    #[error("content cannot be read: {0}")]
    Blob(#[from] BlobError),
}

impl ConductError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Open(error) => error.code(),
            Self::Exists { .. } => "run_exists",
            Self::Missing { .. } => "run_missing",
            Self::Refused(refusal) => refusal.code(),
            Self::NotForTelling => "input_not_for_telling",
            Self::Unrecordable { .. } => "input_unrecordable",
            Self::Overtaken { .. } => "conductor_overtaken",
            Self::WorkflowUnknown { .. } => "workflow_unknown",
            Self::TooDeep { .. } => "workflow_too_deep",
            Self::TooMany { .. } => "workflow_too_many",
            Self::Busy { .. } => "conductor_busy",
            Self::Stopping => "conductor_stopping",
            Self::Fork(error) => error.code(),
            Self::Damaged { code, .. } => code,
            Self::Append(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Blob(error) => error.code(),
        }
    }

    /// Whether it is the storage that failed, or others were faster: trying again may help.
    #[must_use]
    pub const fn is_storage(&self) -> bool {
        matches!(self, Self::Append(_) | Self::Store(_) | Self::Blob(_) | Self::Overtaken { .. })
    }
}
