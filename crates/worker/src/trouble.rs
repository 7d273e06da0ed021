//! What a failure means for a job: one table.

use probity_core::Code;
use probity_engine::EngineError;
use probity_record::ResumeError;
use probity_store::{AppendError, BlobError, QueueError, ReadError};

use crate::{FleetError, PlanError};

/// A run could not be driven on, or not even looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) fate: Fate,
}

/// What becomes of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is put back with a floor above the epoch that the log holds.
    Stale { held: u64 },
    /// It is tried again later, and buried when that has happened too often.
    Again,
    /// Trying again cannot help: it is buried at once.
    Never,
}

/// The table. A fenced run is tried again too: where another worker has it, the lease is lost and
/// putting it back changes nothing; where an answer from outside came between, nobody else would look
/// before the lease runs out.
pub(crate) fn fate(error: &EngineError) -> Fate {
    match error {
        EngineError::StaleLease { held, .. } => Fate::Stale { held: *held },
        EngineError::Fenced { .. }
        | EngineError::Missing { .. }
        | EngineError::Answer(_)
        | EngineError::NotAsked { .. }
        | EngineError::NotParked { .. }
        | EngineError::Append(
            AppendError::Conflict { .. }
            | AppendError::Sealed { .. }
            | AppendError::Unavailable(_)
            | AppendError::Unknown(_),
        )
        | EngineError::Log(ReadError::Unavailable(_))
        | EngineError::Blob(BlobError::Unavailable(_))
        // A newer build wrote it: a newer worker may take it.
        | EngineError::Resume(ResumeError::Version(_))
        | EngineError::Refused(_)
        | EngineError::Stuck => Fate::Again,
        EngineError::Open(_)
        | EngineError::Exists { .. }
        | EngineError::PlanDiffers { .. }
        | EngineError::PlanIncomplete { .. }
        | EngineError::Append(AppendError::Rejected(_))
        | EngineError::Blob(BlobError::TooLarge { .. } | BlobError::Corrupt { .. })
        | EngineError::BlobMissing { .. }
        | EngineError::Content { .. }
        | EngineError::Read(_)
        | EngineError::Replay(_)
        | EngineError::Resume(ResumeError::Line(_))
        | EngineError::Record(_)
        | EngineError::Json(_) => Fate::Never,
        // Errors may be added; whether they pass is found out by trying.
        _ => Fate::Again,
    }
}

impl Trouble {
    /// Something that may pass.
    pub(crate) fn passing(code: &str, message: impl Into<String>) -> Self {
        Self { code: Code::slug(code), message: message.into(), fate: Fate::Again }
    }

    /// Whether it lies with the storage or passes by itself, and not with what is stored.
    pub(crate) const fn may_pass(&self) -> bool {
        !matches!(self.fate, Fate::Never)
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        let (code, fate) = (Code::slug(error.code()), fate(&error));
        Self { code, message: error.to_string(), fate }
    }
}

impl From<QueueError> for Trouble {
    fn from(error: QueueError) -> Self {
        Self::passing(error.code(), error.to_string())
    }
}

impl From<FleetError> for Trouble {
    fn from(error: FleetError) -> Self {
        let (code, message) = (error.code(), error.to_string());
        match error {
            FleetError::Engine(error) => error.into(),
            FleetError::Queue(error) => error.into(),
            FleetError::Buried { .. } => Self::passing(code, message),
        }
    }
}

impl From<ReadError> for Trouble {
    fn from(error: ReadError) -> Self {
        Self::passing(error.code(), error.to_string())
    }
}

impl From<PlanError> for Trouble {
    fn from(error: PlanError) -> Self {
        let message = error.to_string();
        match error {
            PlanError::Never { code, .. } => Self { code, message, fate: Fate::Never },
            PlanError::Later { code, .. } => Self { code, message, fate: Fate::Again },
        }
    }
}
